import { GhoulsError, unreachableDatabase } from "@ghouls/core";
import { LedgerError } from "@ghouls/ledger";

/** What keeps a worker from its start, in words of ours. */
export interface Hindrance {
  readonly message: string;
  readonly fix: string | undefined;
  /** Whether it is worth while to wait: what was written wrongly stays wrong. */
  readonly passes: boolean;
}

/** Why the ledger is not to be had. */
export function ledgerHindrance(error: unknown): Hindrance {
  if (error instanceof LedgerError) {
    const { cause } = error;
    const known = cause instanceof GhoulsError ? undefined : unreachableDatabase(cause);
    if (known !== undefined) return known;
    const passes = error.kind !== "schema" && error.kind !== "defect";
    return { message: error.message, fix: error.fix, passes };
  }
  if (error instanceof GhoulsError) return { message: error.message, fix: error.fix, passes: false };
  return { message: String(error), fix: undefined, passes: true };
}

/** By the names of SQS's and the SDK's errors. Source: Amazon SQS API Reference, "Common Error Types". */
const OF_SQS: Readonly<Record<string, readonly [string, string]>> = {
  "QueueDoesNotExist|AWS.SimpleQueueService.NonExistentQueue|InvalidAddress|InvalidAddressException": [
    "does not exist",
    "Check its URL, the region (AWS_REGION) and the account of the credentials.",
  ],
  "AccessDenied|AccessDeniedException|KmsAccessDenied": [
    "may not be read with these credentials",
    "Give the worker's role what `ghouls infra` prints for it.",
  ],
  "CredentialsProviderError|UnrecognizedClientException|InvalidClientTokenId|SignatureDoesNotMatch|InvalidSignatureException|ExpiredToken|MissingAuthenticationToken":
    [
      "cannot be read: there are no credentials that SQS takes",
      "Give the process a role (ECS task role, IRSA, instance profile) or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    ],
};

/** Why a queue is not to be had. */
export function queueHindrance(queue: string, error: unknown): Hindrance {
  const name = error instanceof Error ? error.name : "";
  const known = Object.entries(OF_SQS).find(([names]) => names.split("|").includes(name));
  if (known !== undefined) {
    const [what, fix] = known[1];
    return { message: `the queue "${queue}" ${what} (${name})`, fix, passes: false };
  }
  const said =
    error instanceof GhoulsError
      ? error.message
      : `the queue "${queue}" did not answer (${name || "no name"})`;
  const fix =
    error instanceof GhoulsError ? error.fix : "Check its URL, and that SQS can be reached from here.";
  return { message: said, fix, passes: !(error instanceof GhoulsError) };
}
