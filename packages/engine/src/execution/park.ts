import {
  MAX_DELAY_SECONDS,
  callKey,
  serialize,
  sha256,
  UnserializableError,
  type RunFailureCode,
  errorInLog,
} from "@ghouls/core";
import type { ClaimedRun, OpenArm, Standing } from "@ghouls/ledger";
import { submitJob } from "../delegation/submit.ts";
import type { OpenCall } from "./calls.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { publishNext } from "./handover.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { checkpointOf, journalDigest, type JournalItem } from "./loaded-journal.ts";
import { inputProblem } from "./material.ts";
import { encoded } from "./encoded.ts";
import { standingOf } from "./standing.ts";
import { digestOfFrozen } from "./takeover.ts";

/** A hop whose end was not committed, because it cannot be: how it ends instead. */
export type Refused = { readonly kind: "refused"; readonly end: HopEnd };

/**
 * Parks a run (design.md §3, Park): what it waits for, the checkpoint and the end of its delivery in one commit. What has
 * happened already hands it over instead. Timers that are near are sent as messages after it.
 */
export async function park(
  claim: ClaimedRun,
  journal: readonly JournalItem[],
  calls: readonly OpenCall[],
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<Carried | Refused> {
  let standing = await standingOf(claim, calls, deps);
  await deps.faults("worker.before-park", claim.runId);
  const checkpoint = checkpointOf(claim, journal);
  const { publisherGraceSeconds } = deps.settings;
  const commit = () =>
    deps.ledger.deliveries.parkIfClaimed(claim, checkpoint, standing, { publisherGraceSeconds });
  let answer = await commit();
  // Frozen under another pin, or under another key of the codec: what is asked decides.
  while (answer?.kind === "mismatch" && answer.ownerId !== undefined) {
    const { ownerId, key } = answer;
    const wait = calls.find((call) => call.key === key)?.wait;
    const frozenDigest = await digestOfFrozen(claim, ownerId, wait, deps);
    if (frozenDigest === undefined) break;
    standing = standing.map((one) => (callKey(one.call) === key ? withDigest(one, frozenDigest) : one));
    answer = await commit();
  }
  await deps.faults("worker.after-park", claim.runId);
  if (answer === null) return { kind: "fenced" };
  switch (answer.kind) {
    case "mismatch":
      return {
        kind: "refused",
        end: refusal("journal_mismatch", `${answer.what}: the code has changed or is not deterministic`),
      };
    case "continued":
      await publishNext(claim, answer.next, deps);
      return { kind: "handed_over", outcome: "continued", why: "what it waited for had happened" };
    case "parked":
      await Promise.all([
        wakeInTime(claim, answer.arms, deps),
        submitAtOnce(claim, answer.arms, invocation, deps),
      ]);
      return { kind: "parked", status: answer.status };
  }
}

function withDigest(one: Standing, requestDigest: string): Standing {
  if (one.consent !== undefined) return { ...one, consent: { ...one.consent, requestDigest } };
  return one.attempt === undefined ? one : { ...one, attempt: { ...one.attempt, requestDigest } };
}

/**
 * Sends the jobs that nobody has sent, right after the commit that defines them; the delegate pass has those that this worker
 * does not come to. Where nothing ends this process by force nobody could say until when it may send: the pass does it.
 */
async function submitAtOnce(
  claim: ClaimedRun,
  arms: readonly OpenArm[],
  invocation: Invocation,
  deps: ExecutionDeps,
): Promise<void> {
  if (!invocation.endsByForce || !arms.some(({ attemptStatus }) => attemptStatus === "DEFINED")) return;
  const log = deps.logFor(claim);
  try {
    const defined = await deps.ledger.attempts.definedOfRun(claim);
    await Promise.all(
      defined.map((attempt) =>
        submitJob(attempt, { ...deps, log }, invocation.remainingMs).catch((error: unknown) => {
          log.warn("a job could not be submitted; the reconciler looks after it", {
            name: attempt.name,
            error: errorInLog(error),
          });
        }),
      ),
    );
  } catch (error) {
    log.warn("the run's jobs could not be read; the reconciler looks after them", {
      error: errorInLog(error),
    });
  }
}

/**
 * A message for each timer that is near and new: what was taken over has its message already, but for a step's next try.
 * The reconciler has the others, and those whose message is lost.
 */
async function wakeInTime(
  claim: ClaimedRun,
  arms: readonly OpenArm[],
  deps: Pick<ExecutionDeps, "queue" | "logFor">,
): Promise<void> {
  const wakes = arms.flatMap(({ armId, dueInSeconds, call, seq }) => {
    if (dueInSeconds === null || dueInSeconds > MAX_DELAY_SECONDS) return [];
    if (seq !== claim.seq && call.kind !== "step") return [];
    const delaySeconds = Math.max(0, Math.ceil(dueInSeconds));
    return [{ armId, tenantId: claim.tenantId, queue: claim.queue, delaySeconds }];
  });
  if (wakes.length === 0) return;
  const reasons = await deps.queue.wake(wakes);
  const [reason] = reasons;
  if (reason !== undefined)
    deps.logFor(claim).warn("timers could not be sent; the reconciler will wake the run", {
      count: reasons.length,
      reason,
    });
}

/** Continues as new: another input and an empty journal, in one commit with the end of the delivery. */
export async function restart(
  claim: ClaimedRun,
  input: unknown,
  deps: ExecutionDeps,
): Promise<Carried | Refused> {
  const text = await newInput(claim, input, deps);
  if ("end" in text) return { kind: "refused", end: text.end };
  await deps.faults("worker.before-restart", claim.runId);
  const next = await deps.ledger.runs.restartIfClaimed(
    claim,
    {
      inputText: text.stored,
      inputDigest: sha256(text.stored),
      workflowDigest: claim.workflow.digest,
      journalDigest: journalDigest([]),
      epoch: claim.epoch,
    },
    { publisherGraceSeconds: deps.settings.publisherGraceSeconds },
  );
  await deps.faults("worker.after-restart", claim.runId);
  if (next === null) return { kind: "fenced" };
  await publishNext(claim, next, deps);
  return { kind: "handed_over", outcome: "continued", why: "restart" };
}

async function newInput(
  claim: ClaimedRun,
  input: unknown,
  deps: Pick<ExecutionDeps, "codec" | "registry">,
): Promise<{ readonly stored: string } | { readonly end: HopEnd }> {
  const refuse = (code: RunFailureCode, problem: string) => ({
    end: refusal(code, `ctx.restart: the new input ${problem}`),
  });
  try {
    const text = serialize(input) ?? "null";
    const workflow = deps.registry.find(claim.workflow)?.definition;
    const problem = workflow === undefined ? undefined : await inputProblem(workflow, text);
    if (problem !== undefined)
      return refuse("input_invalid", `does not fit the workflow's schema: ${problem}`);
    const { tenantId, runId } = claim;
    const context = { tenantId, runId, kind: "input" } as const;
    return { stored: await encoded("the input of a restart", () => deps.codec.encode(text, context)) };
  } catch (error) {
    if (error instanceof UnserializableError) return refuse(error.reason, error.message);
    throw error;
  }
}
