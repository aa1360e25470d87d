import type { Codec, FaultInjector, Logger, RunFailure } from "@ghouls/core";
import type { Ledger, Position } from "@ghouls/ledger";
import { keptFailure } from "../kept-failure.ts";
import type { Page } from "../pages.ts";

export interface DeadlinesOptions {
  readonly ledger: Pick<Ledger, "runs">;
  readonly codec: Codec;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Runs of one page. */
  readonly pageSize: number;
  readonly settings: { readonly actsMarginSeconds: number };
}

export interface DeadlineCounts {
  readonly overdue: number;
  readonly ended: number;
  readonly failed: number;
}

/**
 * One page of deadlines: a run whose deadline has passed is FAILING `deadline`, wherever it stands; its worker is fenced,
 * and what it waited for is closed with it.
 */
export async function endOverdue(options: DeadlinesOptions, after?: Position): Promise<Page<DeadlineCounts>> {
  const { ledger, faults, log, settings } = options;
  const { found: overdue, next } = await ledger.runs.overdue(options.pageSize, after);
  if (overdue.length > 0) await faults("deadlines.after-select", `${overdue.length} overdue`);
  let [ended, failed] = [0, 0];
  for (const run of overdue) {
    const failure: RunFailure = {
      code: "deadline",
      name: "Deadline",
      message: `the run's deadline ${run.deadlineAt.toISOString()} has passed while it was ${run.status}`,
    };
    try {
      const kept = await keptFailure(run, failure, options);
      if (kept === undefined) {
        failed += 1;
        continue;
      }
      const status = await ledger.runs.failOverdue({ ...run, ...kept }, settings.actsMarginSeconds);
      await faults("deadlines.after-failure", run.runId);
      if (status === null) continue;
      ended += 1;
      log.warn("a run's deadline has passed", { runId: run.runId, status });
    } catch (error) {
      failed += 1;
      log.warn("an overdue run could not be ended", {
        runId: run.runId,
        error: String(error).slice(0, 200),
      });
    }
  }
  return { counts: { overdue: overdue.length, ended, failed }, next };
}
