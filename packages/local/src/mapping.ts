import type { QueuePort, ReceivedMessage } from "@ghouls/core";
import { setTimeout as delay } from "node:timers/promises";
import { settledWithin } from "./function.ts";
import { decideBatch } from "./lambda-table.ts";
import type { InvocationResult } from "./lambda-table.ts";
import { toSqsEvent } from "./sqs-event.ts";
import type { EventSource, SqsEvent } from "./sqs-event.ts";

/** Seconds of one long poll. Short, since a poll that is given up may still take a message along. */
const POLL_SECONDS = 1;

export interface MappingOptions {
  readonly queue: string;
  readonly port: Pick<QueuePort, "receive" | "changeVisibility" | "delete">;
  readonly source: EventSource;
  readonly batchSize: number;
  /** Invocations at the same time. */
  readonly concurrency: number;
  readonly invoke: (event: SqsEvent) => Promise<InvocationResult>;
  readonly log: (text: string) => void;
  /** The first pause after a failed receive or invocation, in milliseconds; doubles up to 16 times it. 250 by default. */
  readonly pauseMs?: number;
}

/** An event source mapping: takes messages from a queue and hands them to a function in batches. */
export interface Mapping {
  /** Takes no more messages, and waits up to `graceMs` for the invocations under way. */
  stop(graceMs: number): Promise<void>;
}

export function startMapping(options: MappingOptions): Mapping {
  const stopping = new AbortController();
  const invocations = new Set<Promise<void>>();
  const polling = poll(options, stopping.signal, invocations);
  return {
    stop: async (graceMs) => {
      stopping.abort();
      await settledWithin([polling.then(() => Promise.all(invocations))], graceMs);
    },
  };
}

async function poll(
  options: MappingOptions,
  stopping: AbortSignal,
  invocations: Set<Promise<void>>,
): Promise<void> {
  let unreadable = 0;
  let failures = 0;
  while (!stopping.aborted) {
    if (invocations.size >= options.concurrency) {
      await Promise.race(invocations);
      continue;
    }
    const messages = await take(options);
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
    const invocation = invokeBatch(options, messages).then((ok) => {
      invocations.delete(invocation);
      failures = ok ? 0 : failures + 1;
    });
    invocations.add(invocation);
    if (failures > 0) await pause(options, failures, stopping);
  }
}

/** The next messages, or undefined where the queue is out of reach. */
async function take(options: MappingOptions): Promise<readonly ReceivedMessage[] | undefined> {
  try {
    return await options.port.receive(options.queue, { max: options.batchSize, waitSeconds: POLL_SECONDS });
  } catch (error) {
    options.log(`the queue cannot be read: ${messageOf(error)}`);
    return undefined;
  }
}

/** Waits longer after each failure in a row; at once where the mapping stops. */
async function pause(options: MappingOptions, failures: number, stopping: AbortSignal): Promise<void> {
  const ms = (options.pauseMs ?? 250) * 2 ** Math.min(Math.max(failures - 1, 0), 4);
  await delay(ms, undefined, { signal: stopping }).catch(() => undefined);
}

/** What came while the mapping was stopping goes back at once, uncounted by the function. */
async function giveBack(options: MappingOptions, messages: readonly ReceivedMessage[]): Promise<void> {
  const changes = messages.map((message) =>
    options.port.changeVisibility(options.queue, message.receiptHandle, 0),
  );
  for (const change of await Promise.allSettled(changes)) {
    if (change.status === "rejected")
      options.log(`a message was not given back: ${messageOf(change.reason)}`);
  }
}

/**
 * Invokes the function for a batch and deletes what the answer allows. What is retried is left alone: its visibility
 * stays what the function has set.
 * @returns whether the function answered
 */
async function invokeBatch(options: MappingOptions, messages: readonly ReceivedMessage[]): Promise<boolean> {
  const result = await options.invoke(toSqsEvent(options.source, messages));
  const decision = decideBatch(
    messages.map((message) => message.messageId),
    result,
  );
  if (decision.reason !== undefined) {
    options.log(`${messages.length} message(s) stay in the queue: ${decision.reason}`);
  }
  const deleted = new Set(decision.deleted);
  const deletions = messages
    .filter((message) => deleted.has(message.messageId))
    .map((message) => options.port.delete(options.queue, message.receiptHandle));
  for (const deletion of await Promise.allSettled(deletions)) {
    if (deletion.status === "rejected")
      options.log(`a message was not deleted: ${messageOf(deletion.reason)}`);
  }
  return result.ok;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
