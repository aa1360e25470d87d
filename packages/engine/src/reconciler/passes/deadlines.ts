import type { Codec, FaultInjector, Logger, RunFailure } from "@ghouls/core";
import type { Ledger, OverdueRun } from "@ghouls/ledger";
import { keptFailure } from "../kept-failure.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface DeadlinesOptions {
  readonly ledger: Pick<Ledger, "runs">;
  readonly codec: Codec;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly settings: { readonly actsMarginSeconds: number };
}

type Due = OverdueRun & Owner;

/**
 * Deadlines: a run whose deadline has passed is FAILING `deadline`, wherever it stands; its worker is fenced, and what it waited
 * for is closed with it.
 */
export function deadlinesPass(options: DeadlinesOptions): Pass<Due> {
  const { ledger } = options;
  const pass: Pass<Due> = {
    name: "deadlines",
    asks: false,
    find: async (look) => ownedBy(await ledger.runs.overdue(look), ({ runId }) => runId),
    describe: ({ status, deadlineAt }) => ({
      rule: "its deadline has passed: end it",
      before: `${status}, deadline ${deadlineAt.toISOString()}`,
    }),
    repair: async ([due]) => (due === undefined ? [] : [await end(due)]),
  };

  const end = async (run: Due): Promise<Outcome> => {
    const { faults, log, settings } = options;
    const failure: RunFailure = {
      code: "deadline",
      name: "Deadline",
      message: `the run's deadline ${run.deadlineAt.toISOString()} has passed while it was ${run.status}`,
    };
    const kept = await keptFailure(run, failure, options);
    if (kept === undefined) return { kind: "failed", reason: "the codec could not write why it ends" };
    const note = noteOf(pass, run);
    const status = await ledger.runs.failOverdue({ ...run, ...kept }, settings.actsMarginSeconds, note);
    await faults("deadlines.after-failure", run.runId);
    if (status === null) return LEFT;
    log.warn("a run's deadline has passed", { runId: run.runId, status });
    return REPAIRED;
  };
  return pass;
}
