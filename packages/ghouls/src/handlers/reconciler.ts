import { reconcile, type ReconcileReport } from "@ghouls/engine";
import type { Config } from "../config.ts";
import { once, openRuntime, type RuntimeOverrides } from "../runtime.ts";
import type { LambdaContext } from "./lambda.ts";

/** Deliveries of one relay page, and what a page may take, in milliseconds. */
const PAGE_SIZE = 100;
const PAGE_BUDGET_MS = 5_000;

/** The scheduled reconciler: one invocation runs every pass that exists and ends inside its time. */
export function createReconciler(
  config: Config,
  overrides: RuntimeOverrides = {},
): (event: unknown, context: LambdaContext) => Promise<ReconcileReport> {
  const runtime = once(() => openRuntime(config, overrides));
  return async (_event, context) => {
    const { ledger, queue, publisher, codec, faults, log, settings } = await runtime();
    return reconcile({
      ledger,
      queue,
      publisher,
      codec,
      faults,
      log,
      settings,
      pageSize: PAGE_SIZE,
      pageBudgetMs: PAGE_BUDGET_MS,
      remainingMs: () => context.getRemainingTimeInMillis(),
    });
  };
}
