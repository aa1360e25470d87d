import { reconcileWhenDue, type ReconcileReport, type Skipped } from "@ghouls/engine";
import type { Config } from "../config.ts";
import { once, openRuntime, type RuntimeOverrides } from "../runtime.ts";
import type { LambdaContext } from "./lambda.ts";

/** Owners of one page, and what a page may take beside the deadline of its owners, in milliseconds. */
const PAGE_SIZE = 100;
const PAGE_BUDGET_MS = 2_000;

/**
 * The scheduled reconciler: one invocation runs every pass that exists and ends inside its time. Where the hint says that
 * nothing is due it connects to no database and says until when.
 */
export function createReconciler(
  config: Config,
  overrides: RuntimeOverrides = {},
): (event: unknown, context: LambdaContext) => Promise<ReconcileReport | Skipped> {
  const runtime = once(() => openRuntime(config, overrides));
  return async (_event, context) => {
    const opened = await runtime();
    const { ledger, queue, deadLetters, hint, clock, publisher, codec, faults, metrics, log } = opened;
    const { settings, delegation, ids, worker, retention, closeChannel } = opened;
    const { decisionSources } = config;
    const report = await reconcileWhenDue({
      ledger,
      hint,
      clock,
      queue,
      deadLetters,
      metrics,
      publisher,
      codec,
      faults,
      log,
      settings,
      decisionSources,
      delegation,
      ids,
      worker,
      retention,
      closeChannel,
      hintPatienceMs: overrides.hintPatienceMs,
      pageSize: PAGE_SIZE,
      pageBudgetMs: PAGE_BUDGET_MS,
      remainingMs: () => context.getRemainingTimeInMillis(),
    });
    metrics.flush();
    return report;
  };
}
