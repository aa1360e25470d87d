/**
 * Every refusal that a person may meet has a stable code, a sentence that says what happened and a `fix` that says what
 * to do. HTTP statuses are added at the edge, in the API.
 */
export const ERROR_CODES = [
  // requests
  "invalid_request",
  "malformed_json",
  "unknown_workflow",
  "unknown_queue",
  "input_invalid",
  "too_large",
  "idempotency_conflict",
  "admission_busy",
  "not_found",
  "unauthenticated",
  "forbidden",
  "hold_ended",
  "run_ended",
  "consent_closed",
  "consent_changed",
  "not_a_decider",
  "too_many_signals",
  "attempt_settled",
  "attempt_under_way",
  "child_open",
  "not_redrivable",
  "redriven_before",
  "wrong_transaction",
  // configuration
  "configuration_invalid",
  "schema_outdated",
  "integrity_fault",
  // ledger and queue out of reach
  "ledger_unavailable",
  "outcome_unknown",
  "queue_unavailable",
  "codec_unavailable",
  "identity_unavailable",
  "internal",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface GhoulsErrorOptions {
  /** What the reader can do about it. */
  readonly fix?: string;
  /** Where in the input it is, as JSON paths. */
  readonly issues?: readonly Issue[];
  /** Seconds after which the same call may be made again. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** The one error class of refusals. Compare `code`, never the message. */
export class GhoulsError extends Error {
  readonly code: ErrorCode;
  readonly fix: string | undefined;
  readonly issues: readonly Issue[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: GhoulsErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "GhoulsError";
    this.code = code;
    this.fix = options.fix;
    this.issues = options.issues;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** What a log may hold of it: its message may quote what somebody has sent. */
  get inLog(): string {
    return `${this.name} ${this.code}`;
  }
}

/** Thrown by a step to say that no further try can succeed. The run sees it after one try. */
export class NonRetryableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "NonRetryableError";
  }
}

/** Thrown by an effect that happens once, to say that it has certainly not happened. */
export class NotDoneError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "NotDoneError";
  }
}

/** Marks an error as proof that the effect has not happened: `throw notDone(error)`. Such a call may be tried again. */
export function notDone(error: unknown): NotDoneError {
  return new NotDoneError(error);
}

/**
 * What a workflow's code catches when a step, or a transaction, has failed for good. The same after a replay: it is built from the
 * journaled failure alone.
 */
export class StepFailedError extends Error {
  readonly step: string;
  readonly tries: number;
  readonly failure: Failure;

  /** @param kind of the call, as people read it */
  constructor(step: string, tries: number, failure: Failure, kind = "step") {
    super(`${kind} "${step}" failed after ${tries === 1 ? "1 try" : `${tries} tries`}: ${failure.message}`);
    this.name = "StepFailedError";
    this.step = step;
    this.tries = tries;
    this.failure = failure;
  }
}

/** A readable, bounded description of anything that was thrown. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** Longest message kept of a thrown error, in UTF-16 units. */
export const MAX_FAILURE_MESSAGE = 2_000;
/** Longest stack kept of a thrown error, in UTF-16 units. */
export const MAX_FAILURE_STACK = 6_000;

/** Describes whatever was thrown (an Error, a string, `undefined`, a hostile object) without ever throwing itself. */
export function describeFailure(thrown: unknown): Failure {
  try {
    if (thrown instanceof Error) {
      const stack = typeof thrown.stack === "string" ? bounded(thrown.stack, MAX_FAILURE_STACK) : undefined;
      return {
        name: bounded(String(thrown.name), 200),
        message: bounded(String(thrown.message), MAX_FAILURE_MESSAGE),
        ...(stack === undefined ? {} : { stack }),
      };
    }
    if (typeof thrown === "string") {
      return { name: "Error", message: bounded(`a string was thrown: ${thrown}`, MAX_FAILURE_MESSAGE) };
    }
    if (thrown === undefined || thrown === null) {
      return { name: "Error", message: `${String(thrown)} was thrown, not an Error` };
    }
    const text = JSON.stringify(thrown, (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    return {
      name: "Error",
      message: bounded(`a value that is no Error was thrown: ${text ?? typeof thrown}`, MAX_FAILURE_MESSAGE),
    };
  } catch {
    return { name: "Error", message: `a value of type ${typeof thrown} that cannot be described was thrown` };
  }
}

function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text.toWellFormed();
  return `${text.slice(0, limit).toWellFormed()}… (${text.length - limit} more characters)`;
}
