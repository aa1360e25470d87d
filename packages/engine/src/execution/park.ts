import {
  MAX_DELAY_SECONDS,
  canonicalText,
  serialize,
  sha256,
  UnserializableError,
  type RunFailureCode,
} from "@ghouls/core";
import type { ClaimedRun, NewConsent, OpenArm, Standing } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps } from "./deps.ts";
import { publishNext } from "./handover.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { journalDigest, type JournalItem } from "./loaded-journal.ts";
import { inputProblem } from "./material.ts";
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
  const standing = await standingOf(claim, calls, deps);
  await deps.faults("worker.before-park", claim.runId);
  const answer = await deps.ledger.deliveries.parkIfClaimed(
    claim,
    {
      workflowDigest: claim.workflow.digest,
      journalLength: claim.journalStart + journal.length,
      journalDigest: journalDigest(journal),
    },
    standing,
    { publisherGraceSeconds: deps.settings.publisherGraceSeconds },
  );
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
  const { title, deciders, quorum, expiresMs, onExpiry, requesterMayDecide, detail, source } = request;
  const canonical = canonicalText({
    runId: claim.runId,
    workflow: claim.workflow,
    title,
    deciders,
    quorum,
    expiresMs,
    onExpiry,
    requesterMayDecide,
    detail: detail === undefined ? null : (JSON.parse(detail) as unknown),
  });
  const { tenantId, runId } = claim;
  const requestText = await codec.encode(canonical, { tenantId, runId, kind: "consent" });
  return {
    consentId: ids.next(),
    title,
    requestText,
    storedDigest: sha256(requestText),
    requestDigest: codec.digest === undefined ? sha256(canonical) : await codec.digest(canonical),
    deciders,
    quorum,
    requesterMayDecide,
    onExpiry,
    expiresInSeconds: expiresMs === null ? null : expiresMs / 1_000,
    source,
  };
}

/** A message for each timer that is near; the reconciler has the others, and those whose message is lost. */
async function wakeInTime(
  claim: ClaimedRun,
  arms: readonly OpenArm[],
  deps: Pick<ExecutionDeps, "queue" | "logFor">,
): Promise<void> {
  const wakes = arms.flatMap(({ armId, dueInSeconds }) => {
    if (dueInSeconds === null || dueInSeconds > MAX_DELAY_SECONDS) return [];
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
    return { stored: await deps.codec.encode(text, { tenantId, runId, kind: "input" }) };
  } catch (error) {
    if (error instanceof UnserializableError) return refuse(error.reason, error.message);
    throw error;
  }
}
