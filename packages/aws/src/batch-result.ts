/** What SQS answered for one entry of a batch. */
export type EntryOutcome =
  | { readonly kind: "confirmed" }
  | { readonly kind: "failed"; readonly reason: string; readonly senderFault: boolean };

interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?:
    | readonly {
        readonly Id?: string | undefined;
        readonly Code?: string | undefined;
        readonly Message?: string | undefined;
        readonly SenderFault?: boolean | undefined;
      }[]
    | undefined;
}

/**
 * The outcome of each entry that was sent, in order. A 200 proves nothing by itself (F08): an entry is confirmed only
 * where the answer names it once as successful and nowhere as failed. Missing, repeated and contradictory entries are
 * failed and not the sender's fault; names that were not sent are ignored.
 * @param ids the ids of the entries, unique
 */
export function readBatchAnswer(ids: readonly string[], answer: BatchAnswer): readonly EntryOutcome[] {
  const successes = new Map<string, number>();
  for (const entry of answer.Successful ?? []) {
    if (entry.Id !== undefined) successes.set(entry.Id, (successes.get(entry.Id) ?? 0) + 1);
  }
  const failures = new Map((answer.Failed ?? []).map((entry) => [entry.Id, entry]));
  return ids.map((id) => {
    const failure = failures.get(id);
    const times = successes.get(id) ?? 0;
    if (times > 0 && failure !== undefined) return unclear("SQS reported it as sent and as failed");
    if (times > 1) return unclear("SQS confirmed it more than once in one answer");
    if (times === 1) return { kind: "confirmed" };
    if (failure === undefined) return unclear("SQS did not confirm it");
    const reason = [failure.Code, failure.Message]
      .filter((part) => part !== undefined && part !== "")
      .join(": ");
    return {
      kind: "failed",
      reason: reason === "" ? "SQS refused it without a reason" : reason,
      senderFault: failure.SenderFault === true,
    };
  });
}

function unclear(reason: string): EntryOutcome {
  return { kind: "failed", reason, senderFault: false };
}
