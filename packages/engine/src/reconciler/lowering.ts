import { type Clock, type Logger, type WakeHint, errorInLog } from "@ghouls/core";
import { answerWithin } from "../patience.ts";

export interface LoweringOptions {
  readonly hint: Pick<WakeHint, "lower">;
  readonly clock: Clock;
  readonly log: Logger;
  /** What a lowering may take, in milliseconds; 1,000 by default. What it stands before does not wait longer. */
  readonly patienceMs?: number | undefined;
}

/**
 * How long this process relies on its last lowering. Far below the grace of {@link LOWERING_GRACE_MS}, in which no
 * reconciler raises the hint: what is opened at the end of this time still has the rest for its commit.
 */
const REMEMBERED_MS = 30_000;

/**
 * Lowers the hint to now, as whatever opens work must before its commit. Never rejects, and takes a bounded time: a hint
 * that could not be lowered costs at most the hour. Lowerings at the same time share one write, and one that succeeded is
 * remembered for a while.
 */
export function createLowering(options: LoweringOptions): () => Promise<void> {
  const { hint, clock, log, patienceMs = 1_000 } = options;
  let last: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  let underWay: Promise<void> | undefined;

  // A frozen process's monotonic clock may stand still, and the wall clock may jump: the larger of both counts.
  const remembered = (): boolean => {
    if (last === undefined) return false;
    const wall = clock.wallMs() - last.wallMs;
    return wall >= 0 && Math.max(wall, clock.monotonicMs() - last.monotonicMs) < REMEMBERED_MS;
  };

  const lower = async (): Promise<void> => {
    const begun = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    try {
      await answerWithin(hint.lower(begun.wallMs, begun.wallMs), patienceMs);
      last = begun;
    } catch (error) {
      log.warn("the reconciler's hint could not be lowered; its hourly look stands in for it", {
        error: errorInLog(error),
      });
    } finally {
      underWay = undefined;
    }
  };

  return () => {
    if (remembered()) return Promise.resolve();
    return (underWay ??= lower());
  };
}
