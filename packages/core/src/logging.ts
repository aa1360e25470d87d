import { GhoulsError, describeFailure } from "./errors.ts";

/**
 * All that a log line of Ghouls may hold beside its message: ids, names, numbers and codes. A logger drops what is not
 * listed, so that whoever adds a field has to think of what it may carry: no payload, token or connection string is any of
 * these, and an error is {@link errorInLog}. Source: design.md, faults.md S12.
 */
export const LOG_FIELDS = [
  // what it is about
  "tenantId",
  "runId",
  "parentRunId",
  "childRunId",
  "enqueueSeq",
  "messageId",
  "requestId",
  "armId",
  "attemptId",
  "keyId",
  "consentId",
  "faultId",
  "workflow",
  "version",
  "step",
  "try",
  "channel",
  "capacity",
  "service",
  "source",
  "queue",
  "pass",
  "rule",
  "owner",
  "check",
  "name",
  // how it stands
  "status",
  "outcome",
  "reason",
  "why",
  "kind",
  "code",
  "error",
  "fix",
  "digest",
  "before",
  "after",
  "build",
  // how much
  "bytes",
  "units",
  "claims",
  "messages",
  "records",
  "number",
  "count",
  "tries",
  "lateSeconds",
  "waitedSeconds",
  "milliseconds",
] as const;
export type LogField = (typeof LOG_FIELDS)[number];

type Scalar = string | number | boolean | null | undefined;

/** What a line of Ghouls says beside its message. */
export type LogFields = { readonly [Field in LogField]?: Scalar } & {
  /** What user code says. */
  readonly data?: RunLogFields;
};

/** Where Ghouls itself writes what happens. */
export interface Logger {
  readonly debug: (message: string, fields?: LogFields) => void;
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
}

/** What user code says beside its message: its own names. */
export type RunLogFields = Readonly<Record<string, Scalar>>;

/** Where user code writes: what it says is its own, and stands apart from what Ghouls says. */
export interface RunLogger {
  readonly debug: (message: string, fields?: RunLogFields) => void;
  readonly info: (message: string, fields?: RunLogFields) => void;
  readonly warn: (message: string, fields?: RunLogFields) => void;
  readonly error: (message: string, fields?: RunLogFields) => void;
}

/**
 * What a log may hold of an error: of ours its code, of any other its name and, where it has one, its code such as
 * ECONNREFUSED. Never its message, which may quote what somebody has sent.
 */
export function errorInLog(error: unknown): string {
  if (error instanceof GhoulsError) return error.inLog;
  const said = nameInLog(describeFailure(error).name);
  const code = codeOf(error);
  return code === undefined ? said : `${said} ${code}`;
}

/** What a log may hold of an error's name: whoever throws can call it anything. */
export function nameInLog(name: string): string {
  return /^[A-Za-z][\w$.]{0,60}$/.test(name) ? name : "Error";
}

/** What user code writes to: its fields stand together, under a name of their own. */
export function runLogger(log: Logger): RunLogger {
  const at =
    (level: keyof Logger): RunLogger["info"] =>
    (message, data) =>
      log[level](message, data === undefined ? {} : { data });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Anything may be thrown, also what throws when it is looked at. */
function codeOf(error: unknown): string | undefined {
  try {
    if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
    const { code } = error;
    return typeof code === "string" && /^[A-Z][A-Z0-9_]{1,40}$|^[0-9A-Z]{5}$/.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}
