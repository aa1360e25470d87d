import { parseJson, sha256, type JobAnswer } from "@ghouls/core";
import { unknown } from "./job-reply.ts";

/** With which the name of every execution begins: nobody needs a right to others. */
export const NAME_PREFIX = "ghouls-";
const DIGEST_PREFIX = `${NAME_PREFIX}sha256-`;
/** Of the engine's keys, and at most 80 characters. */
const PLAIN = /^ghouls-[A-Za-z0-9_-]{1,73}$/;

/**
 * The execution's name: the key itself, so that a person finds it, else its digest. No two keys have one name.
 * Source: Step Functions API, "StartExecution".
 */
export function executionName(key: string): string {
  return PLAIN.test(key) && !key.startsWith(DIGEST_PREFIX) ? key : DIGEST_PREFIX + sha256(key);
}

/** Whether an execution was started with this request. Undefined where it was not included, which proves nothing against it. */
export function isSameInput(input: string | undefined, requestText: string): boolean {
  if (input === undefined || input === requestText) return true;
  try {
    return parseJson(input).canonical === parseJson(requestText).canonical;
  } catch {
    return false;
  }
}

/** What an execution as it stands says of its job. */
export function reportOf(execution: {
  readonly status?: string | undefined;
  readonly output?: string | undefined;
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
}): JobAnswer {
  const { status = "nothing", output, error, cause } = execution;
  switch (status) {
    case "RUNNING":
    case "PENDING_REDRIVE":
      return { state: "running" };
    case "SUCCEEDED":
      return outputOf(output);
    case "FAILED":
      return failed(error ?? "ExecutionFailed", cause ?? "the execution has failed, and does not say why");
    case "TIMED_OUT":
      return failed(error ?? "States.Timeout", cause ?? "the execution has taken longer than it may");
    case "ABORTED":
      return { state: "cancelled" };
    default:
      return unknown(`Step Functions says that it is ${status.slice(0, 40)}, which means nothing here`);
  }
}

function failed(code: string, message: string): JobAnswer {
  return { state: "failed", error: { code, message } };
}

/** That it has succeeded is no result: one that is not there, or would be kept otherwise than it is, is not made up. */
function outputOf(output: string | undefined): JobAnswer {
  if (output === undefined) return unknown("it has succeeded, and its output was not included");
  try {
    return { state: "succeeded", result: parseJson(output).value };
  } catch (error) {
    return unknown(`it has succeeded, and its output cannot be kept: ${(error as Error).message}`);
  }
}
