import { MAX_MISSES, describeFailure, judgeAnswer, nextAct, type JobAnswer, type JobRef } from "@ghouls/core";
import type { Attempt, Ledger, Position } from "@ghouls/ledger";
import { askedOf, secondsToNextLook } from "../../delegation/asked.ts";
import { follow, recordAnswer } from "../../delegation/record.ts";
import { ask, executorOf, isOfAttempt, submitJob, type SubmitDeps } from "../../delegation/submit.ts";
import type { Page } from "../pages.ts";

interface Turn extends DelegatesOptions {
  /** What this attempt may still take, in milliseconds: one deadline over its questions and its submission. */
  readonly withinMs: () => number;
}

export interface DelegatesOptions extends SubmitDeps {
  readonly ledger: Pick<Ledger, "attempts" | "runs">;
  /** Attempts of one page. */
  readonly pageSize: number;
  readonly remainingMs: () => number;
}

export interface DelegateCounts {
  readonly due: number;
  readonly submitted: number;
  readonly ended: number;
  readonly failed: number;
}

type Looked = "submitted" | "ended" | "open" | "failed";

/**
 * One page of delegate repair: submits what its worker did not, asks services about jobs, cancels what nobody wants any
 * more, and leaves what nobody knows to a person. Each attempt has one deadline over its questions; one whose service does
 * not answer takes no other's turn.
 */
export async function lookAfterJobs(
  options: DelegatesOptions,
  after?: Position,
): Promise<Page<DelegateCounts>> {
  const { ledger, faults, pageSize } = options;
  const { found: due, next } = await ledger.attempts.due(pageSize, after);
  if (due.length > 0) await faults("delegates.after-select", `${due.length} due`);
  const looked = await Promise.all(due.map((attempt) => lookAt(attempt, options)));
  const count = (what: Looked) => looked.filter((one) => one === what).length;
  const counts = { submitted: count("submitted"), ended: count("ended"), failed: count("failed") };
  return { counts: { due: due.length, ...counts }, next };
}

async function lookAt(attempt: Attempt, options: DelegatesOptions): Promise<Looked> {
  const { runId, attemptId, service } = attempt;
  const { clock, settings } = options;
  const until = clock.monotonicMs() + settings.ownerDeadlineMs;
  try {
    const looked = await act(attempt, { ...options, withinMs: () => until - clock.monotonicMs() });
    await options.faults("delegates.after-look", attemptId);
    return looked;
  } catch (error) {
    const message = describeFailure(error).message.slice(0, 300);
    options.log.warn("a job could not be looked after", { runId, attemptId, service, error: message });
    if (isOfAttempt(error)) await askForAPerson(attempt, message, options);
    return "failed";
  }
}

async function act(found: Attempt, options: Turn): Promise<Looked> {
  const attempt = found.heartLapsed ? await withoutHeartbeat(found, options) : found;
  if (attempt === undefined) return "open";
  switch (nextAct(askedOf(attempt))) {
    case "drop":
      return ended(await record(attempt, { state: "cancelled" }, options));
    case "submit":
      return (await submit(attempt, options)) ? "submitted" : "open";
    case "wait":
      return ended(await waitOn(attempt, options));
    case "lookUp":
      return settle(attempt, await question("lookUp", attempt, options), options);
    case "cancel":
      return settle(attempt, await cancel(attempt, options), options);
  }
}

/** Nobody has heard of it for longer than it may be silent: it is UNCERTAIN, and is asked about as that. */
async function withoutHeartbeat(attempt: Attempt, options: DelegatesOptions): Promise<Attempt | undefined> {
  const why = `it has said nothing for more than ${attempt.heartbeatSeconds} s`;
  const changed = await options.ledger.attempts.change(
    attempt,
    (now) =>
      now.status === attempt.status && now.token === attempt.token && now.heartLapsed
        ? {
            status: "UNCERTAIN",
            why,
            by: "time",
            acknowledged: false,
            missed: false,
            nextLookSeconds: secondsToNextLook(now, "UNCERTAIN"),
          }
        : undefined,
    options.settings,
  );
  await follow(attempt, changed, options);
  return changed === null
    ? undefined
    : { ...attempt, status: "UNCERTAIN", uncertainReason: why, looks: 0, misses: 0, heartLapsed: false };
}

