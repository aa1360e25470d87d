import { GhoulsError } from "./errors.ts";
import { durationMs, type Duration } from "./duration.ts";

/** The delays between the tries of a step. */
export interface Backoff {
  /** Before the second try; "200ms" by default. */
  readonly initial?: Duration;
  /** Each further delay is the last one times this; 2 by default. */
  readonly factor?: number;
  /** No delay is longer; "10s" by default, or the first one where that is longer. A delay above 10 s parks the run. */
  readonly max?: Duration;
}

/** A longer delay parks the run, in milliseconds (design.md §3, Step). */
export const LONGEST_RESIDENT_DELAY_MS = 10_000;

export interface ResolvedBackoff {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

/** @throws GhoulsError `configuration_invalid` for what cannot be honoured */
export function resolveBackoff(backoff: Backoff = {}): ResolvedBackoff {
  const initialMs = durationMs(backoff.initial ?? "200ms");
  const resolved = {
    initialMs,
    factor: backoff.factor ?? 2,
    maxMs:
      backoff.max === undefined ? Math.max(LONGEST_RESIDENT_DELAY_MS, initialMs) : durationMs(backoff.max),
  };
  if (!(resolved.factor >= 1 && resolved.factor <= 100)) {
    throw new GhoulsError(
      "configuration_invalid",
      `a backoff factor of ${String(backoff.factor)} is not taken`,
      {
        fix: "Give a factor from 1 to 100.",
      },
    );
  }
  return resolved;
}

/**
 * Milliseconds to wait before try number `next` (2 or more). `chance` in [0, 1) spreads it over the upper half of the
 * delay, so that steps that failed together do not come back together.
 */
export function retryDelayMs(backoff: ResolvedBackoff, next: number, chance: number): number {
  const full = Math.min(backoff.maxMs, backoff.initialMs * backoff.factor ** (next - 2));
  return Math.round(full / 2 + (full / 2) * chance);
}
