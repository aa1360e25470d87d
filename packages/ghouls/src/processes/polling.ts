import { setTimeout as delay } from "node:timers/promises";
import type { QueuePort, ReceivedMessage } from "@ghouls/core";
import { settledWithin } from "./settled.ts";

/** SQS answers at most so many messages at once. */
const MOST_MESSAGES = 10;

/** What became of a batch. */
export interface HandledBatch {
  /** Ids of the messages that may be deleted; the visibility of all others is left as it was set. */
  readonly deleted: readonly string[];
  /** Whether whoever has handled it can take another one at once. */
  readonly ok: boolean;
}

export interface PollingOptions {
  readonly queue: string;
  readonly port: Pick<QueuePort, "receive" | "changeVisibility" | "delete">;
  /** The most messages that may be taken now, beside so many batches and messages under way; below 1: none before one ends. */
  readonly room: (batches: number, messages: number) => number;
  /** Never rejects. */
  readonly handle: (messages: readonly ReceivedMessage[]) => Promise<HandledBatch>;
  readonly log: (text: string) => void;
  /** Seconds of one long poll. A stop waits for it: a poll that is given up may take messages along. */
  readonly waitSeconds: number;
  /** How long what is received is hidden, in seconds; the queue's own setting where absent. */
  readonly visibilitySeconds?: number;
  /** Whether each message is a batch of its own: one that takes long keeps no other from being deleted. */
  readonly apart?: boolean;
  /** Awaited before each receive, such as for what a batch needs. Never rejects. */
  readonly ready?: () => Promise<void>;
  /** The first pause after a failed receive or batch, in milliseconds; doubles up to 16 times it. 250 by default. */
  readonly pauseMs?: number;
}

/** Takes messages from a queue, and hands them over in batches. */
export interface Polling {
  /** Takes no more messages, and waits up to `graceMs` for what is under way; as long as it takes where absent. */
  stop(graceMs?: number): Promise<void>;
}

export function startPolling(options: PollingOptions): Polling {
  const stopping = new AbortController();
  const batches = new Map<Promise<void>, number>();
  const polling = poll(options, stopping.signal, batches);
  return {
    stop: async (graceMs) => {
      stopping.abort();
      const ending = polling.then(() => Promise.all(batches.keys()));
      await (graceMs === undefined ? ending : settledWithin([ending], graceMs));
    },
  };
}

async function poll(
  options: PollingOptions,
  stopping: AbortSignal,
  batches: Map<Promise<void>, number>,
): Promise<void> {
  let unreadable = 0;
  let failures = 0;
  while (!stopping.aborted) {
    const messagesUnderWay = [...batches.values()].reduce((sum, count) => sum + count, 0);
    const room = options.room(batches.size, messagesUnderWay);
    if (room < 1) {
      await Promise.race(batches.keys());
      continue;
    }
    await options.ready?.();
    if (stopping.aborted) return;
    const messages = await take(options, Math.min(room, MOST_MESSAGES));
    if (messages === undefined) {
      unreadable += 1;
      await pause(options, unreadable, stopping);
      continue;
    }
    unreadable = 0;
    if (messages.length === 0) continue;
    if (stopping.aborted) {
      await giveBack(options, messages);
      return;
    }
    for (const together of options.apart === true ? messages.map((one) => [one]) : [messages]) {
      const batch = handle(options, together).then((ok) => {
        batches.delete(batch);
        failures = ok ? 0 : failures + 1;
      });
      batches.set(batch, together.length);
    }
    if (failures > 0) await pause(options, failures, stopping);
  }
}

/** The next messages, or undefined where the queue is out of reach. */
async function take(options: PollingOptions, max: number): Promise<readonly ReceivedMessage[] | undefined> {
  const { visibilitySeconds, waitSeconds } = options;
  const visibility = visibilitySeconds === undefined ? {} : { visibilitySeconds };
  try {
    return await options.port.receive(options.queue, { max, waitSeconds, ...visibility });
  } catch (error) {
    options.log(`the queue cannot be read: ${messageOf(error)}`);
    return undefined;
  }
}

/** Waits longer after each failure in a row; at once where the polling stops. */
async function pause(options: PollingOptions, failures: number, stopping: AbortSignal): Promise<void> {
  const ms = (options.pauseMs ?? 250) * 2 ** Math.min(Math.max(failures - 1, 0), 4);
  await delay(ms, undefined, { signal: stopping }).catch(() => undefined);
}

/** What came while the polling was stopping goes back at once: nobody has looked at it. */
async function giveBack(options: PollingOptions, messages: readonly ReceivedMessage[]): Promise<void> {
  const changes = messages.map((message) =>
    options.port.changeVisibility(options.queue, message.receiptHandle, 0),
  );
  for (const change of await Promise.allSettled(changes)) {
    if (change.status === "rejected")
      options.log(`a message was not given back: ${messageOf(change.reason)}`);
  }
}

/** Hands a batch over and deletes what the answer allows. */
async function handle(options: PollingOptions, messages: readonly ReceivedMessage[]): Promise<boolean> {
  const { deleted, ok } = await options.handle(messages);
  const gone = new Set(deleted);
  const deletions = messages
    .filter((message) => gone.has(message.messageId))
    .map((message) => options.port.delete(options.queue, message.receiptHandle));
  for (const deletion of await Promise.allSettled(deletions)) {
    if (deletion.status === "rejected")
      options.log(`a message was not deleted: ${messageOf(deletion.reason)}`);
  }
  return ok;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
