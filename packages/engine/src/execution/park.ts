import {
  MAX_DELAY_SECONDS,
  callKey,
  canonicalText,
  describeFailure,
  serialize,
  sha256,
  UnserializableError,
  type RunFailureCode,
} from "@ghouls/core";
import type { Checkpoint, ClaimedRun, NewConsent, OpenArm, Standing } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps } from "./deps.ts";
import { publishNext } from "./handover.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { CodecError, journalDigest, type JournalItem } from "./loaded-journal.ts";
import { inputProblem } from "./material.ts";
import { contentOf, digestOfSameRequest } from "./takeover.ts";
import type { ConsentRequest } from "./wait-options.ts";

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
): Promise<Carried | Refused> {
  let standing = await standingOf(claim, calls, deps);
  await deps.faults("worker.before-park", claim.runId);
  const checkpoint = checkpointOf(claim, journal);
  const { publisherGraceSeconds } = deps.settings;
  const commit = () =>
    deps.ledger.deliveries.parkIfClaimed(claim, checkpoint, standing, { publisherGraceSeconds });
  let answer = await commit();
  for (const { id, wait } of calls) {
    // Frozen under another pin, or under another key of the codec: what is asked decides.
    if (answer?.kind !== "mismatch" || answer.consentId === undefined || wait?.consent === undefined)
      continue;
    if (answer.key !== callKey(id)) continue;
    const frozenDigest = await digestOfSameRequest(claim, answer.consentId, wait.consent, deps);
    if (frozenDigest === undefined) break;
    standing = standing.map((one) =>
      one.consent === undefined || callKey(one.call) !== callKey(id)
        ? one
        : { ...one, consent: { ...one.consent, requestDigest: frozenDigest } },
    );
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
      return { kind: "handed_over", why: "what it waited for had happened" };
    case "parked":
      await wakeInTime(claim, answer.arms, deps);
      return { kind: "parked", status: answer.status };
  }
}

/** What a hop leaves of its journal. */
function checkpointOf(claim: ClaimedRun, journal: readonly JournalItem[]): Checkpoint {
  return {
    workflowDigest: claim.workflow.digest,
    journalLength: claim.journalStart + journal.length,
    journalDigest: journalDigest(journal),
  };
}

/** What a hop leaves whose steps wait for their next tries. */
export interface LeftTries {
  readonly calls: readonly OpenCall[];
  readonly journal: readonly JournalItem[];
  readonly idle: boolean;
  /** Of the next hop; at once where absent. The ledger's time. */
  readonly dueAt?: Date;
}

/**
 * Hands a run over, or gives it back, whose steps wait for their next tries: when each is due, and how many it has had,
 * stands in the same commit. Else the next hop would make them at once, and count anew.
 */
export async function handOverStanding(
  claim: ClaimedRun,
  { calls, journal, idle, dueAt }: LeftTries,
  why: string,
  deps: ExecutionDeps,
): Promise<Carried> {
  const standing = await standingOf(claim, calls, deps);
  await deps.faults("worker.before-handover", claim.runId);
  const next = await deps.ledger.deliveries.yieldStandingIfClaimed(
    claim,
    checkpointOf(claim, journal),
    standing,
    {
      idle,
      publisherGraceSeconds: deps.settings.publisherGraceSeconds,
      ...(dueAt === undefined ? {} : { dueAt }),
    },
  );
  await deps.faults("worker.after-handover", claim.runId);
  if (next === null) return { kind: "fenced" };
  // What is due later is the relay's.
  if (dueAt === undefined) await publishNext(claim, next, deps);
  return { kind: "handed_over", why };
}

/** The frozen requests have passed the codec before the transaction begins: it may be slow. */
function standingOf(
  claim: ClaimedRun,
  calls: readonly OpenCall[],
  deps: Pick<ExecutionDeps, "codec" | "ids">,
): Promise<Standing[]> {
  return Promise.all(
    calls.flatMap(({ id, wait }) => {
      if (wait === undefined) return [];
      const arm = {
        call: id,
        armId: deps.ids.next(),
        owner: wait.owner,
        dueAt: wait.dueAt,
        tries: wait.tries,
      };
      const { consent } = wait;
      if (consent === undefined) return [Promise.resolve(arm)];
      return [frozen(claim, consent, deps).then((request) => ({ ...arm, consent: request }))];
    }),
  );
}

/** What a decider is shown, and its digest, which decides whether a decision means it. */
async function frozen(
  claim: ClaimedRun,
  request: ConsentRequest,
  { codec, ids }: Pick<ExecutionDeps, "codec" | "ids">,
): Promise<NewConsent> {
  const { title, deciders, quorum, expiresMs, onExpiry, requesterMayDecide, source } = request;
  const canonical = canonicalText({ runId: claim.runId, workflow: claim.workflow, ...contentOf(request) });
  const { tenantId, runId } = claim;
  const [requestText, requestDigest] = await encoded(`the consent "${title}"`, async () => [
    await codec.encode(canonical, { tenantId, runId, kind: "consent" }),
    codec.digest === undefined ? sha256(canonical) : await codec.digest(canonical),
  ]);
  return {
    consentId: ids.next(),
    title,
    requestText,
    storedDigest: sha256(requestText),
    requestDigest,
    deciders,
    quorum,
    requesterMayDecide,
    onExpiry,
    expiresInSeconds: expiresMs === null ? null : expiresMs / 1_000,
    source,
  };
}

/** What a codec cannot do just now it may do later: nothing of the run has failed. */
async function encoded<T>(what: string, encode: () => Promise<T>): Promise<T> {
  try {
    return await encode();
  } catch (error) {
    throw new CodecError(`${what}: ${describeFailure(error).message.slice(0, 200)}`);
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
  return { kind: "handed_over", why: "restart" };
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
