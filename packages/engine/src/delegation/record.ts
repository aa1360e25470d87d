import {
  MAX_MISSES,
  judgeAnswer,
  type AttemptMove,
  type Codec,
  type JobAnswer,
  type Logger,
} from "@ghouls/core";
import type { Attempt, AttemptChange, Changed, Ledger } from "@ghouls/ledger";
import type { Publisher } from "../admission/publisher.ts";
import { verified } from "../execution/loaded-journal.ts";
import { askedOf, contradictionOf, outcomeOf, secondsToNextLook, type Outcome } from "./asked.ts";

export interface RecordDeps {
  readonly ledger: Pick<Ledger, "attempts">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly codec: Codec;
  readonly log: Logger;
  readonly settings: { readonly publisherGraceSeconds: number };
}

/** Who was asked, and when. */
interface Question {
  /** Whether it was put when nothing could be on its way any more. */
  readonly late: boolean;
  /** Where it was the submission itself: seconds for which what was sent can still act; null: as long as it was claimed for. */
  readonly sentFor?: number | null;
}

/**
 * Writes what a service answered, if the attempt is in the state and under the token that were read before the question;
 * an answer that comes too late for that is compared with what was decided, and moves nothing.
 */
export async function recordAnswer(
  attempt: Attempt,
  said: JobAnswer,
  question: Question,
  deps: RecordDeps,
): Promise<Changed | null> {
  const { answer, outcome } = await outcomeOf(attempt, heard(said, question), deps.codec);
  let closed: Attempt | undefined;
  const changed = await deps.ledger.attempts.change(
    attempt,
    (now) => {
      if (!mayMove(now, attempt, answer, question)) {
        closed = now;
        return undefined;
      }
      // Somebody else has looked meanwhile: one silence is not counted twice. Whoever sends was asked alone.
      if (
        question.sentFor === undefined &&
        (answer.state === "unknown" || answer.state === "unsent") &&
        now.looks !== attempt.looks
      )
        return undefined;
      return changeOf(now, judgeAnswer({ ...askedOf(now), late: question.late }, answer), answer, {
        outcome,
        by: "service",
        sentFor: question.sentFor,
      });
    },
    deps.settings,
  );
  // That it lives was true when it was asked; it has ended since.
  const stale = answer.state === "accepted" || answer.state === "running";
  if (closed !== undefined && !stale) await tellContradiction(closed, answer, outcome, deps);
  await follow(attempt, changed, deps);
  if (changed !== null && (answer.state === "unknown" || answer.state === "unsent")) {
    const { runId, attemptId, service } = attempt;
    deps.log.warn("a question about a job came to nothing; its attempt says why", {
      runId,
      attemptId,
      service,
    });
  }
  return changed;
}

/**
 * An answer counts under the token and in the state that were read before the question. How a job has ended, and the answer to
 * the submission itself, are facts under that token whatever else was heard meanwhile, such as a heartbeat.
 */
function mayMove(now: Attempt, read: Attempt, answer: JobAnswer, { sentFor }: Question): boolean {
  if (now.token !== read.token || now.closedAt !== null) return false;
  const ended = answer.state === "succeeded" || answer.state === "failed";
  const taken = sentFor !== undefined && ["accepted", "running", "unsent"].includes(answer.state);
  return now.status === read.status || ended || taken;
}

/** Only whoever has claimed the submission can say that nothing of it was sent. */
function heard(said: JobAnswer, { sentFor }: Question): JobAnswer {
  return said.state === "unsent" && sentFor === undefined ? { state: "unknown", why: said.why } : said;
}

/** What is written of a move. A resubmission is a claim of its own, made by whoever has judged. */
export function changeOf(
  attempt: Attempt,
  move: AttemptMove,
  answer: JobAnswer,
  about: {
    readonly outcome: Outcome | undefined;
    readonly by: string;
    readonly sentFor?: number | null | undefined;
    readonly usesCallback?: boolean;
  },
): AttemptChange {
  const { outcome, by, sentFor, usesCallback = false } = about;
  const status = move.kind === "move" ? move.to : attempt.status;
  const ends = status === "SUCCEEDED" || status === "FAILED";
  return {
    status,
    by,
    acknowledged: answer.state === "accepted" || answer.state === "running" || ends,
    missed: move.kind === "keep" && move.missed,
    nextLookSeconds: secondsToNextLook(attempt, status),
    usesCallback,
    ...(ends && outcome !== undefined ? { report: outcome.report } : {}),
    ...("why" in move ? { why: move.why } : {}),
    ...(answer.state === "unsent" ? unsentOf(attempt, answer.why) : {}),
    ...(sentFor === undefined ? {} : { sentFor }),
  };
}

/** What was not sent is sent again soon, and after several times a person is asked for: something is configured wrongly. */
function unsentOf({ misses }: Attempt, why: string) {
  return { unsent: true, ...(misses + 1 < MAX_MISSES ? {} : { attention: `it cannot be sent: ${why}` }) };
}

/** Publishes the delivery that a change has made. */
export async function follow(
  attempt: Attempt,
  changed: Changed | null,
  { publisher, log }: Pick<RecordDeps, "publisher" | "log">,
): Promise<void> {
  if (changed === null) return;
  const { runId, attemptId, service } = attempt;
  if (changed.status !== attempt.status) {
    const level = changed.status === "UNCERTAIN" ? "warn" : "info";
    log[level]("an attempt has moved", {
      runId,
      attemptId,
      service,
      before: attempt.status,
      after: changed.status,
    });
  }
  if (changed.ended !== null) log.info("a run has ended with its last job", { runId, status: changed.ended });
  if (changed.resumption !== null) await publisher.publish(changed.resumption);
}

/** Keeps what a service says against the end of an attempt. */
export async function tellContradiction(
  closed: Attempt,
  answer: JobAnswer,
  outcome: Outcome | undefined,
  { ledger, codec, log }: Pick<RecordDeps, "ledger" | "codec" | "log">,
): Promise<void> {
  if (closed.closedAt === null) return;
  // What retention has emptied cannot be compared: then only another end contradicts.
  const isEmptied = closed.reportText === null && closed.reportDigest !== null;
  const kept = isEmptied ? outcome?.canonical : await saidOf(closed, codec);
  const what = contradictionOf(closed, answer, outcome, kept);
  if (what === undefined) return;
  const { runId, attemptId, service, status } = closed;
  log.error("a service contradicts the end of its job", { runId, attemptId, service, status });
  await ledger.attempts.keepContradiction(closed, what);
}

/**
 * What an attempt ended with, decoded; undefined where it ended with nothing.
 * @throws DisagreementError where what is kept was altered, CodecError where the codec cannot read it just now
 */
export async function saidOf(attempt: Attempt, codec: Codec): Promise<string | undefined> {
  const { tenantId, runId, reportText, reportDigest } = attempt;
  if (reportText === null) return undefined;
  return verified(reportText, reportDigest, "a report", (stored) =>
    codec.decode(stored, { tenantId, runId, kind: "report" }),
  );
}
