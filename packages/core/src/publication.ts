/** When an unclaimed delivery is published again (design.md §3, Admit): the same pair, with growing delays. */

/** Whoever committed the delivery publishes at once; the relay looks only after this time. */
export const PUBLISHER_GRACE_SECONDS = 15;

const AFTER_SUCCESS_SECONDS = [60, 120, 300, 600, 1_800, 3_600] as const;
const AFTER_FAILURE_SECONDS = [5, 10, 30, 60, 120, 300] as const;

/** From this many publications without a claim the run gets attention `unclaimed`. */
export const PUBLICATIONS_BEFORE_ATTENTION = 5;

/** Seconds until the next publication, after `count` publications of this delivery that SQS confirmed. */
export function delayAfterPublication(count: number): number {
  return AFTER_SUCCESS_SECONDS[Math.min(Math.max(count, 1), AFTER_SUCCESS_SECONDS.length) - 1] as number;
}

/** Seconds until the next try, after `count` failed tries in a row. */
export function delayAfterFailure(count: number): number {
  return AFTER_FAILURE_SECONDS[Math.min(Math.max(count, 1), AFTER_FAILURE_SECONDS.length) - 1] as number;
}

export const PUBLICATION_DELAYS = {
  afterSuccess: AFTER_SUCCESS_SECONDS as readonly number[],
  afterFailure: AFTER_FAILURE_SECONDS as readonly number[],
} as const;
