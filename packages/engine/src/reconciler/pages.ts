import type { Logger } from "@ghouls/core";
import type { Position } from "@ghouls/ledger";

/** One page of a pass: what it did, and where the next one begins, if there may be one. */
export interface Page<Counts, Next = Position> {
  readonly counts: Counts;
  readonly next: Next | undefined;
}

/** What a pass did, over all of its pages; an error interrupted it. */
export type PassReport<Counts> = Counts & { readonly pages: number; readonly error?: string };

interface PassOptions {
  readonly remainingMs: () => number;
  readonly pageBudgetMs: number;
  readonly log: Logger;
}

/**
 * Pages of one pass, each behind the one before: what could not be repaired takes no turn of what comes after it (F74). A
 * pass whose pages all have failures leaves half of its time to the passes after it.
 */
export async function pass<
  Counts extends Readonly<Record<keyof Counts, number>> & { readonly failed: number },
  Next,
>(
  name: string,
  options: PassOptions,
  zero: Counts,
  page: (after: Next | undefined) => Promise<Page<Counts, Next>>,
): Promise<PassReport<Counts>> {
  const halfMs = options.remainingMs() / 2;
  let total = { ...zero };
  let pages = 0;
  let after: Next | undefined;
  try {
    while (options.remainingMs() > Math.max(options.pageBudgetMs, total.failed > 0 ? halfMs : 0)) {
      const { counts, next } = await page(after);
      pages += 1;
      total = sum(total, counts);
      if (next === undefined) break;
      after = next;
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
