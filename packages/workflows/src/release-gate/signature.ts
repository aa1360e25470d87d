import type { DelegateResult } from "ghouls";
import * as z from "zod";
import { signatureFault } from "../signing-service/statement.ts";
import type { Signed, SignRequest } from "../signing-service/statement.ts";
import { sha256 } from "./files.ts";

/** How a release was signed; statement, signature and key themselves are published. */
export const Signature = z.object({
  algorithm: z.literal("ed25519"),
  /** The delegated job. */
  attemptId: z.string(),
  /** Of the exact bytes that were signed. */
  statement: z.object({ sha256: z.string() }),
  /** Of the public key as it was given: who trusts it knows it. */
  publicKey: z.object({ sha256: z.string() }),
});
export type Signature = z.infer<typeof Signature>;

export type SignatureAnswer =
  | { readonly signed: Signed; readonly signature: Signature }
  /** Why there is none. */
  | { readonly why: string };

/** What a delegated signature came to. A service that signs something else has not signed. */
export function judgeSignature(request: SignRequest, job: DelegateResult<Signed>): SignatureAnswer {
  if (job.outcome !== "SUCCEEDED") return { why: inWords(job) };
  const fault = signatureFault(request, job.result);
  if (fault !== undefined) return { why: `the signing service cannot be believed: ${fault}` };
  const { result: signed, attemptId } = job;
  return {
    signed,
    signature: {
      algorithm: "ed25519",
      attemptId,
      statement: { sha256: sha256(signed.statement) },
      publicKey: { sha256: sha256(signed.publicKey) },
    },
  };
}

function inWords(job: Exclude<DelegateResult<Signed>, { outcome: "SUCCEEDED" }>): string {
  switch (job.outcome) {
    case "INVALID":
      return `the signing service answered what is no signature (${job.problem})`;
    case "FAILED":
      return `the signing service refused (${job.error.code}: ${job.error.message})`;
    case "CANCELLED":
      return "its job at the signing service was cancelled";
    case "DEADLINE":
      return "the signing service did not sign in time";
  }
}
