import { attentionText, isTerminalRun, type WorkflowPin, errorInLog } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { afterEnd, drainCopies, drainLive } from "../evidence/after-end.ts";
import { tellClaimed, tellEnded, tellEntry } from "../live/told.ts";
import { afterCodec } from "./after-codec.ts";
import type { Carried } from "./carried.ts";
import { tellParent } from "./children.ts";
import { carryContain } from "./contain.ts";
import type { Reins } from "./reins.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { Holdings } from "./holdings.ts";
import { Hop, type OpenCallsOf } from "./hop.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { giveBack, handOver } from "./handover.ts";
import { CodecError, DisagreementError } from "./loaded-journal.ts";
import { isMaterial, loadMaterial } from "./material.ts";
import { adopt, endWithoutWorkflow, pinnedCode, type Code } from "./pinned.ts";
import { unclearJob } from "./job-options.ts";
import { park, restart } from "./park.ts";
import { persist, type Persistence } from "./persist.ts";
import { checkReplay } from "./replay-check.ts";
import { settle, settlementOf } from "./settle.ts";
import { callsOf, takeoverProblem } from "./takeover.ts";
import { endOf, endWithoutRelease } from "./withheld.ts";

/** Carries a claimed delivery to its end. Never rejects. */
export async function carry(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
  reins: Reins,
): Promise<Carried> {
  const holdings = new Holdings(claim, deps, invocation);
  reins.onHop(holdings);
  tellClaimed(claim, deps.worker, deps);
  const carried = await carryWith(holdings, claim, deps, invocation, reins);
  tellEnded(claim, carried, deps);
  // Its end is committed, or nothing of it is written any more; and no step is in flight.
  await holdings.release();
  const ended = await hasEnded(carried, claim, deps, invocation);
  const telling = drainLive(claim, ended, deps, invocation);
  if (ended) await afterEnd(claim, deps, invocation);
  else await drainCopies(claim, deps, invocation);
  await telling;
  return carried;
}

