import type { FaultInjector, Logger, Metrics } from "@ghouls/core";
import type { DueArm, Ledger } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface TimersOptions {
  readonly ledger: Pick<Ledger, "arms" | "runs">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly settings: { readonly publisherGraceSeconds: number };
}

type Due = DueArm & Owner;

/**
 * Timers: sleeps, timeouts of signals, expiries of consents and next tries whose time is over bring their runs back. A message
 * may have been faster; each run is one transaction.
 */
export function timersPass(options: TimersOptions): Pass<Due> {
  const { ledger } = options;
  const pass: Pass<Due> = {
    name: "timers",
    asks: false,
    find: async (look) => ownedBy(await ledger.arms.due(look), ({ runId }) => runId),
    describe: ({ runStatus }) => ({ rule: "its time is over: resume", before: runStatus }),
    repair: async ([due]) => (due === undefined ? [] : [await resume(due)]),
  };

  const resume = async (due: Due): Promise<Outcome> => {
    const { tenantId, runId, armId, lateSeconds } = due;
    const { publisher, faults, metrics, log, settings } = options;
    const key = { tenantId, runId };
    const resumption = await ledger.runs.resumeDue(key, settings.publisherGraceSeconds, noteOf(pass, due));
    await faults("timers.after-resume", runId);
    if (resumption === null) return LEFT;
    metrics.record("TimerLateness", lateSeconds);
    log.info("a run was brought back by its timer", { runId, armId, lateSeconds: Math.round(lateSeconds) });
    await publisher.publish(resumption);
    return REPAIRED;
  };
  return pass;
}
