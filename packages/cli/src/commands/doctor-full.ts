import type { LedgerTools } from "../io.ts";
import { printable } from "../printable.ts";

type FullLedger = Pick<ReturnType<LedgerTools["openLedger"]>, "evidence">;

/** What `ghouls doctor --full` found. */
interface FullLook {
  readonly ok: boolean;
  /** For `--json`, beside the checks. */
  readonly evidence: Awaited<ReturnType<FullLedger["evidence"]["verify"]>>;
  /** For people. */
  readonly text: string;
}

/**
 * Verifies all evidence of all tenants (design.md §3, Evidence): every record against its digest and its run, every seal
 * against its digest, its chain and its records. What is wrong is kept as a fault, and its run quarantined.
 */
export async function verifyAll(ledger: FullLedger): Promise<FullLook> {
  const evidence = await ledger.evidence.verify("doctor");
  const { runs, records, seals, pending, faults } = evidence;
  const lines = faults.map(({ tenantId, check, detail, runId, subject }) => {
    const what = runId === null ? subject : `run ${runId}`;
    return `  ${printable(`${tenantId ?? "the deployment"}, ${what}: ${detail} (${check})`)}\n`;
  });
  const verdict =
    faults.length === 0 ? "they agree" : `${faults.length} ${faults.length === 1 ? "FAULT" : "FAULTS"}`;
  const open = pending === 0 ? "" : `, ${pending} of them not sealed yet`;
  const text = `\nEvidence: ${runs} ended runs with ${records} records${open}, ${seals} seals: ${verdict}\n`;
  const next = faults.length === 0 ? "" : "What to do about each: `ghouls doctor --strict` has its id.\n";
  return { ok: faults.length === 0, evidence, text: text + lines.join("") + next };
}
