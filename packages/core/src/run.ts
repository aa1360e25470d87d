import type { Failure } from "./errors.ts";
import type { DeliveryCause, DeliveryOutcome, DeliveryStatus, RunStatus } from "./transitions.ts";
import type { CallId } from "./call.ts";

/** The workflow that a run was admitted for, pinned for its life. */
export interface WorkflowPin {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
}

/** The canonical record of one admitted job. Bodies are decoded JSON texts; null where absent or emptied. */
export interface Run {
  readonly tenantId: string;
  readonly runId: string;
  /** The run that has started it, if one has. */
  readonly parentRunId: string | null;
  /** The ended run whose work it takes up again, if it does. */
  readonly redriveOf: string | null;
  /** The run that takes its own work up again, if one does. */
  readonly redrivenAs: string | null;
  readonly idempotencyKey: string | null;
  readonly workflow: WorkflowPin;
  readonly queue: string;
  readonly priority: number;
  readonly agent: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly requestedBy: string;
  readonly status: RunStatus;
  readonly enqueueSeq: number;
  readonly journalLength: number;
  readonly errorCode: string | null;
  readonly attention: Attention | null;
  readonly quarantine: Attention | null;
  /** Its own; a pause of its workflow, its tenant or of all stands elsewhere. */
  readonly pause: PauseWord | null;
  readonly deadlineAt: Date | null;
  readonly createdAt: Date;
  /** When its code starts: a delayed start, a release, or a start anew by `ctx.restart`; null: at once. */
  readonly startsAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** Who has paused something, why and when. */
export interface PauseWord {
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
}

/** A reason that asks for a person, and since when. */
export interface Attention {
  readonly reason: string;
  readonly at: Date;
}

export interface RunBodies {
  readonly input: string | null;
  readonly output: string | null;
  readonly error: RunFailure | null;
}

/** Why a run failed. `code` is stable; the message is for people. */
export interface RunFailure extends Failure {
  readonly code: RunFailureCode;
  readonly step?: string;
}

export const RUN_FAILURE_CODES = [
  /** The workflow's own code threw. */
  "workflow_failed",
  /** A step failed for good and the workflow did not catch it. */
  "step_failed",
  /** The worker has another digest of this workflow than the one that was admitted, or none. */
  "workflow_changed",
  /** The code asks for other calls than the journal holds. */
  "journal_mismatch",
  /** Two open calls of one name in one scope. */
  "duplicate_call",
  /** A call with options that cannot be honoured. */
  "invalid_call",
  /** The input no longer fits the schema of the workflow. */
  "input_invalid",
  /** What the workflow returned does not fit its schema. */
  "output_invalid",
  /** A result that JSON cannot hold. */
  "unserializable",
  /** A result above its cap, or a journal above its cap. */
  "too_large",
  /** The run's deadline has passed. */
  "deadline",
  /** A step cannot fit into an invocation of this function. */
  "out_of_time",
  /** Two yields in a row for lack of time brought no new journal entry. */
  "no_progress",
  /** Its worker was lost, and the workflow does not resume or has used up its losses. */
  "ghoul_lost",
  /** An effect that happens once may or may not have happened, and nothing can tell. */
  "effect_unknown",
  /** It was held, and nobody released it in time. */
  "hold_expired",
  /** The authority that it was admitted with lacks what its workflow requires, or has lost it since. */
  "authority_revoked",
  /** A capability that its workflow needs was refused. */
  "grant_refused",
] as const;
export type RunFailureCode = (typeof RUN_FAILURE_CODES)[number];

/** One permission to advance a run. */
export interface Delivery {
  readonly seq: number;
  readonly cause: DeliveryCause;
  readonly status: DeliveryStatus;
  readonly outcome: DeliveryOutcome | null;
  readonly dueAt: Date;
  readonly createdAt: Date;
  readonly publishedAt: Date | null;
  readonly publications: number;
  readonly claimedAt: Date | null;
  readonly claimedBy: string | null;
  readonly leaseUntil: Date | null;
  readonly workerEndedAt: Date | null;
  readonly workerEnd: string | null;
  readonly settledAt: Date | null;
  readonly holdExpiresAt: Date | null;
}

/** A durable result of a finished call. `result` and `failure` are JSON texts as stored, already decoded. */
export interface JournalEntry extends CallId {
  readonly ordinal: number;
  readonly outcome: "ok" | "error";
  /** JSON text, null for `undefined`. */
  readonly result: string | null;
  readonly tries: number;
  readonly seq: number;
  readonly startedAt: Date;
  readonly completedAt: Date;
}

/** A claim: a delivery taken by a worker, with the token that every write under it carries. */
export interface Claim {
  readonly tenantId: string;
  readonly runId: string;
  readonly seq: number;
  readonly token: string;
}
