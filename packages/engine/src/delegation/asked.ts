import {
  GhoulsError,
  UnserializableError,
  canonicalText,
  describeFailure,
  nextLookSeconds,
  parseJson,
  serialize,
  sha256,
  type AnyService,
  type AskedAttempt,
  type AttemptStatus,
  type Codec,
  type Demand,
  type JobAnswer,
  type JobError,
} from "@ghouls/core";
import type { Attempt, KeptReport } from "@ghouls/ledger";
import { encoded } from "../execution/encoded.ts";
import { repeatsToken } from "./callback-token.ts";

/** Seconds to the first look at what is on its way, and at what nobody knows of; further ones come at growing distances. */
const ON_ITS_WAY_SECONDS = 10;
const UNKNOWN_SECONDS = 30;
/** Of a job that calls back and is not polled: whoever is silent is asked once a day. */
const UNPOLLED_SECONDS = 86_400;

/** Whether an attempt is wanted still. */
function demandOf({ cancelAsked, overdue, armOpen, parked }: Attempt): Demand {
  if (cancelAsked || overdue || !armOpen) return "no";
  return parked ? "now" : "later";
}

/** What is judged of an attempt as it was read. */
export function askedOf(attempt: Attempt): AskedAttempt {
  const { status, traits, late, remembered, acknowledgedAt, submissions, misses, unsent } = attempt;
  return {
    status,
    traits,
    late,
    remembered,
    acknowledged: acknowledgedAt !== null,
    demand: demandOf(attempt),
    submissions,
    misses,
    unsent,
  };
}

/** Digest of what identifies a service, as each of its attempts keeps it. */
export function digestOfService({ adapter, version, identity }: AnyService): string {
  return sha256(canonicalText({ adapter, version, identity }));
}

/** Seconds until an attempt is looked at again that is in this state then. */
export function secondsToNextLook(attempt: Attempt, status: AttemptStatus): number {
  // It waits for its run to park again, and has nobody's patience to spare.
  if (status === "DEFINED" || attempt.unsent) return UNKNOWN_SECONDS;
  const looks = attempt.status === status ? attempt.looks + 1 : 0;
  const living = status === "SUBMITTED" || status === "RUNNING";
  if (living && demandOf(attempt) !== "no")
    return nextLookSeconds(attempt.pollSeconds ?? UNPOLLED_SECONDS, looks);
  return nextLookSeconds(status === "SUBMITTING" ? ON_ITS_WAY_SECONDS : UNKNOWN_SECONDS, looks);
}

const REPEATS = "what it gave repeats the callback's token, a secret";

/** What a job has ended with, ready to be kept. */
export interface Outcome {
  readonly report: KeptReport;
  /** What was said, before the codec. */
  readonly canonical: string;
}

/**
 * Passes what a job has ended with through the codec; undefined for an answer that is no end. A result that JSON cannot give
 * back unchanged is no answer: what the ledger kept would not be what the service gave.
 * @throws CodecError where the codec cannot write it just now
 */
export async function outcomeOf(
  attempt: Pick<Attempt, "tenantId" | "runId" | "attemptId" | "callbackDigest">,
  answer: JobAnswer,
  codec: Codec,
): Promise<{ readonly answer: JobAnswer; readonly outcome?: Outcome }> {
  if (answer.state === "unknown" || answer.state === "unsent") {
    const why = repeatsToken(attempt, answer.why) ? REPEATS : answer.why;
    return { answer: { state: answer.state, why } };
  }
  if (answer.state !== "succeeded" && answer.state !== "failed") return { answer };
  let canonical: string;
  try {
    const said = answer.state === "succeeded" ? (answer.result ?? null) : bounded(answer.error);
    canonical = parseJson(serialize(said) ?? "null").canonical;
  } catch (error) {
    if (!(error instanceof UnserializableError) && !(error instanceof GhoulsError)) throw error;
    return {
      answer: { state: "unknown", why: `what it gave cannot be kept: ${describeFailure(error).message}` },
    };
  }
  if (repeatsToken(attempt, canonical)) return { answer: { state: "unknown", why: REPEATS } };
  const { tenantId, runId } = attempt;
  const reportText = await encoded("the report of a job", () =>
    codec.encode(canonical, { tenantId, runId, kind: "report" }),
  );
  return { answer, outcome: { report: { reportText, reportDigest: sha256(reportText) }, canonical } };
}

/** Longest code and message of a failed job that are kept, in UTF-16 units: a failure is told, however long its words are. */
const MAX_CODE = 200;
const MAX_MESSAGE = 2_000;

function bounded({ code, message }: JobError): JobError {
  const cut = (text: string, most: number) => text.slice(0, most).replaceAll("\0", "\ufffd").toWellFormed();
  return { code: cut(code, MAX_CODE) || "unknown", message: cut(message, MAX_MESSAGE) };
}

/**
 * What a report says against the end of an attempt; undefined where it says nothing against it.
 * @param kept what that ended with, decoded; undefined where there is nothing to compare with
 */
export function contradictionOf(
  { status }: Pick<Attempt, "status">,
  answer: JobAnswer,
  outcome: Outcome | undefined,
  kept: string | undefined,
): string | undefined {
  const said = (what: string) => `it is ${status}, and then the service said that ${what}`;
  switch (answer.state) {
    case "succeeded":
    case "failed": {
      const agrees = status === (answer.state === "succeeded" ? "SUCCEEDED" : "FAILED");
      if (agrees && outcome !== undefined && (kept === undefined || kept === outcome.canonical))
        return undefined;
      return said(answer.state === "failed" ? "it failed" : "it succeeded, with another result");
    }
    case "cancelled":
      return status === "CANCELLED" ? undefined : said("it was cancelled");
    case "accepted":
    case "running":
      return status === "CANCELLED" ? said("it runs") : undefined;
    case "absent":
    case "unsent":
    case "unknown":
      return undefined;
  }
}
