import {
  describeFailure,
  type AnyService,
  type Clock,
  type Codec,
  type FaultInjector,
  type Ids,
  type JobAnswer,
  type JobQuestion,
} from "@ghouls/core";
import { SpanKind } from "@opentelemetry/api";
import { LedgerError, type Attempt, type Changed, type Ledger } from "@ghouls/ledger";
import { inSpan } from "../tracing.ts";
import { StillAskingError } from "./direct-egress.ts";
import { CodecError, DisagreementError, verified } from "../execution/loaded-journal.ts";
import { digestOfService } from "./asked.ts";
import { callbackDigest } from "./callback-token.ts";
import type { Delegation } from "./delegation.ts";
import { recordAnswer, type RecordDeps } from "./record.ts";

export interface SubmitDeps extends RecordDeps {
  readonly ledger: Pick<Ledger, "attempts">;
  readonly delegation: Delegation;
  readonly codec: Codec;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly faults: FaultInjector;
  /** Identity of this process; its supervisor reports its end under this name. */
  readonly worker: string;
  readonly settings: {
    readonly publisherGraceSeconds: number;
    readonly actsMarginSeconds: number;
    readonly ownerDeadlineMs: number;
  };
}

/** What is left of an invocation once a submission has had its answer, for writing that down, in milliseconds. */
const RESERVE_MS = 1_000;

/** The executor that an attempt was made for is not there: nobody else may be asked about it, and nobody else sends it. */
export class ExecutorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ExecutorError";
  }
}

/** How long a callback is taken beyond the attempt's deadline, in seconds. */
const CALLBACK_SECONDS = 30 * 86_400;

/** The service of an attempt. @throws ExecutorError where the configuration has it no more, or another of its name */
export function executorOf(attempt: Attempt, { services }: Pick<Delegation, "services">): AnyService {
  const name = attempt.service;
  const service = Object.hasOwn(services, name) ? services[name] : undefined;
  if (service === undefined) throw new ExecutorError(`the configuration has no service "${name}"`);
  if (digestOfService(service) !== attempt.serviceDigest)
    throw new ExecutorError(
      `the service "${name}" is another executor now than the one that the job was made for`,
    );
  return service;
}

/**
 * Puts one question, within what is left of its owner's time. Whatever goes wrong is no answer.
 * @param withinMs what one attempt may still take in this pass
 */
export async function ask(
  service: AnyService,
  name: string,
  question: JobQuestion,
  withinMs: number,
  { delegation }: Pick<SubmitDeps, "delegation">,
): Promise<{ readonly answer: JobAnswer; readonly over: boolean }> {
  const timeoutMs = Math.floor(Math.min(service.times.timeoutMs, withinMs));
  if (timeoutMs < 1)
    return { answer: { state: "unknown", why: "there was no time left to ask" }, over: true };
  try {
    const { runId, attemptId } = question.job;
    const attributes = {
      "ghouls.run_id": runId,
      "ghouls.attempt_id": attemptId,
      "ghouls.service": name,
      "ghouls.question": question.kind,
    };
    const answer = await inSpan("ghouls.ask", { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const said = await delegation.egress.ask(name, question, timeoutMs);
      span.setAttribute("ghouls.outcome", said.state);
      return said;
    });
    return { answer, over: true };
  } catch (error) {
    const why = describeFailure(error).message.slice(0, 300);
    return { answer: { state: "unknown", why }, over: !(error instanceof StillAskingError) };
  }
}

/**
 * Sends a job, once: takes the claim of its submission, and sends only with that, and only while it is certain that this
 * process is not believed to have ended. What comes of it is written under the claim's token. Null where the claim was not
 * to be had, or where nothing was sent.
 * @param remainingMs what remains until this process is ended by force
 * @param withinMs what one owner may still take
 * @throws ExecutorError, or CodecError and DisagreementError about the request
 */
