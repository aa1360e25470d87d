import { errorInLog } from "@ghouls/core";
import type { ClaimedRun, EndAct } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "../execution/deps.ts";
import { answerWithin } from "../patience.ts";

type AfterEndDeps = Pick<ExecutionDeps, "ledger" | "copies" | "faults" | "settings" | "logFor">;

/** What an act after the end of a run, or of a hop, may take of its worker, in milliseconds. */
const ACT_MS = 5_000;
/** What its last words to those who look on may take, in milliseconds. */
const LIVE_MS = 1_500;

/**
 * What follows the commit that ended a run (design.md §3, Settle): nothing of it can revise the end. What its hop held has
 * been given back before, by this process, which alone knows of it. Each act is tried though another has failed, and what
 * is not done here stands in a row for the pass `endings`.
 */
export async function afterEnd(
  claim: ClaimedRun,
  deps: AfterEndDeps,
  invocation: Pick<Invocation, "remainingMs">,
): Promise<void> {
  // A run that never parked or yielded has none.
  if (claim.checkpointGeneration !== null || claim.cause === "contain")
    await carryOut(claim, "checkpoints", deps, invocation);
  await drainCopies(claim, deps, invocation);
  await carryOut(claim, "record", deps, invocation);
}

/** Copies of what a hop has journaled: written at its end, whatever becomes of its run, or given up. */
export async function drainCopies(
  claim: ClaimedRun,
  deps: AfterEndDeps,
  invocation: Pick<Invocation, "remainingMs">,
): Promise<void> {
  await deps.copies?.drain(claim, boundOf(deps, invocation), deps.logFor(claim));
}

/** What a hop has said to those who look on: written at its end, or given up; and the word that its run has ended. */
export async function drainLive(
  { tenantId, runId, seq: enqueueSeq }: ClaimedRun,
  ended: boolean,
  deps: Pick<ExecutionDeps, "live" | "settings">,
  invocation: Pick<Invocation, "remainingMs">,
): Promise<void> {
  const bound = Math.min(LIVE_MS, boundOf(deps, invocation));
  await deps.live.drain({ tenantId, runId, enqueueSeq }, bound, ended);
}

async function carryOut(
  claim: ClaimedRun,
  act: EndAct,
  deps: AfterEndDeps,
  invocation: Pick<Invocation, "remainingMs">,
): Promise<void> {
  const bound = boundOf(deps, invocation);
  if (bound === 0) return;
  try {
    await answerWithin(carriedOut(claim, act, deps), bound);
  } catch (error) {
    deps.logFor(claim).warn("what follows the end of a run could not be done; the reconciler does it", {
      name: act,
      error: errorInLog(error),
    });
  }
}

async function carriedOut(claim: ClaimedRun, act: EndAct, deps: AfterEndDeps): Promise<void> {
  await deps.faults(`worker.before-${act}`, claim.runId);
  await deps.ledger.evidence.carryOut(claim, act);
  await deps.faults(`worker.after-${act}`, claim.runId);
}

/** The invocation is not to end by force because of it. */
function boundOf(
  { settings }: Pick<AfterEndDeps, "settings">,
  { remainingMs }: Pick<Invocation, "remainingMs">,
): number {
  return Math.max(0, Math.min(ACT_MS, remainingMs() - settings.settleReserveMs / 2));
}
