import type * as z from "zod";
import type { Duration } from "./duration.ts";
import type { JobError } from "./services.ts";
import type { RunFailure } from "./run.ts";
import type { AttemptStatus, ConsentStatus, RunStatus } from "./transitions.ts";

/** What expiry means for a consent that nobody has decided. */
export const ON_EXPIRY = ["expire", "grant", "deny"] as const;
export type OnExpiry = (typeof ON_EXPIRY)[number];

export interface ConsentOptions {
  /** Who may decide: "role:legal" or "user:ada", at least one. */
  readonly deciders: readonly string[];
  /** So many distinct deciders must grant; 1 by default. The first denial denies. */
  readonly quorum?: number;
  /** Counted from the park; without it the consent waits for as long as the run may. */
  readonly expires?: Duration;
  /** The outcome where nobody decided in time; "expire" by default, which is EXPIRED. */
  readonly onExpiry?: OnExpiry;
  /** What deciders are shown: any JSON, part of the frozen request. */
  readonly detail?: unknown;
  /** Whether the one who asked for the run may decide; false by default. */
  readonly requesterMayDecide?: boolean;
  /** Name of a decision source of the configuration, which is asked besides the deciders. */
  readonly source?: string;
}

/** One person's word about a consent. */
export interface Decision {
  readonly by: string;
  readonly verdict: Verdict;
  /** ISO 8601, the ledger's time. */
  readonly at: string;
  readonly comment: string | null;
}

