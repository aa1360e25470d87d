import { GhoulsError } from "./errors.ts";
import { durationMs, type Duration } from "./duration.ts";

/** The delays between the tries of a step. */
export interface Backoff {
  /** Before the second try; "200ms" by default. */
  readonly initial?: Duration;
  /** Each further delay is the last one times this; 2 by default. */
  readonly factor?: number;
  /** No delay is longer; "10s" by default and at most, because longer ones park and parks do not exist yet. */
  readonly max?: Duration;
}

/** A longer delay would have to park the run (design.md §3, Step). */
export const LONGEST_RESIDENT_DELAY_MS = 10_000;

export interface ResolvedBackoff {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

/** @throws GhoulsError `configuration_invalid` for what cannot be honoured */
export function resolveBackoff(backoff: Backoff = {}): ResolvedBackoff {
  const resolved = {
    initialMs: durationMs(backoff.initial ?? "200ms"),
    factor: backoff.factor ?? 2,
    maxMs: durationMs(backoff.max ?? "10s"),
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
  if (resolved.maxMs > LONGEST_RESIDENT_DELAY_MS || resolved.initialMs > LONGEST_RESIDENT_DELAY_MS) {
    throw new GhoulsError(
      "configuration_invalid",
      "a delay above 10 s between two tries is not supported yet",
      {
        fix: 'Use delays up to "10s": a longer wait has to park the run, and this version has no parks.',
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
