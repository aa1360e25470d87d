import { isSameDigest, sha256, wire } from "@ghouls/core";

export function isCallbackToken(text: string | undefined): text is string {
  return text !== undefined && wire.CALLBACK_TOKEN.test(text);
}

/** What is kept of a token: a digest that is bound to its tenant, run and attempt, so that no other row takes it. */
export function callbackDigest(
  {
    tenantId,
    runId,
    attemptId,
  }: { readonly tenantId: string; readonly runId: string; readonly attemptId: string },
  token: string,
): string {
  return sha256(`ghouls-callback-1\n${JSON.stringify([tenantId, runId, attemptId, token])}`);
}

/** What is compared with where there is no such attempt, or none that can be reported about: no text is known to have it. */
const NOBODYS_DIGEST = "0".repeat(64);

/** In constant time, and after the same work whether or not there is anything to compare with. */
export function isTokenOf(
  attempt: { readonly tenantId: string; readonly runId: string; readonly attemptId: string } | null,
  kept: string | null | undefined,
  token: string,
): boolean {
  const presented = callbackDigest(attempt ?? { tenantId: "", runId: "", attemptId: "" }, token);
  return isSameDigest(presented, kept ?? NOBODYS_DIGEST) && attempt !== null;
}

/** Whether a text repeats the token of an attempt, of which only the digest is known: a secret that would be kept. */
export function repeatsToken(
  attempt: {
    readonly tenantId: string;
    readonly runId: string;
    readonly attemptId: string;
    readonly callbackDigest: string | null;
  },
  text: string,
): boolean {
  if (attempt.callbackDigest === null) return false;
  const shaped = text.match(/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g) ?? [];
  return [...new Set(shaped)].some((token) => isTokenOf(attempt, attempt.callbackDigest, token));
}
