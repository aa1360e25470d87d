import type { RunStatus, WorkflowPin, wire } from "@ghouls/core";
import type { PinnedRuns, RunCounts } from "@ghouls/ledger";

/** Buckets that any stretch of time is cut into. */
const BUCKETS = 24;

/** How long a count goes back and how long its buckets are, in seconds. */
export interface Stretch {
  readonly seconds: number;
  readonly bucketSeconds: number;
}

export function stretchOf(hours: number): Stretch {
  const seconds = hours * 3_600;
  return { seconds, bucketSeconds: seconds / BUCKETS };
}

/** Every bucket from the first to now, also those that have nothing. */
export function countsOf({ since, complete, counts }: RunCounts, { bucketSeconds }: Stretch): wire.RunCounts {
  const startOf = (index: number): number => since.getTime() + index * bucketSeconds * 1_000;
  const buckets = Array.from({ length: BUCKETS }, (_, index) => {
    const [from, to] = [startOf(index), startOf(index + 1)];
    // What was admitted while it was counted is of the last one.
    const its = counts.filter(
      ({ at }) => at.getTime() >= from && (at.getTime() < to || index === BUCKETS - 1),
    );
    const statuses: Partial<Record<RunStatus, number>> = {};
    for (const { status, runs } of its) statuses[status] = (statuses[status] ?? 0) + runs;
    return { at: new Date(from).toISOString(), statuses };
  });
  return {
    since: since.toISOString(),
    bucketSeconds,
    counted: counts.reduce((sum, { runs }) => sum + runs, 0),
    complete,
    buckets,
  };
}

/** @param carried the pins whose runs this build carries */
export function pinnedOf(
  { pins, complete }: { readonly pins: readonly PinnedRuns[]; readonly complete: boolean },
  carried: readonly WorkflowPin[],
): wire.PinnedList {
  const here = new Set(carried.map(({ name, digest }) => `${name}@${digest}`));
  return {
    pinned: pins.map(({ name, version, digest, runs, oldestAt, released }) => ({
      name,
      version,
      digest,
      openRuns: runs,
      oldestAt: oldestAt.toISOString(),
      held: here.has(`${name}@${digest}`) ? "build" : released ? "release" : "nowhere",
    })),
    complete,
  };
}
