import type { FaultInjector, Publication, Wake } from "@ghouls/core";
import { formatMessage, formatWake, sha256 } from "@ghouls/core";
import type { SendMessageBatchRequestEntry } from "@aws-sdk/client-sqs";
import { readBatchAnswer } from "./batch-result.ts";
import type { SqsApi } from "./sqs-api.ts";

/** SQS takes ten entries a batch. */
const MAX_ENTRIES = 10;
/** Batches of one call that are under way at the same time. */
const PARALLEL = 4;

export interface PublishOptions {
  readonly queueUrls: Readonly<Record<string, string>>;
  readonly faults: FaultInjector;
  /** Sends of one entry, the first included. */
  readonly tries: number;
  /** The longest pause before the second try, in milliseconds; doubles with each. */
  readonly retryDelayMs: number;
  /** A number in [0, 1): the jitter of the pauses. */
  readonly random: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Whether messages carry their tenant as `MessageGroupId`. */
  readonly fairQueues: boolean;
}

/** What is sent: a delivery, or a timer's message. */
type Sendable = Publication | Wake;

interface Batch<T> {
  readonly queue: string;
  readonly url: string;
  readonly publications: readonly T[];
}

interface Mutable<T> {
  readonly confirmed: T[];
  readonly failed: { readonly publication: T; readonly reason: string }[];
}

/**
 * Sends one message per publication, ten a batch and one queue a batch. Never rejects: what SQS did not confirm is in
 * `failed` with a reason, and an unknown outcome counts as failed, since a second message is harmless (design.md §3).
 */
export async function publishAll<T extends Sendable>(
  api: () => Promise<SqsApi>,
  publications: readonly T[],
  options: PublishOptions,
): Promise<Readonly<Mutable<T>>> {
  const result: Mutable<T> = { confirmed: [], failed: [] };
  const batches = toBatches(publications, options.queueUrls, result.failed);
  const rest = batches.values();
  const lanes = Array.from({ length: Math.min(PARALLEL, batches.length) }, async () => {
    for (const batch of rest) await publishBatch(api, batch, options, result);
  });
  await Promise.all(lanes);
  return result;
}

function toBatches<T extends Sendable>(
  publications: readonly T[],
  urls: Readonly<Record<string, string>>,
  failed: Mutable<T>["failed"],
): readonly Batch<T>[] {
  const batches: Batch<T>[] = [];
  const byQueue = Map.groupBy(publications, (publication) => publication.queue);
  for (const [queue, ofQueue] of byQueue) {
    const url = Object.hasOwn(urls, queue) ? urls[queue] : undefined;
    if (url === undefined) {
      failed.push(
        ...ofQueue.map((publication) => ({ publication, reason: `queue "${queue}" has no URL here` })),
      );
      continue;
    }
    for (let start = 0; start < ofQueue.length; start += MAX_ENTRIES) {
      batches.push({ queue, url, publications: ofQueue.slice(start, start + MAX_ENTRIES) });
    }
  }
  return batches;
}

/** Sends a batch, and then again what failed without being the sender's fault, up to `tries` times. */
async function publishBatch<T extends Sendable>(
  api: () => Promise<SqsApi>,
  batch: Batch<T>,
  options: PublishOptions,
  result: Mutable<T>,
): Promise<void> {
  let open = batch.publications;
  for (let attempt = 1; open.length > 0; attempt += 1) {
    const again: T[] = [];
    for (const outcome of await sendOnce(api, { ...batch, publications: open }, options)) {
      if (outcome.reason === undefined) result.confirmed.push(outcome.publication);
      else if (outcome.final || attempt >= options.tries)
        result.failed.push({ ...outcome, reason: outcome.reason });
      else again.push(outcome.publication);
    }
    open = again;
    if (open.length > 0) await options.sleep(options.random() * options.retryDelayMs * 2 ** (attempt - 1));
  }
}

interface Outcome<T> {
  readonly publication: T;
  /** Absent where SQS confirmed it. */
  readonly reason: string | undefined;
  /** Another try of the same entry would not help, or was made by the SDK already. */
  readonly final: boolean;
}

async function sendOnce<T extends Sendable>(
  api: () => Promise<SqsApi>,
  batch: Batch<T>,
  options: PublishOptions,
): Promise<readonly Outcome<T>[]> {
  const entries = batch.publications.map((publication, index) =>
    toEntry(publication, index, options.fairQueues),
  );
  try {
    await options.faults("queue.before-publish", batch.queue);
    const sqs = await api();
    const answer = await sqs.sendMessageBatch({ QueueUrl: batch.url, Entries: entries });
    await options.faults("queue.after-publish", batch.queue);
    const outcomes = readBatchAnswer(
      entries.map((entry) => entry.Id as string),
      answer,
    );
    return outcomes.map((outcome, index) => {
      const publication = batch.publications[index] as T;
      if (outcome.kind === "confirmed") return { publication, reason: undefined, final: true };
      return { publication, reason: outcome.reason, final: outcome.senderFault };
    });
  } catch (error) {
    // The SDK has retried what may be retried; whether the batch arrived is unknown.
    const reason = `sending failed: ${describe(error)}`;
    return batch.publications.map((publication) => ({ publication, reason, final: true }));
  }
}

function toEntry(message: Sendable, index: number, fairQueues: boolean): SendMessageBatchRequestEntry {
  const Id = String(index);
  const MessageBody = "armId" in message ? formatWake(message.armId) : formatMessage(message);
  const { delaySeconds } = message;
  const entry = { Id, MessageBody, ...(delaySeconds === undefined ? {} : { DelaySeconds: delaySeconds }) };
  return fairQueues ? { ...entry, MessageGroupId: groupOf(message.tenantId) } : entry;
}

/** A tenant as a group id: up to 128 printable ASCII characters, anything else by its digest. */
export function groupOf(tenantId: string): string {
  return /^[\x21-\x7e]{1,128}$/.test(tenantId) ? tenantId : sha256(tenantId);
}

/** Name and message of what was thrown: the SDK's errors hold no payload, only codes and ids. */
export function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
