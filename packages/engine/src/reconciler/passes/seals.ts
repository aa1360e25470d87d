import type { FaultInjector, Logger } from "@ghouls/core";
import { RECORDS_OF_SEAL, type DueSeal, type Ledger } from "@ghouls/ledger";
import { LEFT, REPAIRED, type Outcome, type Pass, type Turn } from "../pass.ts";

export interface SealsOptions {
  readonly ledger: Pick<Ledger, "seals"> & {
    readonly evidence: Pick<Ledger["evidence"], "judge" | "slices" | "writeMissing" | "settleDoubt">;
  };
  readonly faults: FaultInjector;
  readonly log: Logger;
}

/** What is left of a turn for the seal itself, in milliseconds. */
const SEAL_RESERVE_MS = 3_000;

const RULES = {
  seal: "records not sealed: seal them",
  doubt: "evidence in doubt: look again",
  check: "seals to check: compare the next one with its records",
} as const;

/**
 * Seals the terminal records of each tenant (design.md §3, Evidence), looks again at those in doubt, and checks what is
 * sealed, one seal at a time. What disagrees is a fault of its run; it holds up no other.
 */
export function sealsPass(options: SealsOptions): Pass<DueSeal> {
  return {
    name: "seals",
    asks: false,
    find: (look) => options.ledger.seals.due(look),
    describe: ({ kind, tenantId, runId }) => ({
      rule: RULES[kind],
      before: runId === null ? `tenant ${tenantId}` : `run ${runId}`,
    }),
    repair: async (due, turn) => {
      const outcomes: Outcome[] = [];
      for (const one of due) outcomes.push(await lookAfter(one, turn, options));
      return outcomes;
    },
  };
}

async function lookAfter(due: DueSeal, turn: Turn, options: SealsOptions): Promise<Outcome> {
  if (due.kind === "check") return check(options);
  if (due.runId !== null) return doubt({ tenantId: due.tenantId, runId: due.runId }, options);
  return seal(due.tenantId, turn, options);
}

/** One seal after another, as long as the turn lasts and there are full ones. */
async function seal(tenantId: string, turn: Turn, options: SealsOptions): Promise<Outcome> {
  const { ledger, faults, log } = options;
  let outcome: Outcome = LEFT;
  for (;;) {
    const runIds = await ledger.seals.runsToSeal(tenantId);
    const { good, doubted } = await judge(tenantId, runIds, turn, options);
    if (doubted > 0) outcome = REPAIRED;
    if (good.length === 0) return outcome;
    await faults("seals.before-seal", `${good.length} records`);
    const sealed = await ledger.seals.make(tenantId, good);
    await faults("seals.after-seal", `${good.length} records`);
    // Somebody was faster.
    if (sealed === null) return outcome;
    // Also outside of the database: whoever rewrites a chain there does not reach it here.
    const { number, records, digest } = sealed;
    log.info("evidence sealed", { tenantId, number, records, digest });
    outcome = REPAIRED;
    if (runIds.length < RECORDS_OF_SEAL || turn.withinMs() < SEAL_RESERVE_MS) return outcome;
  }
}

/** Which of the records may be sealed. One that is missing is written; one that disagrees is put aside. */
async function judge(
  tenantId: string,
  runIds: readonly string[],
  turn: Turn,
  options: SealsOptions,
): Promise<{ readonly good: readonly string[]; readonly doubted: number }> {
  const { ledger } = options;
  const good: string[] = [];
  let doubted = 0;
  const slices = await ledger.evidence.slices(runIds.map((runId) => ({ tenantId, runId })));
  for (const [nth, keys] of slices.entries()) {
    // At least one slice comes of every turn.
    if (nth > 0 && turn.withinMs() < SEAL_RESERVE_MS) break;
    for (const { runId, fault, missing, ended } of await ledger.evidence.judge(keys)) {
      if (fault !== null && missing && ended) await ledger.evidence.writeMissing({ tenantId, runId });
      else if (fault !== null) {
        doubted += 1;
        await doubt({ tenantId, runId }, options);
        continue;
      }
      good.push(runId);
    }
  }
  return { good, doubted };
}

async function doubt(
  key: { readonly tenantId: string; readonly runId: string },
  { ledger, log }: SealsOptions,
): Promise<Outcome> {
  await ledger.evidence.writeMissing(key);
  const { kind, isNew, detail } = await ledger.evidence.settleDoubt(key, "evidence");
  if (kind === "agrees") return REPAIRED;
  if (isNew)
    log.error("the evidence of a run is wrong: it is quarantined", { runId: key.runId, reason: detail });
  return isNew ? REPAIRED : LEFT;
}

async function check({ ledger, log }: SealsOptions): Promise<Outcome> {
  const { faults } = await ledger.seals.checkNext();
  for (const { runId, subject, detail } of faults)
    log.error("sealed evidence is wrong", {
      ...(runId === null ? { owner: subject } : { runId }),
      reason: detail,
    });
  return faults.length > 0 ? REPAIRED : LEFT;
}
