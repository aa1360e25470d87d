import { judgementSummary, refusalOf } from "@ghouls/core";
import type { Print } from "./log.ts";
import type { HostLedger } from "./parts.ts";
import { dataDirOption } from "./shell.ts";

export interface JudgementOptions {
  readonly dataDir: string;
  readonly schema: string;
  readonly print: Print;
}

/**
 * Judges the ledger before anything works on it (design.md §3, Judgement at start). Runs of other code are no reason against
 * a start: what becomes of them is asked when it is up.
 * @throws GhoulsError integrity_fault where a fault stands that nobody has acknowledged; the table is printed before
 */
export async function refuseUnsound(
  { integrity }: Pick<HostLedger, "integrity">,
  { dataDir, schema, print }: JudgementOptions,
): Promise<void> {
  const judged = await integrity.judge({ by: "host" });
  const elsewhere = `${dataDirOption(dataDir)}${schema === "ghouls" ? "" : ` --schema ${schema}`}`;
  const refusal = refusalOf(judged, {
    stops: "nothing is started",
    acknowledge: `npx ghouls doctor${elsewhere} --acknowledge`,
    next: "start again",
  });
  if (refusal === undefined) return;
  for (const line of judgementSummary(judged)) print(line);
  throw refusal;
}
