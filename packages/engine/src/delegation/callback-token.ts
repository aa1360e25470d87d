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

/** Characters of a token. */
const TOKEN_LENGTH = 43;
/** What may be a token, or hold one among a few more characters of its kind; longer ones are data, such as a signature. */
const WORD = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,128}(?![A-Za-z0-9_-])/g;

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
  const tokens = new Set<string>();
  for (const [word] of text.matchAll(WORD)) {
    for (let at = 0; at + TOKEN_LENGTH <= word.length; at += 1) tokens.add(word.slice(at, at + TOKEN_LENGTH));
  }
  return [...tokens].some((token) => isTokenOf(attempt, attempt.callbackDigest, token));
}
