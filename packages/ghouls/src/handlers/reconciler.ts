import { durationMs } from "@ghouls/core";
import { reconcileWhenDue, type ReconcileReport, type Skipped } from "@ghouls/engine";
import type { Config } from "../config.ts";
import { once, openRuntime, type RuntimeOverrides } from "../runtime.ts";
import type { LambdaContext } from "./lambda.ts";

/** Deliveries of one relay page, and what a page may take, in milliseconds. */
const PAGE_SIZE = 100;
const PAGE_BUDGET_MS = 5_000;

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
    const { ledger, queue, hint, clock, publisher, codec, faults, log, settings, delegation, ids, worker } =
      await runtime();
    const { decisionSources, retention } = config;
    return reconcileWhenDue({
      ledger,
      hint,
      clock,
      queue,
      publisher,
      codec,
      faults,
      log,
      settings,
      decisionSources,
      delegation,
      ids,
      worker,
      retention: {
        bodiesMs: retention.bodies === undefined ? null : durationMs(retention.bodies),
        stepsMs: durationMs(retention.steps),
        repairsMs: durationMs(retention.repairs),
      },
      hintPatienceMs: overrides.hintPatienceMs,
      pageSize: PAGE_SIZE,
      pageBudgetMs: PAGE_BUDGET_MS,
      remainingMs: () => context.getRemainingTimeInMillis(),
    });
  };
}
