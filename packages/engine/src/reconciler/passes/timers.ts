import type { FaultInjector, Logger } from "@ghouls/core";
import type { Ledger, Position } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import type { Page } from "../pages.ts";

export interface TimersOptions {
  readonly ledger: Pick<Ledger, "arms" | "runs">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Arms of one page. */
  readonly pageSize: number;
  readonly settings: { readonly publisherGraceSeconds: number };
}

export interface TimerCounts {
  readonly due: number;
  readonly resumed: number;
  readonly failed: number;
}

/**
 * One page of timers: sleeps, timeouts of signals, expiries of consents and next tries whose time is over bring their runs
 * back. A message may have been faster; each run is one transaction, and one that fails takes no other's turn.
 */
export async function wakeDue(options: TimersOptions, after?: Position): Promise<Page<TimerCounts>> {
  const { ledger, publisher, faults, log, settings } = options;
  const { found: due, next } = await ledger.arms.due(options.pageSize, after);
  if (due.length > 0) await faults("timers.after-select", `${due.length} due`);
  let [resumed, failed] = [0, 0];
  for (const { tenantId, runId, armId, lateSeconds } of due) {
    try {
      const resumption = await ledger.runs.resumeDue({ tenantId, runId }, settings.publisherGraceSeconds);
      await faults("timers.after-resume", runId);
      if (resumption === null) continue;
      resumed += 1;
      log.info("a run was brought back by its timer", { runId, armId, lateSeconds: Math.round(lateSeconds) });
      await publisher.publish(resumption);
    } catch (error) {
      failed += 1;
      log.warn("a run could not be brought back", { runId, error: String(error).slice(0, 200) });
    }
  }
  return { counts: { due: due.length, resumed, failed }, next };
}
