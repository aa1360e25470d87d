import type { Message } from "@aws-sdk/client-sqs";
import type { FaultInjector, QueuePort, ReceivedMessage, ReceiveOptions } from "@ghouls/core";
import { GhoulsError } from "@ghouls/core";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "./connection.ts";
import type { AwsConnection } from "./connection.ts";
import { publishAll } from "./publish.ts";
import type { SqsApi } from "./sqs-api.ts";

/** What a long poll may take beyond its own waiting, in milliseconds. */
const RECEIVE_MARGIN_MS = 5_000;

/** Entries of one batch call. Source: SQS, "Message quotas". */
const BATCH = 10;

export interface SqsQueueOptions {
  /** A client of the SDK (`new SQS(..)`), or anything with these four methods. */
  readonly client: SqsApi;
  /** URL per queue of the configuration. */
  readonly queueUrls: Readonly<Record<string, string>>;
  readonly faults: FaultInjector;
  /** A number in [0, 1), for the jitter of retries. */
  readonly random: () => number;
  /** Sends of one entry, the first included; 3 by default. */
  readonly tries?: number;
  /** The longest pause before the second send, in milliseconds; 50 by default. */
  readonly retryDelayMs?: number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
  /** Tenant as `MessageGroupId`, which makes standard queues fair between tenants; true by default. */
  readonly fairQueues?: boolean;
}

export interface SqsOptions extends Omit<SqsQueueOptions, "client">, AwsConnection {}

/** A queue that is opened by the first call. `close` ends its connections. */
export interface SqsQueue extends QueuePort {
  close(): void;
}

/** SQS, or a server that speaks its protocol, behind the queue port. */
export function createSqsQueue(options: SqsQueueOptions): QueuePort {
  return queueOver(() => Promise.resolve(options.client), options);
}

/** The same over a client of its own, made at the first call. */
export function openSqs(options: SqsOptions): SqsQueue {
  let client: ReturnType<typeof connect> | undefined;
  const api = (): ReturnType<typeof connect> => (client ??= connect(options));
  return {
    ...queueOver(api, options),
    close: () => {
      void client?.then((sqs) => sqs.destroy());
      client = undefined;
    },
  };
}

function queueOver(api: () => Promise<SqsApi>, options: Omit<SqsQueueOptions, "client">): QueuePort {
  const { queueUrls, faults } = options;
  const sending = {
    queueUrls,
    faults: options.faults,
    tries: options.tries ?? 3,
    retryDelayMs: options.retryDelayMs ?? 50,
    random: options.random,
    sleep: options.sleep ?? delay,
    fairQueues: options.fairQueues ?? true,
  };
  return {
    publish: (publications) => publishAll(api, publications, sending),
    wake: async (wakes) => (await publishAll(api, wakes, sending)).failed.map(({ reason }) => reason),
    receive: async (queue, receiveOptions) => {
      const QueueUrl = urlOf(queueUrls, queue);
      await faults("queue.before-receive", queue);
      const received = await receive(await api(), QueueUrl, receiveOptions);
      await faults("queue.after-receive", queue);
      return received;
    },
    changeVisibility: async (queue, receiptHandle, seconds) => {
      const QueueUrl = urlOf(queueUrls, queue);
      const sqs = await api();
      await faults("queue.before-visibility", queue);
      await sqs.changeMessageVisibility({
        QueueUrl,
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: seconds,
      });
      await faults("queue.after-visibility", queue);
    },
    changeVisibilities: async (queue, receiptHandles, seconds) => {
      const QueueUrl = urlOf(queueUrls, queue);
      const sqs = await api();
      const failed: string[] = [];
      for (let start = 0; start < receiptHandles.length; start += BATCH) {
        const group = receiptHandles.slice(start, start + BATCH);
        const Entries = group.map((ReceiptHandle, index) => ({
          Id: String(index),
          ReceiptHandle,
          VisibilityTimeout: seconds,
        }));
        await faults("queue.before-visibility", queue);
        const answer = await sqs.changeMessageVisibilityBatch({ QueueUrl, Entries });
        await faults("queue.after-visibility", queue);
        const done = new Set((answer.Successful ?? []).map((entry) => entry.Id));
        failed.push(...group.filter((_handle, index) => !done.has(String(index))));
      }
      return failed;
    },
    delete: async (queue, receiptHandle) => {
      const QueueUrl = urlOf(queueUrls, queue);
      const sqs = await api();
      await faults("queue.before-delete", queue);
      await sqs.deleteMessage({ QueueUrl, ReceiptHandle: receiptHandle });
      await faults("queue.after-delete", queue);
    },
  };
}

function urlOf(urls: Readonly<Record<string, string>>, queue: string): string {
  const url = Object.hasOwn(urls, queue) ? urls[queue] : undefined;
  if (url !== undefined) return url;
  throw new GhoulsError("configuration_invalid", `queue "${queue}" has no URL here`, {
    fix: "Set its GHOULS_QUEUE_<NAME>_URL.",
  });
}

async function receive(
  sqs: SqsApi,
  url: string,
  options: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const answer = await sqs.receiveMessage(
    {
      QueueUrl: url,
      MaxNumberOfMessages: options.max,
      WaitTimeSeconds: options.waitSeconds,
      MessageSystemAttributeNames: ["ApproximateReceiveCount", "SentTimestamp", "MessageGroupId"],
      ...(options.visibilitySeconds === undefined ? {} : { VisibilityTimeout: options.visibilitySeconds }),
    },
    {
      requestTimeout: options.waitSeconds * 1_000 + RECEIVE_MARGIN_MS,
      ...(options.signal === undefined ? {} : { abortSignal: options.signal }),
    },
  );
  return (answer.Messages ?? []).flatMap(toReceived);
}

/** A message without handle can neither be returned nor deleted: it is left to its visibility. */
function toReceived(message: Message): readonly ReceivedMessage[] {
  if (message.MessageId === undefined || message.ReceiptHandle === undefined) return [];
  return [
    {
      messageId: message.MessageId,
      receiptHandle: message.ReceiptHandle,
      body: message.Body ?? "",
      receiveCount: Number(message.Attributes?.ApproximateReceiveCount ?? 1),
      sentAtMs: Number(message.Attributes?.SentTimestamp ?? 0),
      groupId: message.Attributes?.MessageGroupId,
    },
  ];
}