/** What nobody can ask about. While it lives that is as it should be: the service calls back. */
async function waitOn(attempt: Attempt, options: DelegatesOptions) {
  const { status, demand } = askedOf(attempt);
  const lives = status === "SUBMITTED" || status === "RUNNING";
  if (status === "DEFINED" || attempt.unsent || (lives && demand !== "no")) {
    return options.ledger.attempts.change(
      attempt,
      (now) =>
        now.status === status && now.token === attempt.token
          ? {
              status,
              by: "time",
              acknowledged: false,
              missed: false,
              nextLookSeconds: secondsToNextLook(now, status),
            }
          : undefined,
      options.settings,
    );
  }
  return record(
    attempt,
    { state: "unknown", why: "its service can be asked neither about a job nor to cancel one" },
    options,
  );
}

/** Cancels a job, having said so before. What is not final is looked up as well: it may have ended before the cancel. */
async function cancel(attempt: Attempt, options: Turn): Promise<JobAnswer | undefined> {
  const reason = attempt.overdue && attempt.armOpen ? "deadline" : "ended";
  if (!(await options.ledger.attempts.askToCancel(attempt, reason))) return undefined;
  const answer = await question("cancel", attempt, options);
  const says = ["cancelled", "succeeded", "failed"].includes(answer.state);
  if (says || attempt.traits.lookup === "none") return answer;
  const found = await question("lookUp", attempt, options);
  return found.state === "unknown" ? answer : found;
}

async function settle(attempt: Attempt, answer: JobAnswer | undefined, options: Turn): Promise<Looked> {
  if (answer === undefined) return "open";
  if (judgeAnswer(askedOf(attempt), answer).kind === "resubmit")
    return (await submit(attempt, options)) ? "submitted" : "open";
  const looked = ended(await record(attempt, answer, options));
  // A service that does not answer counts as a failure: its page takes half of the pass's time, and no more.
  return answer.state === "unknown" ? "failed" : looked;
}

/** What a pass sends must have been sent before its invocation ends. */
async function submit(attempt: Attempt, options: Turn): Promise<boolean> {
  return (await submitJob(attempt, options, options.remainingMs, options.withinMs)) !== null;
}

function record(attempt: Attempt, answer: JobAnswer, options: DelegatesOptions) {
  return recordAnswer(
    attempt,
    answer,
    { late: attempt.late || attempt.status === "DEFINED" || attempt.unsent },
    options,
  );
}

async function question(kind: "lookUp" | "cancel", attempt: Attempt, options: Turn): Promise<JobAnswer> {
  const { tenantId, runId, attemptId, idempotencyKey } = attempt;
  const job: JobRef = { tenantId, runId, attemptId, idempotencyKey };
  const executor = executorOf(attempt, options.delegation);
  const { answer } = await ask(executor, attempt.service, { kind, job }, options.withinMs(), options);
  return answer;
}

function ended(changed: { readonly status: string } | null): Looked {
  return changed !== null && ["SUCCEEDED", "FAILED", "CANCELLED"].includes(changed.status) ? "ended" : "open";
}

/**
 * The executor that was meant is not there, or the request cannot be read: nothing is asked of anybody else. A build of before
 * or after may have it, so that one time says little; after several a person is asked for. What was sent is known to nobody
 * then, once nothing of it is on its way: an operator can settle it.
 */
async function askForAPerson(attempt: Attempt, why: string, options: DelegatesOptions): Promise<void> {
  const { ledger, settings, log } = options;
  const { status, token } = attempt;
  const patient = attempt.misses + 1 < MAX_MISSES;
  const sent = status !== "DEFINED" && (status !== "SUBMITTING" || attempt.late);
  const to = sent && !patient ? "UNCERTAIN" : status;
  try {
    const changed = await ledger.attempts.change(
      attempt,
      (now) =>
        now.status === status && now.token === token
          ? {
              status: to,
              why,
              by: "time",
              acknowledged: false,
              missed: true,
              nextLookSeconds: patient ? PATIENT_SECONDS : secondsToNextLook(now, to),
              ...(patient ? {} : { attention: why }),
            }
          : undefined,
      settings,
    );
    await follow(attempt, changed, options);
  } catch (error) {
    // It is as due as before.
    log.warn("a person could not be asked for", {
      runId: attempt.runId,
      error: describeFailure(error).message,
    });
  }
}

/** Seconds until somebody else may have what this build lacks. */
const PATIENT_SECONDS = 30;
