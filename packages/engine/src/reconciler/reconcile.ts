import { relay, type RelayCounts, type RelayOptions } from "./passes/relay.ts";

export interface ReconcileOptions extends RelayOptions {
  /** What remains of the invocation, in milliseconds. */
  readonly remainingMs: () => number;
  /** What a page may take at most, in milliseconds: no page starts with less left. */
  readonly pageBudgetMs: number;
}

export interface ReconcileReport {
  readonly relay: RelayCounts & { readonly pages: number; readonly error?: string };
}

/**
 * Runs every pass that exists, page by page, and ends inside its invocation. Several at once are harmless: publications
 * are repeatable and marks skip what another one holds.
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  const total = { due: 0, published: 0, failed: 0, pages: 0 };
  try {
    while (options.remainingMs() > options.pageBudgetMs) {
      const page = await relay(options);
      total.pages += 1;
      total.due += page.due;
      total.published += page.published;
      total.failed += page.failed;
      // A page that moved nothing would come again at once; the queue is down, and the next invocation tries.
      if (page.due < options.pageSize || page.published === 0) break;
    }
    return { relay: total };
  } catch (error) {
    options.log.error("the delivery relay was interrupted", { error: String(error).slice(0, 300) });
    return { relay: { ...total, error: error instanceof Error ? error.name : "error" } };
  }
}
