import type { Logger } from "@ghouls/core";
import { contain, type ContainmentCounts, type ContainmentOptions } from "./passes/containment.ts";
import { expireHolds, type HoldCounts, type HoldsOptions } from "./passes/holds.ts";
import { reanimate, type ReanimationCounts, type ReanimationOptions } from "./passes/reanimation.ts";
import { relay, type RelayCounts, type RelayOptions } from "./passes/relay.ts";

export interface ReconcileOptions
  extends
    RelayOptions,
    Omit<ReanimationOptions, "ledger">,
    Omit<HoldsOptions, "ledger">,
    Omit<ContainmentOptions, "ledger" | "settings"> {
  readonly ledger: RelayOptions["ledger"] & ReanimationOptions["ledger"] & ContainmentOptions["ledger"];
  readonly settings: ReanimationOptions["settings"] & ContainmentOptions["settings"];
  /** What remains of the invocation, in milliseconds. */
  readonly remainingMs: () => number;
  /** What a page may take at most, in milliseconds: no page starts with less left. */
  readonly pageBudgetMs: number;
}

/** What a pass did, over all of its pages; an error interrupted it. */
type PassReport<Counts> = Counts & { readonly pages: number; readonly error?: string };

export interface ReconcileReport {
  readonly reanimation: PassReport<ReanimationCounts>;
  readonly holds: PassReport<HoldCounts>;
  readonly containment: PassReport<ContainmentCounts>;
  readonly relay: PassReport<RelayCounts>;
}

/**
 * Runs every pass that exists, page by page, and ends inside its invocation. Several at once are harmless: every repair is
 * guarded, and publications are repeatable. What one pass creates the next ones find: lost workers first, the relay last.
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  return {
    reanimation: await pass(
      "reanimation",
      options,
      { lapsed: 0, resumed: 0, failing: 0 },
      () => reanimate(options),
      moved,
    ),
    holds: await pass(
      "holds",
      options,
      { expired: 0, ended: 0, failed: 0 },
      () => expireHolds(options),
      (page) => page.ended > 0 && page.expired >= options.pageSize,
    ),
    containment: await pass(
      "containment",
      options,
      { due: 0, ended: 0, failed: 0 },
      () => contain(options),
      (page) => page.ended > 0 && page.due >= options.pageSize,
    ),
    relay: await pass(
      "relay",
      options,
      { due: 0, published: 0, failed: 0 },
      () => relay(options),
      (page) => page.published > 0 && page.due >= options.pageSize,
    ),
  };

  function moved(page: ReanimationCounts): boolean {
    return page.lapsed >= options.pageSize && page.resumed + page.failing > 0;
  }
}

/** Pages of one pass until one is not full, or moved nothing: it would come again at once. */
async function pass<Counts extends Readonly<Record<keyof Counts, number>>>(
  name: string,
  options: { readonly remainingMs: () => number; readonly pageBudgetMs: number; readonly log: Logger },
  zero: Counts,
  page: () => Promise<Counts>,
  hasMore: (page: Counts) => boolean,
): Promise<PassReport<Counts>> {
  let total = { ...zero };
  let pages = 0;
  try {
    while (options.remainingMs() > options.pageBudgetMs) {
      const counts = await page();
      pages += 1;
      total = sum(total, counts);
      if (!hasMore(counts)) break;
    }
    return { ...total, pages };
  } catch (error) {
    options.log.error("a pass was interrupted", { pass: name, error: String(error).slice(0, 300) });
    return { ...total, pages, error: error instanceof Error ? error.name : "error" };
  }
}

function sum<Counts extends Readonly<Record<keyof Counts, number>>>(a: Counts, b: Counts): Counts {
  const keys = Object.keys(a) as (keyof Counts)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as Counts;
}
