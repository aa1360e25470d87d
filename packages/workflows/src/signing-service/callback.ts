import { setTimeout as delay } from "node:timers/promises";
import type { Callback } from "./jobs.ts";

export interface CallbackTimes {
  readonly tries: number;
  /** After the first failed try, in milliseconds; it doubles with each. */
  readonly firstPauseMs: number;
  /** For one try. */
  readonly timeoutMs: number;
}

const TIMES: CallbackTimes = { tries: 7, firstPauseMs: 250, timeoutMs: 5_000 };

/**
 * Reports to whoever submitted a job. A network error, a 5xx and a time-out are tried again; any other answer is the last word,
 * a redirect as well: the token is for this address alone.
 * @returns whether there was a last word. Never rejects
 */
export async function callBack(
  { url, token }: Callback,
  report: object,
  { tries, firstPauseMs, timeoutMs }: CallbackTimes = TIMES,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const status = await post(url, token, JSON.stringify(report), timeoutMs);
    if (status !== undefined && status < 500) return true;
    if (attempt === tries) return false;
    await delay(firstPauseMs * 2 ** (attempt - 1));
  }
}

/** The status of the answer; undefined where there was none. */
async function post(
  url: string,
  token: string,
  body: string,
  timeoutMs: number,
): Promise<number | undefined> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "ghouls-callback-token": token },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

/** Whether an address is on this machine: this service has a secret key, and calls nobody else. */
export function isOnLoopback(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return (
    (protocol === "http:" || protocol === "https:") &&
    username + password === "" &&
    (hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname))
  );
}