export async function submitJob(
  attempt: Attempt,
  deps: SubmitDeps,
  remainingMs: () => number,
  withinMs: () => number = () => deps.settings.ownerDeadlineMs,
): Promise<Changed | null> {
  const { delegation, ids, clock, faults, settings, worker } = deps;
  const service = executorOf(attempt, delegation);
  // What it sends must have its time: a claim that is not used leaves others in doubt.
  const needsMs = Math.min(service.times.timeoutMs, withinMs()) + RESERVE_MS;
  if (remainingMs() < needsMs || withinMs() < 1) return null;
  const requestText = await requestOf(attempt, deps);
  const callback =
    delegation.publicUrl === undefined
      ? null
      : { url: callbackUrl(delegation.publicUrl, attempt.attemptId), token: delegation.newToken() };
  const digest = callback === null ? null : callbackDigest(attempt, callback.token);
  const [monotonicMs, wallMs, budgetMs] = [clock.monotonicMs(), clock.wallMs(), remainingMs()];
  const token = ids.next();
  await faults("delegate.before-claim", attempt.attemptId);
  const claimed = await claim(attempt, token, {
    deps,
    submission: {
      token,
      submitter: worker,
      sendsForSeconds: Math.max(0, budgetMs) / 1_000 + settings.actsMarginSeconds,
      callbackDigest: digest,
      callbackSeconds: CALLBACK_SECONDS,
      nextLookSeconds: Math.ceil(service.times.timeoutMs / 1_000) + settings.publisherGraceSeconds,
    },
  });
  if (!claimed) return null;
  await faults("delegate.after-claim", attempt.attemptId);
  const elapsedMs = Math.max(clock.monotonicMs() - monotonicMs, clock.wallMs() - wallMs);
  const mine: Attempt = { ...attempt, status: "SUBMITTING", token, callbackDigest: digest };
  // It may have stood still: somebody else may believe by now that it sends nothing more.
  if (elapsedMs > budgetMs) return null;
  const { tenantId, runId, attemptId, idempotencyKey } = attempt;
  const job = { tenantId, runId, attemptId, idempotencyKey, requestText, callback };
  const { answer, over } = await ask(service, attempt.service, { kind: "submit", job }, withinMs(), deps);
  await faults("delegate.after-submit", attemptId);
  // An adapter that does not let go may send for as long as this process lives, which the claim knows.
  const unheard = over ? settings.actsMarginSeconds : null;
  const sentFor = answer.state === "unknown" ? unheard : 0;
  const changed = await recordAnswer(mine, answer, { late: false, sentFor }, deps);
  await faults("delegate.after-answer", attemptId);
  return changed;
}

/** A claim whose COMMIT lost its answer is there if the row has its token: nobody else has that. */
async function claim(
  attempt: Attempt,
  token: string,
  {
    deps: { ledger },
    submission,
  }: { readonly deps: SubmitDeps; readonly submission: Parameters<Ledger["attempts"]["claimSubmission"]>[1] },
): Promise<boolean> {
  try {
    return await ledger.attempts.claimSubmission(attempt, submission);
  } catch (error) {
    if (!(error instanceof LedgerError) || error.kind !== "unknown") throw error;
    const now = await ledger.attempts.get(attempt);
    return now?.status === "SUBMITTING" && now.token === token;
  }
}

async function requestOf(
  attempt: Attempt,
  { ledger, codec }: Pick<SubmitDeps, "ledger" | "codec">,
): Promise<string> {
  const { tenantId, runId, storedDigest } = attempt;
  const requestText = (await ledger.attempts.get(attempt))?.requestText ?? "";
  return verified(requestText, storedDigest, "a job's request", (stored) =>
    codec.decode(stored, { tenantId, runId, kind: "job" }),
  );
}

function callbackUrl(publicUrl: string, attemptId: string): string {
  return `${publicUrl.replace(/\/+$/, "")}/v1/attempts/${attemptId}/callback`;
}

/** Whether a failure is about the attempt's own material, and not about the ledger. */
export function isOfAttempt(error: unknown): error is ExecutorError | CodecError | DisagreementError {
  return error instanceof ExecutorError || error instanceof CodecError || error instanceof DisagreementError;
}