export const VERDICTS = ["grant", "deny"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface ConsentResult {
  readonly outcome: "GRANTED" | "DENIED" | "EXPIRED";
  readonly consentId: string;
  /** Who or what closed it: a subject, or "expiry". */
  readonly by: string;
  readonly decisions: readonly Decision[];
}

export interface SignalOptions<T = unknown> {
  /** What a payload must be; one that does not fit is INVALID, and consumed. */
  readonly schema?: z.ZodType<T>;
  /** Counted from `ctx.now()`. */
  readonly timeout?: Duration;
}

export type SignalResult<T = unknown> =
  | { readonly outcome: "RECEIVED"; readonly payload: T; readonly from: string; readonly at: string }
  | {
      readonly outcome: "INVALID";
      readonly payload: unknown;
      readonly problem: string;
      readonly from: string;
      readonly at: string;
    }
  | { readonly outcome: "TIMED_OUT" };

export interface DelegateOptions {
  /** Counted from the park: then the job is cancelled. Without it the job may take as long as the run may. */
  readonly deadline?: Duration;
  /** How long the job may say nothing before nobody knows of it; the service's own where absent. */
  readonly heartbeat?: Duration;
}

/** How a delegated job ended. What cannot be proven is no outcome: the run stays parked, with attention. */
export type DelegateResult<T = unknown> =
  | { readonly outcome: "SUCCEEDED"; readonly attemptId: string; readonly result: T }
  /** It succeeded, with a result that the service's schema does not know. */
  | {
      readonly outcome: "INVALID";
      readonly attemptId: string;
      readonly result: unknown;
      readonly problem: string;
    }
  | { readonly outcome: "FAILED"; readonly attemptId: string; readonly error: JobError }
  /** "DEADLINE": its time was over, and it is proven that nothing of it acts. "CANCELLED": the same by the service's word, or by an operator's. */
  | { readonly outcome: "CANCELLED" | "DEADLINE"; readonly attemptId: string };

/** What becomes of a child that has not ended when its parent does. */
export const PARENT_CLOSE = ["cancel", "wait", "abandon"] as const;
export type ParentClose = (typeof PARENT_CLOSE)[number];

export interface ChildOptions {
  /** Names the call, and so tells children of one workflow that run at the same time apart; the workflow's name by default. */
  readonly name?: string;
  /**
   * "cancel", the default: a child that has not ended is cancelled with its parent, which ends when it has. "wait": the parent
   * ends when the child has ended by itself. "abandon": the child goes on alone.
   */
  readonly parentClose?: ParentClose;
  /** One of the configuration's queues; the workflow's own by default. */
  readonly queue?: string;
  /** From 0 to 9; the parent's by default. */
  readonly priority?: number;
}

/** How a child ended. */
export type ChildResult<T = unknown> =
  | { readonly outcome: "DONE"; readonly runId: string; readonly result: T }
  | { readonly outcome: "FAILED"; readonly runId: string; readonly error: RunFailure }
  | { readonly outcome: "CANCELLED"; readonly runId: string };

/** Why a run is parked: by the first open arm in this order (design.md §3, Park). */
export const ARM_OWNERS = ["consent", "delegate", "child", "signal", "timer"] as const;
export type ArmOwner = (typeof ARM_OWNERS)[number];

const PARKED_AS = {
  consent: "AWAITING_CONSENT",
  delegate: "AWAITING_DELEGATE",
  child: "AWAITING_CHILD",
  signal: "AWAITING_SIGNAL",
  timer: "AWAITING_TIMER",
} as const satisfies Record<ArmOwner, string>;

/** The status of a run that is parked on these. */
export function parkedAs(owners: readonly ArmOwner[]): (typeof PARKED_AS)[ArmOwner] {
  const first = ARM_OWNERS.find((owner) => owners.includes(owner));
  if (first === undefined) throw new TypeError("a run is parked on at least one arm");
  return PARKED_AS[first];
}

/** A consent as a decision finds it, locked. */
export interface DecidableConsent {
  readonly status: ConsentStatus;
  readonly closedBy: string | null;
  readonly deciders: readonly string[];
  readonly quorum: number;
  readonly requesterMayDecide: boolean;
  readonly requestedBy: string;
  readonly requestDigest: string;
  /** Its time is over, by the ledger's clock. */
  readonly expired: boolean;
  readonly decisions: readonly { readonly by: string; readonly verdict: Verdict }[];
}

/** Who decides, and what. */
export interface DecisionWord {
  readonly subject: string;
  readonly roles: readonly string[];
  readonly verdict: Verdict;
  /** Digest of the request that the decider was shown. */
  readonly digest: string;
}

export type DecisionJudgement =
  | { readonly kind: "not_a_decider" | "requester" | "changed" | "expired" }
  /** Somebody, or something, was faster. */
  | { readonly kind: "closed"; readonly status: ConsentStatus; readonly by: string }
  /** The same word of the same person again: nothing more is written. */
  | { readonly kind: "repeated"; readonly status: ConsentStatus }
  /** This person has said something else before. */
  | { readonly kind: "contradicts"; readonly verdict: Verdict }
  | { readonly kind: "counts"; readonly becomes: "PENDING" | "GRANTED" | "DENIED" };

/** Judges one word about a consent. The word of a source counts for itself: it was asked. */
export function judgeDecision(
  consent: DecidableConsent,
  word: DecisionWord,
  asSource = false,
): DecisionJudgement {
  if (!asSource) {
    if (!isDecider(consent.deciders, word)) return { kind: "not_a_decider" };
    if (word.subject === consent.requestedBy && !consent.requesterMayDecide) return { kind: "requester" };
  }
  if (word.digest !== consent.requestDigest) return { kind: "changed" };
  const before = consent.decisions.find(({ by }) => by === word.subject);
  // What is over says so, also to a word that it has kept: else it would answer that it is still pending.
  if (consent.status === "PENDING" && consent.expired) return { kind: "expired" };
  if (before?.verdict === word.verdict) return { kind: "repeated", status: consent.status };
  if (consent.status !== "PENDING")
    return { kind: "closed", status: consent.status, by: consent.closedBy ?? "unknown" };
  if (before !== undefined) return { kind: "contradicts", verdict: before.verdict };
  if (word.verdict === "deny") return { kind: "counts", becomes: "DENIED" };
  const grants = consent.decisions.filter(({ verdict }) => verdict === "grant").length + 1;
  return { kind: "counts", becomes: asSource || grants >= consent.quorum ? "GRANTED" : "PENDING" };
}

/** Whether an entry of a consent's deciders is a role; any other is a subject. */
export function namesRole(decider: string): boolean {
  return decider.startsWith("role:");
}

/** Whether a decider is this subject: "user:ada" is who has the subject "user:ada", or "ada". A subject is never a role. */
export function namesSubject(decider: string, subject: string): boolean {
  return !namesRole(decider) && (decider === subject || decider === `user:${subject}`);
}

/** All that a consent's deciders may say to mean this principal. */
export function decidersNaming({ subject, roles }: Pick<DecisionWord, "subject" | "roles">): string[] {
  const byName = [subject, `user:${subject}`].filter((decider) => namesSubject(decider, subject));
  return [...new Set([...byName, ...roles.map((role) => `role:${role}`)])];
}

/** Whether a principal is one of those who may decide: by name, or by a role. A subject that is named like a role is no role. */
function isDecider(deciders: readonly string[], who: Pick<DecisionWord, "subject" | "roles">): boolean {
  return decidersNaming(who).some((name) => deciders.includes(name));
}

/** The state of a consent whose time is over. */
export function afterExpiry(onExpiry: OnExpiry): "EXPIRED" | "GRANTED" | "DENIED" {
  return onExpiry === "grant" ? "GRANTED" : onExpiry === "deny" ? "DENIED" : "EXPIRED";
}

/** What has happened to an open arm's owner, as its run's transaction finds it. */
export interface ArmFact {
  readonly armId: string;
  readonly owner: ArmOwner;
  /** Whether its time is over. */
  readonly due: boolean;
  /** Of its consent; PENDING where nothing has closed it. */
  readonly consent?: {
    readonly consentId: string;
    readonly status: ConsentStatus;
    readonly closedBy: string | null;
    readonly decisions: readonly Decision[];
  };
  /** Of its attempt. Result and error as they are stored. */
  readonly attempt?: {
    readonly attemptId: string;
    readonly status: AttemptStatus;
    /** Whether its deadline was what cancelled it. */
    readonly overdue: boolean;
    readonly report: string | null;
    /** Of that text. */
    readonly digest: string | null;
  };
  /** Of its child. Output or error as they are stored. */
  readonly child?: {
    readonly runId: string;
    readonly status: RunStatus;
    readonly text: string | null;
    /** Of that text. */
    readonly digest: string | null;
  };
  /** Signals of its name that nobody has consumed, the oldest first. Payloads as they are stored. */
  readonly signals?: readonly {
    readonly signalId: string;
    readonly from: string;
    readonly at: string;
    readonly payload: string | null;
  }[];
  /** Whether the arm is a step's, which waits for its next try: then nothing is journaled. */
  readonly retry: boolean;
}

/** How an open arm closes: with this JSON in the journal, or none. */
export interface ArmClosing {
  readonly armId: string;
  readonly resultText: string | null;
  readonly signalId?: string;
}

/**
 * Which arms close by what has happened, with what the journal keeps of it. Pure: it runs inside of a transaction.
 * Comments and payloads in it stay as they are stored; whoever reads the journal decodes them.
 */
export function closingsOf(facts: readonly ArmFact[]): ArmClosing[] {
  const taken = new Set<string>();
  return facts.flatMap((fact): ArmClosing[] => {
    const { armId, consent } = fact;
    if (consent !== undefined) {
      if (consent.status === "PENDING" || consent.status === "CANCELLED") return [];
      const { consentId, status, closedBy, decisions } = consent;
      return [
        {
          armId,
          resultText: JSON.stringify({ outcome: status, consentId, by: closedBy ?? "unknown", decisions }),
        },
      ];
    }
    if (fact.attempt !== undefined) return attemptClosing(armId, fact.attempt);
    if (fact.child !== undefined) return childClosing(armId, fact.child);
    const signal = fact.signals?.find(({ signalId }) => !taken.has(signalId));
    if (signal !== undefined) {
      taken.add(signal.signalId);
      const { signalId, from, at, payload } = signal;
      return [{ armId, signalId, resultText: JSON.stringify({ outcome: "RECEIVED", payload, from, at }) }];
    }
    if (!fact.due) return [];
    if (fact.retry) return [{ armId, resultText: null }];
    const outcome = fact.owner === "signal" ? "TIMED_OUT" : "ELAPSED";
    return [{ armId, resultText: JSON.stringify({ outcome }) }];
  });
}

/** An attempt closes its arm once it is final. */
function attemptClosing(armId: string, attempt: NonNullable<ArmFact["attempt"]>): ArmClosing[] {
  const { attemptId, status, overdue, report, digest } = attempt;
  const close = (rest: object): ArmClosing[] => [
    { armId, resultText: JSON.stringify({ attemptId, ...rest }) },
  ];
  if (status === "SUCCEEDED" || status === "FAILED") return close({ outcome: status, report, digest });
  if (status === "CANCELLED") return close({ outcome: overdue ? "DEADLINE" : "CANCELLED" });
  return [];
}

/** A child closes its arm once it has ended. */
function childClosing(armId: string, child: NonNullable<ArmFact["child"]>): ArmClosing[] {
  const { runId, status, text, digest } = child;
  const close = (rest: object): ArmClosing[] => [{ armId, resultText: JSON.stringify({ runId, ...rest }) }];
  if (status === "DONE" || status === "FAILED") return close({ outcome: status, text, digest });
  if (status === "CANCELLED") return close({ outcome: status });
  return [];
}

export interface ReserveOptions {
  /** 1 by default, at most what the capacity has. */
  readonly units?: number;
  /** How long they are waited for, from the first ask, over every hop and loss; "10m" by default. */
  readonly wait?: Duration;
  /** Name of the call; the capacity's by default. Two that are open at the same time need names of their own. */
  readonly name?: string;
}

export type ReserveResult<T = unknown> =
  | { readonly outcome: "RESERVED"; readonly value: T }
  /** They were not to be had in time; the function was not called. */
  | { readonly outcome: "UNAVAILABLE" };
