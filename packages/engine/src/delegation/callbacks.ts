import { GhoulsError, judgeAnswer, type AttemptStatus, type JobAnswer, type JobReport } from "@ghouls/core";
import type { Attempt, AttemptChange } from "@ghouls/ledger";
import { withCodec } from "../execution/encoded.ts";
import { askedOf, outcomeOf, secondsToNextLook, type Outcome } from "./asked.ts";
import { isCallbackToken, isTokenOf } from "./callback-token.ts";
import { changeOf, follow, tellContradiction, type RecordDeps } from "./record.ts";

/**
 * Takes what a service reports by callback, of an attempt as it was read before; null where there is none.
 * @throws GhoulsError unauthenticated, attempt_settled, invalid_request, codec_unavailable; but for a report that cannot be
 * kept, nothing was written then
 */
export async function takeReport(
  attempt: Attempt | null,
  token: string | undefined,
  report: JobReport,
  deps: RecordDeps,
): Promise<AttemptStatus> {
  if (!isCallbackToken(token)) throw notAuthentic();
  const isProven = isTokenOf(attempt, attempt?.callbackDigest, token);
  if (attempt === null || !isProven || attempt.callbackExpired) throw notAuthentic();
  return withCodec(() => record(attempt, token, report, deps));
}

async function record(
  attempt: Attempt,
  token: string,
  report: JobReport,
  deps: RecordDeps,
): Promise<AttemptStatus> {
  const { answer, outcome } = await outcomeOf(attempt, report, deps.codec);
  if (answer.state === "unknown") {
    await keepUnreadable(attempt, answer.why, deps);
    throw new GhoulsError("invalid_request", answer.why, {
      fix: "Report a result that JSON can give back unchanged.",
    });
  }
  let refused: GhoulsError | undefined;
  let closed: Attempt | undefined;
  const changed = await deps.ledger.attempts.change(
    attempt,
    (now) => {
      refused = closed = undefined;
      if (!isTokenOf(now, now.callbackDigest, token) || now.callbackExpired) refused = notAuthentic();
      else if (now.closedAt !== null) [refused, closed] = [settled(now.status), now];
      if (refused !== undefined) return undefined;
      return changeByReport(now, answer, outcome);
    },
    deps.settings,
  );
  if (closed !== undefined) await tellContradiction(closed, answer, outcome, deps);
  if (refused !== undefined) throw refused;
  if (changed === null) throw notAuthentic();
  await follow(attempt, changed, deps);
  return changed.status;
}

/** It has ended, and nobody can keep with what: a service that does not report again leaves that to a person. */
async function keepUnreadable(attempt: Attempt, why: string, deps: RecordDeps): Promise<void> {
  const changed = await deps.ledger.attempts.change(
    attempt,
    (now) =>
      now.token !== attempt.token || now.closedAt !== null || now.status === "UNCERTAIN"
        ? undefined
        : {
            status: "UNCERTAIN",
            why: `it reported what cannot be kept: ${why}`,
            by: "callback",
            acknowledged: true,
            missed: false,
            nextLookSeconds: secondsToNextLook(now, "UNCERTAIN"),
          },
    deps.settings,
  );
  await follow(attempt, changed, deps);
}

/** Whoever has the token has had the submission. */
function changeByReport(now: Attempt, answer: JobAnswer, outcome: Outcome | undefined) {
  const alive = answer.state === "accepted" || answer.state === "running";
  const asked = askedOf(now);
  if (alive && asked.demand === "no") return aliveStill(now);
  const move = judgeAnswer(asked, answer);
  const ends = move.kind === "move" && !alive;
  if (answer.state === "cancelled" && move.kind === "keep") return cancelledEarly(now, move.why);
  const change = changeOf(now, move, answer, { outcome, by: "callback", usesCallback: ends });
  return ends ? change : { ...change, nextLookSeconds: secondsToNextLook(now, change.status) };
}

/** Nobody says it twice: it is asked about soon, and where nobody can ask, a person is. */
function cancelledEarly(now: Attempt, why: string): AttemptChange {
  const status = now.traits.lookup === "none" ? "UNCERTAIN" : now.status;
  const nextLookSeconds = secondsToNextLook({ ...now, looks: 0 }, "UNCERTAIN");
  return { status, why, by: "callback", acknowledged: true, missed: false, nextLookSeconds };
}

/** What is to be cancelled is not left alone for a sign of life. */
function aliveStill({ status }: Attempt): AttemptChange {
  return {
    status,
    by: "callback",
    acknowledged: true,
    missed: false,
    onlyAlive: true,
    nextLookSeconds: 0,
  };
}

/** The one answer for a token that is none, another's or too old, and for an attempt that is not there. */
function notAuthentic(): GhoulsError {
  return new GhoulsError(
    "unauthenticated",
    "the callback carries no token of this attempt, or the token's time is over",
    {
      fix: "Send the token that came with the submission, in the header Ghouls-Callback-Token.",
    },
  );
}

function settled(status: AttemptStatus): GhoulsError {
  return new GhoulsError("attempt_settled", `the attempt is ${status} already`, {
    fix: "Nothing is to be done: a report is taken once.",
  });
}
