import { GhoulsError, type ErrorCode } from "@ghouls/core";

/** What a failed statement means for its caller. */
export type LedgerFaultKind =
  /** Nothing was written; the whole statement or transaction may be repeated. */
  | "retry"
  /** A lock was not to be had in time; nothing was written. */
  | "busy"
  /** The ledger is out of reach, restarting, full or read-only; nothing was written. */
  | "unavailable"
  /** The connection was lost after the statement had been sent: it may or may not have been committed. */
  | "unknown"
  /** The schema is older than this code, or absent. */
  | "schema"
  /** A defect of ours, or a broken constraint. */
  | "defect";

const CODE_OF: Readonly<Record<LedgerFaultKind, ErrorCode>> = {
  retry: "ledger_unavailable",
  busy: "admission_busy",
  unavailable: "ledger_unavailable",
  unknown: "outcome_unknown",
  schema: "schema_outdated",
  defect: "internal",
};

const FIX_OF: Readonly<Partial<Record<LedgerFaultKind, string>>> = {
  retry: "Try again.",
  busy: "Try again: another transaction holds the same key.",
  unavailable: "Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",
  unknown: "Ask again under the same idempotency key: the answer tells whether it was committed.",
  schema: "Run `ghouls migrate` with the migrator's connection string.",
};

/** A cause of ours, such as a secret that cannot be read, knows better what to do. */
function fixOf(kind: LedgerFaultKind, cause: unknown): { fix?: string } {
  const fix = (cause instanceof GhoulsError ? cause.fix : undefined) ?? FIX_OF[kind];
  return fix === undefined ? {} : { fix };
}

/**
 * A failed statement, typed by SQLSTATE in this one place. The driver's message may hold row values, so it is kept as
 * the cause and never becomes part of an answer.
 */
export class LedgerError extends GhoulsError {
  readonly kind: LedgerFaultKind;
  readonly sqlState: string | undefined;
  readonly statement: string;

  constructor(kind: LedgerFaultKind, statement: string, sqlState: string | undefined, cause: unknown) {
    super(
      CODE_OF[kind],
      `the ledger could not carry out ${statement} (${kind}${sqlState ? `, SQLSTATE ${sqlState}` : ""})`,
      {
        ...fixOf(kind, cause),
        ...(kind === "defect" || kind === "schema" ? {} : { retryAfterSeconds: 2 }),
        cause,
      },
    );
    this.name = "LedgerError";
    this.kind = kind;
    this.sqlState = sqlState;
    this.statement = statement;
  }

  /** The message is of our own words. */
  override get inLog(): string {
    return this.message;
  }
}

/** A server's connection that a pooler handed on knows the name from somebody else, or does not know it. */
const NAMES = new Set(["42P05", "26000"]);
const RETRY = new Set(["40001", "40P01", ...NAMES]);
const UNAVAILABLE = new Set(["25006", "53000", "53100", "53200", "53300", "57014", "25P03"]);
const SCHEMA = new Set(["42P01", "42703", "42883", "3F000"]);

/**
 * Classifies what a driver threw for a statement that had been sent.
 * Source: PostgreSQL manual, appendix "PostgreSQL Error Codes".
 */
export function classify(
  error: unknown,
  writes: boolean,
): { kind: LedgerFaultKind; sqlState: string | undefined } {
  const sqlState = sqlStateOf(error);
  if (sqlState === undefined) return { kind: writes ? "unknown" : "unavailable", sqlState };
  if (RETRY.has(sqlState) || isPlanStale(error)) return { kind: "retry", sqlState };
  if (sqlState === "55P03") return { kind: "busy", sqlState };
  if (UNAVAILABLE.has(sqlState)) return { kind: "unavailable", sqlState };
  // A backend that was told to end may have ended right after its commit.
  if (sqlState.startsWith("57P") || sqlState.startsWith("08"))
    return { kind: writes ? "unknown" : "unavailable", sqlState };
  if (SCHEMA.has(sqlState)) return { kind: "schema", sqlState };
  return { kind: "defect", sqlState };
}

/** Whether a statement was not carried out because of the name of its prepared form. */
export function isNameRefused(sqlState: string | undefined): boolean {
  return sqlState !== undefined && NAMES.has(sqlState);
}

/** Whether the server's last word on a connection was this: the pool may not have seen its end yet. */
export function hasEnded(sqlState: string): boolean {
  return /^(?:57P|08)/.test(sqlState) || sqlState === "25P03" || sqlState === "25P04";
}

/**
 * Whether a prepared statement was not carried out because a migration has changed its result's types meanwhile. Its
 * SQLSTATE is that of any feature that is not supported, and its message may be translated: the routine is neither.
 */
export function isPlanStale(error: unknown): boolean {
  return (
    sqlStateOf(error) === "0A000" &&
    error instanceof Error &&
    "routine" in error &&
    error.routine === "RevalidateCachedQuery"
  );
}

/**
 * Whether the connection of a failed statement is to be thrown away: it is lost, or has plans from before a migration.
 * What is no answer of the server at all says that it is lost.
 */
export function isOfNoUse(error: unknown): boolean {
  const sqlState = error instanceof LedgerError ? error.sqlState : sqlStateOf(error);
  const cause = error instanceof LedgerError ? error.cause : error;
  return sqlState === undefined || hasEnded(sqlState) || isPlanStale(cause);
}

/** The SQLSTATE of a driver's error; undefined where the connection was lost, which carries none. */
export function sqlStateOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code) ? code : undefined;
}
