import type { HintState } from "@ghouls/core";

/**
 * What opens work lowers the hint before its commit, which may come much later. For this long after a lowering nothing is
 * concluded from what the ledger does not show.
 */
export const LOWERING_GRACE_MS = 120_000;

/** Whatever the hint says, and whoever failed to lower it: somebody looks once in this time. */
export const LONGEST_SLEEP_MS = 3_600_000;

/** What is due this soon is work that is open now: the reconciler comes every minute, and looks for the next. */
const OPEN_WITHIN_SECONDS = 120;

export type Wake = { readonly connect: true } | { readonly connect: false; readonly untilMs: number };

/** Whether the ledger must be looked at now. `state` is undefined where there is no hint, or none that could be read. */
export function wakeOf(state: HintState | undefined, nowMs: number): Wake {
  if (state === undefined || state.dueAtMs <= nowMs || mayBeCommitting(state, nowMs))
    return { connect: true };
  // Nobody writes such a time: another clock did, or another hand.
  if (state.dueAtMs > nowMs + LONGEST_SLEEP_MS) return { connect: true };
  return { connect: false, untilMs: state.dueAtMs };
}

/**
 * When the ledger must be looked at next, after a look that found nothing left to do now; undefined where the hint must
 * stay. `readAtMs` is when the hint was read, before the look: a commit may have come between the two.
 */
export function raisedTo(
  state: HintState | undefined,
  readAtMs: number,
  look: { readonly atMs: number; readonly dueInSeconds: number | null },
): number | undefined {
  if (state !== undefined && mayBeCommitting(state, readAtMs)) return undefined;
  const latest = look.atMs + LONGEST_SLEEP_MS;
  if (look.dueInSeconds === null) return latest;
  if (look.dueInSeconds <= OPEN_WITHIN_SECONDS) return undefined;
  return Math.min(latest, look.atMs + Math.floor(look.dueInSeconds * 1_000));
}

/** A lowering of a clock that is ahead lies in the future, and is young until this clock has come there. */
function mayBeCommitting({ openedAtMs }: HintState, nowMs: number): boolean {
  return openedAtMs !== undefined && nowMs - openedAtMs < LOWERING_GRACE_MS;
}
