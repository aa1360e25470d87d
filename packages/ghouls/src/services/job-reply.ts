import { MAX_VALUE_BYTES, parseJson, readJobReport, type JobAnswer } from "@ghouls/core";
import type { GuardedAnswer } from "./guarded-request.ts";

/** The largest reply that is read: the largest result that is kept, and a little around it. */
export const MAX_REPLY_BYTES = MAX_VALUE_BYTES + 16_384;

/** For whoever writes a service, and finds that it is not understood. */
const REPORTS =
  '{"state":"accepted"} (or "running", "cancelled"), {"state":"succeeded","result":…} or {"state":"failed","error":{"code":"…","message":"…"}}';

/** What the status alone says, where a reply is no report; undefined where it says nothing. */
export type BareMeaning = (status: number, empty: boolean) => JobAnswer | undefined;

/**
 * What a reply says of a job: its report, if it comes with a 2xx or says that the job has failed, else what its status
 * means. A reply that repeats a secret says nothing, because all of it would be kept. No reason repeats anything of it.
 */
export function judgeReply(
  { status, text }: GuardedAnswer,
  secrets: readonly string[],
  bare: BareMeaning,
): JobAnswer {
  const value = documentOf(text);
  if (repeats(text, value, secrets)) return unknown("its answer repeats a secret");
  const report = readJobReport(value);
  if (report !== undefined && (isSuccess(status) || report.state === "failed")) return report;
  return bare(status, text === "") ?? unknown(reasonOf(status, value));
}

function reasonOf(status: number, value: unknown): string {
  if (!isSuccess(status)) return `it answered ${status}`;
  return `it answered ${status} with no report${value === undefined ? "" : `: ${REPORTS}`}`;
}

export function unknown(why: string): JobAnswer {
  return { state: "unknown", why };
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Undefined for what is no JSON, or could not be kept unchanged. */
function documentOf(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch {
    return undefined;
  }
}

/** A secret may be written with escapes, so the strings are looked through as well as the text. */
function repeats(text: string, value: unknown, secrets: readonly string[]): boolean {
  const isIn = (held: string) => secrets.some((secret) => held.includes(secret));
  return isIn(text) || holdsString(value, isIn);
}

/** Of a document that {@link parseJson} has taken: its depth is bounded. */
function holdsString(value: unknown, wanted: (text: string) => boolean): boolean {
  if (typeof value === "string") return wanted(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => wanted(key) || holdsString(item, wanted));
}
