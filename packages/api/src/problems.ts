import { GhoulsError, type ErrorCode, type Issue, type wire } from "@ghouls/core";

/** Codes that only HTTP knows, beside those of `@ghouls/core`. */
export type ProblemCode = ErrorCode | "unsupported_media_type" | "method_not_allowed";

export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 422 | 429 | 500 | 503;

interface ProblemKind {
  readonly status: ProblemStatus;
  readonly title: string;
  /** Takes the place of the error's own text, so that no driver's words leave. */
  readonly detail?: string;
  readonly fix?: string;
  /** Seconds of the Retry-After header where the error names none. */
  readonly retryAfterSeconds?: number;
}

const INTERNAL: ProblemKind = {
  status: 500,
  title: "Internal error",
  detail: "The request could not be carried out.",
  fix: "Give the request id to the operator: the log has the rest.",
};

/** The one table from an error's code to an answer. What is 500 says nothing of its cause. */
const PROBLEMS: Readonly<Record<ProblemCode, ProblemKind>> = {
  invalid_request: { status: 422, title: "Invalid request" },
  malformed_json: { status: 400, title: "Malformed JSON" },
  unknown_workflow: { status: 404, title: "Unknown workflow" },
  unknown_queue: { status: 422, title: "Unknown queue" },
  input_invalid: { status: 422, title: "Invalid input" },
  too_large: { status: 413, title: "Too large" },
  idempotency_conflict: { status: 409, title: "Idempotency conflict" },
  admission_busy: {
    status: 503,
    title: "Admission busy",
    detail: "Another request with the same idempotency key is not committed yet.",
    fix: "Ask again with the same Idempotency-Key.",
    retryAfterSeconds: 1,
  },
  not_found: { status: 404, title: "Not found" },
  unauthenticated: { status: 401, title: "Unauthenticated" },
  forbidden: { status: 403, title: "Forbidden" },
  hold_ended: { status: 409, title: "Hold ended" },
  run_ended: { status: 409, title: "Run ended" },
  consent_closed: { status: 409, title: "Consent closed" },
  consent_changed: { status: 409, title: "Consent changed" },
  not_a_decider: { status: 403, title: "Not a decider" },
  too_many_signals: { status: 429, title: "Too many signals", retryAfterSeconds: 60 },
  attempt_settled: { status: 409, title: "Attempt settled" },
  attempt_under_way: { status: 409, title: "Attempt under way", retryAfterSeconds: 60 },
  not_redrivable: { status: 409, title: "Not redrivable" },
  redriven_before: { status: 409, title: "Redriven before" },
  child_open: { status: 409, title: "Child open" },
  wrong_transaction: INTERNAL,
  configuration_invalid: INTERNAL,
  schema_outdated: INTERNAL,
  integrity_fault: INTERNAL,
  ledger_unavailable: {
    status: 503,
    title: "Ledger unavailable",
    detail: "The ledger is out of reach; nothing was written.",
    fix: "Ask again later with the same Idempotency-Key.",
    retryAfterSeconds: 5,
  },
  outcome_unknown: {
    status: 503,
    title: "Outcome unknown",
    detail: "The answer of the commit was lost: the request may or may not have been carried out.",
    fix: "Ask again with the same Idempotency-Key: the answer will tell which.",
    retryAfterSeconds: 1,
  },
  queue_unavailable: {
    status: 503,
    title: "Queue unavailable",
    detail: "The queue is out of reach.",
    fix: "Ask again later with the same Idempotency-Key.",
    retryAfterSeconds: 5,
  },
  codec_unavailable: {
    status: 503,
    title: "Codec unavailable",
    detail: "What was sent could not be written in the form that is kept; nothing was written.",
    fix: "Send it again later.",
    retryAfterSeconds: 5,
  },
  identity_unavailable: {
    status: 503,
    title: "Identity provider unavailable",
    detail: "Nobody can say just now whether the token is one of the identity provider.",
    fix: "Ask again later, or use a key of `ghouls keys create`.",
    retryAfterSeconds: 5,
  },
  internal: INTERNAL,
  unsupported_media_type: { status: 415, title: "Unsupported media type" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
};

/** What to do where neither the code nor the refusal says more. */
const FIXES: Readonly<Record<ProblemStatus, string>> = {
  400: "Send one JSON document.",
  401: "Send `Authorization: Bearer <token>` with a token that is known here.",
  403: "Use a token that may do this; GET /v1/whoami tells what one may.",
  404: "Check the id: what belongs to another tenant is absent too.",
  405: "Use a method that the header Allow names.",
  409: "Read what stands there now, and ask again only where it is still wanted.",
  413: "Send less.",
  415: "Send `Content-Type: application/json`.",
  422: "Mend what `errors` names; /openapi.json has the form of every request.",
  429: "Ask again after Retry-After.",
  500: "Give the request id to the operator: the log has the rest.",
  503: "Ask again after Retry-After.",
};

/** A refusal that only HTTP knows. */
export class EdgeError extends Error {
  readonly code: ProblemCode;
  readonly fix: string;
  constructor(code: "unsupported_media_type" | "method_not_allowed", message: string, fix: string) {
    super(message);
    this.name = "EdgeError";
    this.code = code;
    this.fix = fix;
  }
}

/** The one answer for a run that is absent, another tenant's, or no run id at all: they cannot be told apart. */
export function runNotFound(): GhoulsError {
  return new GhoulsError("not_found", "There is no such run.", {
    fix: "Check the run id; GET /v1/runs lists the runs that this token may see.",
  });
}

/**
 * The problem document (RFC 9457) of whatever was thrown, and the headers that go with it.
 * Anything but a refusal of ours is `internal`, without any of its text.
 */
export function problemOf(
  thrown: unknown,
  requestId: string,
): {
  problem: wire.Problem & { status: ProblemStatus };
  headers: Record<string, string>;
} {
  const refusal = thrown instanceof GhoulsError || thrown instanceof EdgeError ? thrown : undefined;
  const kind = refusal === undefined ? INTERNAL : PROBLEMS[refusal.code];
  const code = kind === INTERNAL ? "internal" : (refusal?.code ?? "internal");
  const issues = refusal instanceof GhoulsError && kind !== INTERNAL ? refusal.issues : undefined;
  const fix = kind.fix ?? refusal?.fix ?? FIXES[kind.status];
  const retryAfter =
    kind.retryAfterSeconds === undefined
      ? undefined
      : ((refusal instanceof GhoulsError ? refusal.retryAfterSeconds : undefined) ?? kind.retryAfterSeconds);
  return {
    problem: {
      type: `urn:ghouls:problem:${code}`,
      title: kind.title,
      status: kind.status,
      detail: kind.detail ?? refusal?.message ?? kind.title,
      fix,
      requestId,
      ...(issues === undefined ? {} : { errors: issues.map(bounded) }),
    },
    headers: {
      "content-type": "application/problem+json",
      ...(kind.status === 401 ? { "www-authenticate": "Bearer" } : {}),
      ...(retryAfter === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfter))) }),
    },
  };
}

function bounded(issue: Issue): Issue {
  return {
    path: issue.path.slice(0, 500).toWellFormed(),
    message: issue.message.slice(0, 500).toWellFormed(),
  };
}

/** The name of what was thrown, if it is a plain identifier; names may be anything, and the log takes no text. */
export function nameOf(thrown: unknown): string {
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  return /^[A-Za-z_][A-Za-z0-9_]{0,80}$/.test(name) ? name : "Error";
}
