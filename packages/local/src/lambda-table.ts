/** How an invocation for a batch ended. */
export type InvocationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

/** What becomes of the messages of a batch. `reason` is there where the whole batch is retried. */
export interface BatchDecision {
  readonly deleted: readonly string[];
  readonly retried: readonly string[];
  readonly reason?: string;
}

/**
 * AWS's table of partial batch responses for an event source mapping with ReportBatchItemFailures (Lambda Developer
 * Guide, "Implementing partial batch responses"). An empty answer deletes the whole batch; a failed
 * invocation or an answer that Lambda cannot read retries all of it; else exactly the listed messages are retried.
 * @param messageIds the batch
 */
export function decideBatch(messageIds: readonly string[], result: InvocationResult): BatchDecision {
  if (!result.ok) return retryAll(messageIds, result.reason);
  const response = result.value;
  if (response === null || response === undefined) return deleteAll(messageIds);
  if (typeof response !== "object" || Array.isArray(response)) {
    return retryAll(messageIds, "the response is not an object");
  }
  if (Object.keys(response).length === 0) return deleteAll(messageIds);
  if (!("batchItemFailures" in response))
    return retryAll(messageIds, "the response has no batchItemFailures");
  const failures: unknown = response.batchItemFailures;
  if (failures === null || failures === undefined) return deleteAll(messageIds);
  if (!Array.isArray(failures)) return retryAll(messageIds, "batchItemFailures is not a list");
  return retryListed(messageIds, failures);
}

function retryListed(messageIds: readonly string[], failures: readonly unknown[]): BatchDecision {
  const known = new Set(messageIds);
  const listed = new Set<string>();
  for (const failure of failures) {
    const id = identifierOf(failure);
    if (id === undefined) return retryAll(messageIds, "an entry of batchItemFailures has no itemIdentifier");
    if (!known.has(id)) return retryAll(messageIds, "an itemIdentifier is none of the batch's messages");
    listed.add(id);
  }
  return {
    deleted: messageIds.filter((id) => !listed.has(id)),
    retried: messageIds.filter((id) => listed.has(id)),
  };
}

function identifierOf(failure: unknown): string | undefined {
  if (typeof failure !== "object" || failure === null || !("itemIdentifier" in failure)) return undefined;
  const id = failure.itemIdentifier;
  return typeof id === "string" && id !== "" ? id : undefined;
}

function deleteAll(messageIds: readonly string[]): BatchDecision {
  return { deleted: messageIds, retried: [] };
}

function retryAll(messageIds: readonly string[], reason: string): BatchDecision {
  return { deleted: [], retried: messageIds, reason };
}
