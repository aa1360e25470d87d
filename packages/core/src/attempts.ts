import type { JobAnswer, JobError, ServiceTraits } from "./services.ts";
import type { AttemptStatus } from "./transitions.ts";

/** Questions in a row without a usable answer after which nobody knows of a job any more. */
export const MAX_MISSES = 3;
/** Submissions of one attempt: a service that never finds what it takes is left to a person. */
export const MAX_SUBMISSIONS = 5;

/** Whether a job is wanted: now, which alone lets it be submitted; later perhaps, when its run parks on it again; or not any more. */
export type Demand = "now" | "later" | "no";

/** An attempt as its row stood before a question was put. */
export interface AskedAttempt {
  readonly status: AttemptStatus;
  readonly traits: ServiceTraits;
  /** Whether the question is put after `sends_until` and the adapter's delay: nothing is on its way any more. */
  readonly late: boolean;
  /** Whether its service remembers the key for certain, of a submission that was sent as early as it can have been. */
  readonly remembered: boolean;
  /** Whether the service has ever said that it has the job. */
  readonly acknowledged: boolean;
  readonly demand: Demand;
  readonly submissions: number;
  /** Questions in a row that came to nothing. */
  readonly misses: number;
  /** Whether nothing of its last submission was sent, by the word of whoever had claimed it. */
  readonly unsent: boolean;
}

/** What is to be done about an attempt that is due for a look. */
export type AttemptAct =
  /** It was never sent, and is not wanted any more: CANCELLED. */
  "drop" | "submit" | "lookUp" | "cancel" | "wait";

/**
 * Chooses the next act. Only what was never sent is submitted by this; a later submission needs a proof, see
 * {@link judgeAnswer}.
 */
export function nextAct({ status, traits, demand, unsent, acknowledged }: AskedAttempt): AttemptAct {
  if (status === "DEFINED" || (unsent && !acknowledged))
    return demand === "now" ? "submit" : demand === "later" ? "wait" : "drop";
  if (demand === "no" && traits.cancel !== "none") return "cancel";
  return traits.lookup === "none" ? "wait" : "lookUp";
}

/** What an answer comes to. */
export type AttemptMove =
  /** The state stays, and is asked about again later; `missed` where the answer was none. */
  | { readonly kind: "keep"; readonly missed: boolean; readonly why: string }
  | { readonly kind: "move"; readonly to: "SUBMITTED" | "RUNNING" | "CANCELLED" }
  | { readonly kind: "move"; readonly to: "SUCCEEDED"; readonly result: unknown }
  | { readonly kind: "move"; readonly to: "FAILED"; readonly error: JobError }
  /** Nobody knows whether it acts: it keeps its identity, and wants attention. */
  | { readonly kind: "move"; readonly to: "UNCERTAIN"; readonly why: string }
  /** It is proven that the service does not have it, and that nobody sends it: the same attempt under the same key. */
  | { readonly kind: "resubmit" };

/**
 * Judges what a service said of an attempt that has been sent, or may have been. Pure: whoever writes it guards the row by
 * the state and the token that were read before the question.
 */
export function judgeAnswer(attempt: AskedAttempt, answer: JobAnswer): AttemptMove {
  switch (answer.state) {
    case "succeeded":
      return { kind: "move", to: "SUCCEEDED", result: answer.result };
    case "failed":
      return { kind: "move", to: "FAILED", error: answer.error };
    case "accepted":
      return judgeLife(attempt, "SUBMITTED");
    case "running":
      return judgeLife(attempt, "RUNNING");
    case "cancelled":
      // A submission on its way would start a job that was cancelled before it was known.
      return attempt.late || attempt.traits.cancel === "final"
        ? { kind: "move", to: "CANCELLED" }
        : { kind: "keep", missed: false, why: "it is cancelled, but a submission may be on its way" };
    case "absent":
      return judgeAbsence(attempt);
    case "unsent":
      // Nobody need look for it: it is sent again, or dropped.
      return { kind: "keep", missed: true, why: answer.why };
    case "unknown":
      return missed(attempt, answer.why);
  }
}

/** The service has it. Where it is not wanted any more that is no acknowledgement of a cancel. */
function judgeLife(attempt: AskedAttempt, to: "SUBMITTED" | "RUNNING"): AttemptMove {
  const { status, demand } = attempt;
  const known = status === "RUNNING" || status === to;
  if (demand === "no" && (known || status === "UNCERTAIN"))
    return missed(attempt, "it is to be cancelled, and the service says that it has it still");
  return known ? { kind: "keep", missed: false, why: "the service has it" } : { kind: "move", to };
}

/**
 * "Not found" proves nothing, unless it was asked late enough, and soon enough for the service to remember, and the adapter's
 * lookup is authoritative.
 */
function judgeAbsence(attempt: AskedAttempt): AttemptMove {
  const { traits, late, remembered, acknowledged, demand, submissions } = attempt;
  // Before that a lookup need not see yet what was accepted.
  if (!late)
    return { kind: "keep", missed: false, why: "it was asked about while a submission may be on its way" };
  if (acknowledged) return uncertain(attempt, "the service had it, and does not find it any more");
  if (!remembered)
    return uncertain(
      attempt,
      "the service does not find it, and may have forgotten it by now: that proves nothing",
    );
  if (traits.lookup !== "authoritative")
    return uncertain(attempt, "the service does not find it, which proves nothing");
  if (demand === "no") return { kind: "move", to: "CANCELLED" };
  if (traits.submit !== "idempotent")
    return uncertain(attempt, "it was not accepted, and may not be submitted twice");
  if (submissions >= MAX_SUBMISSIONS)
    return uncertain(attempt, `it was submitted ${submissions} times, and is not found`);
  return demand === "now"
    ? { kind: "resubmit" }
    : { kind: "keep", missed: false, why: "its run is under way" };
}

/** No answer is no proof. One alone says little of the service; several in a row leave nobody who knows. */
function missed(attempt: AskedAttempt, why: string): AttemptMove {
  return attempt.misses + 1 < MAX_MISSES ? { kind: "keep", missed: true, why } : uncertain(attempt, why);
}

function uncertain({ status }: AskedAttempt, why: string): AttemptMove {
  return status === "UNCERTAIN"
    ? { kind: "keep", missed: true, why }
    : { kind: "move", to: "UNCERTAIN", why };
}

/** Seconds until the next look at an attempt that said nothing new: from `first`, doubling, to 16 times that or an hour. */
export function nextLookSeconds(first: number, looks: number): number {
  return Math.min(Math.max(first, 3_600), first * 2 ** Math.min(looks, 4));
}