/** Whether the run has ended with what was carried. A fenced worker's word may be the last that its ending waited for. */
async function hasEnded(
  carried: Carried,
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<boolean> {
  if (carried.kind === "settled") return isTerminalRun(carried.status);
  if (carried.kind === "contained") return carried.ended;
  // Where no time ever says that a claim is over, what nobody heard of has to be said as well.
  const mute = carried.kind === "fenced" || (carried.kind === "unknown" && !invocation.endsByForce);
  return mute && acknowledge(claim, deps, invocation);
}

async function carryWith(
  holdings: Holdings,
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
  reins: Reins,
): Promise<Carried> {
  try {
    await deps.faults("worker.after-claim", claim.runId);
    return claim.cause === "contain"
      ? await carryContain(claim, deps, invocation, reins, holdings)
      : await carryHop(claim, deps, invocation, reins, holdings);
  } catch (error) {
    if (error instanceof DisagreementError) return quarantine(claim, error.message, deps);
    if (error instanceof CodecError) return later(claim, error, deps, invocation);
    return { kind: "unknown", error };
  }
}

async function carryHop(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
  reins: Reins,
  holdings: Holdings,
): Promise<Carried> {
  const pinned = await pinnedCode(claim, deps);
  if ("workflow" in pinned) return carryCode(pinned, claim, invocation, reins, holdings);
  const end =
    "absent" in pinned
      ? await endWithoutWorkflow(claim, pinned.absent, deps, invocation)
      : await endWithoutRelease(claim, pinned.unreachable, deps, invocation);
  return conclude(claim, end, deps, invocation, undefined);
}

async function carryCode(
  pinned: Code,
  claim: ClaimedRun,
  invocation: Invocation,
  reins: Reins,
  holdings: Holdings,
): Promise<Carried> {
  const { deps } = pinned;
  const unauthorized = await holdings.checkAuthority(pinned.workflow);
  if (unauthorized !== undefined) {
    const end = await endOf(unauthorized, claim, deps, invocation);
    return conclude(claim, end, deps, invocation, undefined);
  }
  const loaded = await loadMaterial(claim, pinned.workflow, deps);
  if (!isMaterial(loaded)) {
    if (pinned.adopts !== undefined && loaded.kind === "failed")
      throw untrue(pinned.adopts, loaded.failure.message);
    return conclude(claim, loaded, deps, invocation, undefined);
  }
  if (claim.deadlineAt !== null && claim.claimedAt >= claim.deadlineAt) {
    const passed = `the run's deadline ${claim.deadlineAt.toISOString()} had passed when a worker claimed it`;
    return conclude(claim, refusal("deadline", passed), deps, invocation, undefined);
  }
  if (claim.workflowAbsentSince !== null && !(await deps.ledger.runs.clearAbsenceIfClaimed(claim))) {
    return { kind: "fenced" };
  }
  const withheld = await holdings.take(pinned.workflow);
  if (withheld !== undefined) {
    return conclude(claim, await endOf(withheld, claim, deps, invocation), deps, invocation, undefined);
  }
  // What came since an earlier hop went on; those of a redrive are new to whoever looks on.
  for (const entry of loaded.journal.slice(claim.seq === 1 ? 0 : loaded.seen))
    tellEntry(claim, entry, deps.live);
  const bounded = { ...invocation, holdsUntilMs: holdings.untilMs };
  const hop = new Hop(claim, pinned.workflow, loaded, deps, bounded, holdings);
  holdings.carriedBy(hop);
  reins.onHop(hop);
  const { adopts, workflow } = pinned;
  let adopted = false;
  const takeOver = async (adopts: WorkflowPin, openCalls: OpenCallsOf) => {
    const problem = await takeoverProblem(claim, loaded, await openCalls(callsOf(loaded)), deps);
    if (problem !== undefined) return refusal("journal_mismatch", problem);
    const stopped = await adopt(claim, adopts, loaded.journal, deps);
    adopted = stopped === undefined;
    return stopped;
  };
  const ran = await hop.run(
    loaded.input,
    adopts === undefined ? undefined : (openCalls) => takeOver(adopts, openCalls),
  );
  const end = unclearJob(ran, loaded.arms) ?? ran;
  // Its material could not be read while it was being taken over: nothing of the new code has run.
  if (adopts !== undefined && !adopted && end.kind === "unknown" && isOfMaterial(end.error)) throw end.error;
  const unanswered = hop.unanswered();
  if (adopts !== undefined && !adopted && end.kind === "failed") throw untrue(adopts, end.failure.message);
  const carrier = adopts === undefined || !adopted ? claim : { ...claim, workflow: adopts };
  const carried = await conclude(carrier, end, deps, invocation, hop);
  const kept = carried.kind !== "fenced" && carried.kind !== "unknown" && carried.kind !== "quarantined";
  if (deps.settings.replayCheck && kept) {
    const journalLength = hop.journal().length;
    const ended = { claim: carrier, workflow, end, unanswered, held: holdings, journalLength };
    const checked = checkReplay(ended, deps, invocation);
    // Only what the hop holds waits for it: the run is as it is.
    if (!holdings.isEmpty) await checked;
  }
  return carried;
}

function isOfMaterial(error: unknown): error is CodecError | DisagreementError {
  return error instanceof CodecError || error instanceof DisagreementError;
}

/** The word that this code may carry the run was not true. Nothing of it has run, and the run is not lost by it. */
function untrue(adopts: WorkflowPin, why: string): DisagreementError {
  return new DisagreementError(`workflow digest ${adopts.digest} accepts the run's, but ${why}`);
}

/** Commits the end of a hop. */
async function conclude(
  claim: ClaimedRun,
  end: HopEnd,
  deps: ExecutionDeps,
  invocation: Invocation,
  hop: Hop | undefined,
): Promise<Carried> {
  switch (end.kind) {
    case "fenced":
    case "unknown":
      return end;
    case "given_back": {
      const [journal, calls] = [hop?.journal() ?? [], hop?.standingTries() ?? []];
      return persist(
        () =>
          calls.length === 0
            ? giveBack(claim, end, deps)
            : handOver(claim, { journal, calls, idle: false, dueAt: end.dueAt }, end.why, deps),
        persistenceOf(claim, deps, invocation, hop),
      );
    }
    case "yielded": {
      const journal = hop?.journal() ?? [];
      const written = journal.length - (claim.journalLength - claim.journalStart);
      const atRest = hop !== undefined && written === 0 && !hop.hasTried() && !hop.hasWaited();
      // Whoever waits for units, or is told to end, is not to blame for that.
      const idle = atRest && (end.why === "time" || end.why === "grant");
      if (idle && end.why === "grant") {
        const withheld = { kind: "unknown", why: "a grant had expired before a step could start" } as const;
        return conclude(claim, await endOf(withheld, claim, deps, invocation), deps, invocation, hop);
      }
      if (!idle || claim.idleYields === 0) {
        const calls = hop?.standingTries() ?? [];
        return persist(
          () => handOver(claim, { journal, calls, idle }, end.why, deps),
          persistenceOf(claim, deps, invocation, hop),
        );
      }
      return conclude(claim, refusal("no_progress", NO_PROGRESS), deps, invocation, hop);
    }
    case "parked":
    case "restarted": {
      const journal = hop?.journal() ?? [];
      if (end.kind === "restarted" && journal.length === 0)
        return conclude(claim, refusal("no_progress", NO_RESTART), deps, invocation, hop);
      const answer = await persist(
        () =>
          end.kind === "parked"
            ? park(claim, journal, end.standing, deps, invocation)
            : restart(claim, end.input, deps),
        persistenceOf(claim, deps, invocation, hop),
      ).catch((error: unknown) => {
        if (error instanceof CodecError) return error;
        throw error;
      });
      if (answer instanceof CodecError)
        return conclude(claim, afterCodec(claim, answer, deps, invocation), deps, invocation, hop);
      return answer.kind === "refused" ? conclude(claim, answer.end, deps, invocation, hop) : answer;
    }
    case "returned":
    case "failed": {
      const workflow = deps.registry.find(claim.workflow)?.definition;
      const settlement = await settlementOf(claim, workflow, end, deps);
      const answer = await persist(
        () => settle(claim, settlement, deps),
        persistenceOf(claim, deps, invocation, hop),
      );
      if (!answer.settled) return { kind: "fenced" };
      if (settlement.status === "FAILED" && settlement.errorCode === "effect_unknown") {
        await deps.ledger.runs.raiseAttention(
          claim,
          attentionText("effect_unknown", "an effect may or may not have happened"),
        );
      }
      if (isTerminalRun(answer.runStatus)) await tellParent(claim, deps, deps.logFor(claim));
      const code = settlement.status === "FAILED" ? settlement.errorCode : undefined;
      return { kind: "settled", status: answer.runStatus, ...(code === undefined ? {} : { code }) };
    }
  }
}

/** The end of a hop is worth waiting for while its claim is believed and its invocation lasts. */
function persistenceOf(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
  hop: Hop | undefined,
): Persistence {
  return {
    chance: deps.chance,
    mayGoOn: () => hop?.mayWrite() !== false && invocation.remainingMs() > deps.settings.settleReserveMs / 2,
    onPause: (error) =>
      deps.logFor(claim).warn("the ledger is out of reach; the hop's end waits", { kind: error.kind }),
  };
}

const NO_PROGRESS =
  "two invocations in a row ended without a new journal entry: a step does not fit into one";

const NO_RESTART = "ctx.restart without a single journaled call before it would go on for ever";

/**
 * The worker's own word that nothing of its claim acts any more: no step is in flight, its context is released. True where
 * its run has ended with that. Where no time says it instead, it is said again until the ledger answers, or until this
 * process is told to end, whose end is recorded.
 */
async function acknowledge(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  { endsByForce }: Invocation,
): Promise<boolean> {
  let said = false;
  const sayOnce = (): void => {
    if (!said) deps.logFor(claim).warn("the ledger is out of reach; a worker's word about its end waits");
    said = true;
  };
  try {
    const acknowledged = await persist(() => deps.ledger.items.acknowledgeWorker(claim), {
      chance: deps.chance,
      mayGoOn: () => !endsByForce && !deps.draining.aborted,
      onPause: sayOnce,
    });
    return acknowledged !== null && acknowledged.ended !== null;
  } catch (error) {
    // Its item is acknowledged once its time is over, or the end of its process is recorded.
    deps.logFor(claim).warn("a worker could not acknowledge its own end", { error: errorInLog(error) });
    return false;
  }
}

async function later(
  claim: ClaimedRun,
  error: CodecError,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<Carried> {
  try {
    return await giveBack(claim, afterCodec(claim, error, deps, invocation), deps);
  } catch (failure) {
    return { kind: "unknown", error: failure };
  }
}

async function quarantine(claim: ClaimedRun, reason: string, deps: ExecutionDeps): Promise<Carried> {
  try {
    const done = await deps.ledger.runs.quarantineIfClaimed(claim, reason);
    return done ? { kind: "quarantined", reason } : { kind: "fenced" };
  } catch (error) {
    return { kind: "unknown", error };
  }
}
