import {
  MAX_MISSES,
  describeFailure,
  judgeAnswer,
  nextAct,
  type JobAnswer,
  type JobRef,
  errorInLog,
} from "@ghouls/core";
import type { Attempt, Ledger, RepairNote } from "@ghouls/ledger";
import { askedOf, secondsToNextLook } from "../../delegation/asked.ts";
import { follow, recordAnswer } from "../../delegation/record.ts";
import { ask, executorOf, isOfAttempt, submitJob, type SubmitDeps } from "../../delegation/submit.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface DelegatesOptions extends SubmitDeps {
  readonly ledger: Pick<Ledger, "attempts">;
  /** What remains of the invocation, in milliseconds. */
  readonly remainingMs: () => number;
}

/** The turn of one attempt. */
interface Turn extends DelegatesOptions {
  /** What it may still take, in milliseconds: one deadline over its questions and its submission. */
  readonly withinMs: () => number;
}

type Due = Attempt & Owner;

/** Whether a service has answered what it was asked. */
type Looked = "answered" | "silent";

/**
 * Delegate repair: submits what its worker did not, asks services about jobs, cancels what nobody wants any more, and leaves what
 * nobody knows to a person.
 */
export function delegatesPass(options: DelegatesOptions): Pass<Due> {
  const { ledger } = options;
  const pass: Pass<Due> = {
    name: "delegates",
    asks: true,
    find: async (look) => ownedBy(await ledger.attempts.due(look), ({ attemptId }) => attemptId),
    describe: (due) => ({
      rule: due.heartLapsed ? "its heartbeat has lapsed: lookUp" : `its job is due: ${nextAct(askedOf(due))}`,
      before: due.status,
    }),
    repair: async ([due], turn) =>
      due === undefined ? [] : [await lookAt(due, turn.withinMs, options, noteOf(pass, due))],
  };
  return pass;
}

async function lookAt(
  attempt: Attempt,
  withinMs: () => number,
  options: DelegatesOptions,
  repair: RepairNote,
): Promise<Outcome> {
  const { runId, attemptId, service } = attempt;
  const { ledger, moved } = noting(options.ledger, attempt, repair);
  const turn = { ...options, ledger, withinMs };
  try {
    const looked = await act(attempt, turn);
    await options.faults("delegates.after-look", attemptId);
    // A service that does not answer counts as a failure, whatever was written of that.
    if (looked === "silent") return { kind: "failed", reason: `${service} did not answer` };
    return moved() ? REPAIRED : LEFT;
  } catch (error) {
    const reason = errorInLog(error);
    options.log.warn("a job could not be looked after", { runId, attemptId, service, error: reason });
    if (!isOfAttempt(error)) return { kind: "failed", reason };
    // Its own row counts how often, and says when it is looked at again.
    const message = describeFailure(error).message.slice(0, 300);
    return { kind: "failed", reason, ownTime: await askForAPerson(attempt, message, turn) };
  }
}

/** The ledger's attempts with a row of repairs in each commit that moves this one, and whether any has. */
function noting(
  { attempts }: Pick<Ledger, "attempts">,
  attempt: Attempt,
  repair: RepairNote,
): { readonly ledger: Pick<Ledger, "attempts">; readonly moved: () => boolean } {
  let moved = false;
  const ledger: Pick<Ledger, "attempts"> = {
    attempts: {
      ...attempts,
      change: async (key, decide, settings, audit) => {
        const changed = await attempts.change(key, decide, { ...settings, repair }, audit);
        moved ||= changed !== null && changed.status !== attempt.status;
        return changed;
      },
      claimSubmission: async (key, settings) => {
        const claimed = await attempts.claimSubmission(key, { ...settings, repair });
        moved ||= claimed;
        return claimed;
      },
      askToCancel: (key, reason) => attempts.askToCancel(key, reason, repair),
    },
  };
  return { ledger, moved: () => moved };
}

async function act(found: Attempt, options: Turn): Promise<Looked> {
  const attempt = found.heartLapsed ? await withoutHeartbeat(found, options) : found;
  if (attempt === undefined) return "answered";
  switch (nextAct(askedOf(attempt))) {
    case "drop":
      await record(attempt, { state: "cancelled" }, options);
      return "answered";
    case "submit":
      await submit(attempt, options);
      return "answered";
    case "wait":
      await waitOn(attempt, options);
      return "answered";
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
  if (answer === undefined) return "answered";
  if (judgeAnswer(askedOf(attempt), answer).kind === "resubmit") {
    await submit(attempt, options);
    return "answered";
  }
  await record(attempt, answer, options);
  return answer.state === "unknown" ? "silent" : "answered";
}

/** What a pass sends must have been sent before its invocation ends. */
async function submit(attempt: Attempt, options: Turn): Promise<void> {
  await submitJob(attempt, options, options.remainingMs, options.withinMs);
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

/**
 * The executor that was meant is not there, or the request cannot be read: nothing is asked of anybody else. A build of before
 * or after may have it, so that one time says little; after several a person is asked for. What was sent is known to nobody
 * then, once nothing of it is on its way: an operator can settle it.
 */
async function askForAPerson(attempt: Attempt, why: string, options: DelegatesOptions): Promise<boolean> {
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
    return true;
  } catch (error) {
    // It is as due as before.
    log.warn("a person could not be asked for", {
      runId: attempt.runId,
      error: errorInLog(error),
    });
    return false;
  }
}

/** Seconds until somebody else may have what this build lacks. */
const PATIENT_SECONDS = 30;
