import { createPublicKey, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import * as z from "zod";

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex");

/** What is asked to be signed: which bom and which verdict, who decided, in which run. Nothing else is taken. */
export const SignRequest = z.strictObject({
  bom: z.strictObject({ sha256: Sha256 }),
  verdict: z.strictObject({ sha256: Sha256, release: z.boolean() }),
  decidedBy: z.array(z.string().min(1).max(300)).min(1).max(100),
  runId: z.string().min(1).max(100),
});
export type SignRequest = z.infer<typeof SignRequest>;

/** What the signing service gives. */
export const Signed = z.object({
  /** The exact text that was signed. */
  statement: z.string().max(100_000),
  /** Ed25519 over the statement's UTF-8 bytes, in base64. */
  signature: z.string().max(200),
  /** The signer's, as PEM (SubjectPublicKeyInfo). */
  publicKey: z.string().max(1_000),
});
export type Signed = z.infer<typeof Signed>;

/** The bytes that are signed: JSON with its keys sorted, and a line break at its end, so that it is a text file. */
export function statementText({ bom, decidedBy, runId, verdict }: SignRequest): string {
  const sorted = {
    bom: { sha256: bom.sha256 },
    decidedBy,
    runId,
    verdict: { release: verdict.release, sha256: verdict.sha256 },
  };
  return `${JSON.stringify(sorted)}\n`;
}

/** Why an answer is no signature of what was asked for; undefined where it is one. Says nothing of whose key it is. */
export function signatureFault(request: SignRequest, signed: Signed): string | undefined {
  if (signed.statement !== statementText(request)) return "it signed another statement";
  const key = ed25519Key(signed.publicKey);
  if (key === undefined) return "its public key is none of Ed25519";
  const bytes = Buffer.from(signed.statement, "utf8");
  return verify(null, bytes, key, Buffer.from(signed.signature, "base64"))
    ? undefined
    : "its signature does not fit its statement";
}

function ed25519Key(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}
