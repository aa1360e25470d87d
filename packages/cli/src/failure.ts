import { describeFailure, GhoulsError, unreachableDatabase } from "@ghouls/core";
import { LedgerError } from "@ghouls/ledger";
import { ProblemError, UnreachableError } from "@ghouls/client";
import { printable } from "./printable.ts";

/** Exit codes, as the help tells them. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** A refusal of the command itself, with what to do about it. */
export class CommandError extends Error {
  readonly fix: string;
  readonly exitCode: number;

  constructor(message: string, fix: string, exitCode: number = EXIT.failed) {
    super(message);
    this.name = "CommandError";
    this.fix = fix;
    this.exitCode = exitCode;
  }
}

/** A command that was called wrongly: exit code 2. */
export function usageError(message: string, fix: string): CommandError {
  return new CommandError(message, fix, EXIT.usage);
}

interface Report {
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
  readonly requestId?: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

const OUT_OF_REACH: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "ECONNRESET",
]);

/** What the command says of anything that was thrown; never a stack. */
export function reportOf(thrown: unknown): Report {
  if (thrown instanceof CommandError) {
    return {
      code: thrown.exitCode === EXIT.usage ? "usage" : "failed",
      message: thrown.message,
      fix: thrown.fix,
    };
  }
  if (thrown instanceof ProblemError) {
    return {
      code: thrown.code,
      message: thrown.detail,
      ...(thrown.fix === undefined ? {} : { fix: thrown.fix }),
      ...(thrown.requestId === undefined ? {} : { requestId: thrown.requestId }),
      ...(thrown.errors.length === 0 ? {} : { errors: thrown.errors }),
    };
  }
  if (thrown instanceof UnreachableError)
    return { code: "unreachable", message: thrown.message, fix: thrown.fix };
  if (thrown instanceof LedgerError && thrown.kind === "unavailable") {
    const why = whyUnreachable(thrown.cause);
    if (why !== undefined) return why;
  }
  if (thrown instanceof GhoulsError) {
    return {
      code: thrown.code,
      message: thrown.message,
      ...(thrown.fix === undefined ? {} : { fix: thrown.fix }),
      ...(thrown.issues === undefined ? {} : { errors: thrown.issues }),
    };
  }
  return foreign(thrown);
}

/** What kept a command from the database, in words of ours: a driver's may repeat what it was given. */
function whyUnreachable(cause: unknown): Report | undefined {
  if (cause instanceof GhoulsError) return reportOf(cause);
  const known = unreachableDatabase(cause);
  return known && { code: known.code, message: known.message, fix: known.fix };
}

/** An error of a driver or of Node. Some have a code and no message at all. */
function foreign(thrown: unknown): Report {
  const code =
    typeof thrown === "object" && thrown !== null && "code" in thrown ? String(thrown.code) : "failed";
  if (OUT_OF_REACH.has(code)) {
    return {
      code,
      message: `the server did not answer (${code})`,
      fix: "Check the address, and that the server is running and can be reached from here.",
    };
  }
  return { code, message: describeFailure(thrown).message || code };
}

/** The text for stderr: a sentence, what is wrong where, the fix. With `json` one JSON object. */
export function failureText(report: Report, json: boolean): string {
  if (json) return `${JSON.stringify({ error: report })}\n`;
  const lines = [
    `ghouls: ${report.message}`,
    ...(report.errors ?? []).map(({ path, message }) => issueLine(path, message, report.message)),
    ...(report.fix === undefined ? [] : [`  Fix: ${report.fix}`]),
    ...(report.requestId === undefined ? [] : [`  Request: ${report.requestId}`]),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

/** A line for one of what is wrong; its message only where that is not what was said already. */
function issueLine(path: string, message: string, said: string): string {
  const where = path === "" ? "/" : path;
  return message === said ? `  ${where}` : `  ${where}: ${message}`;
}
