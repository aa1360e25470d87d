import type { QueuePort, ReceivedMessage } from "@ghouls/core";
import { startPolling, type HandledBatch } from "ghouls/processes/polling";
import { decideBatch } from "./lambda-table.ts";
import type { InvocationResult } from "./lambda-table.ts";
import { toSqsEvent } from "./sqs-event.ts";
import type { EventSource, SqsEvent } from "./sqs-event.ts";

/** Seconds of one long poll. Short, since a stop waits for it. */
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
  const { queue, port, log, pauseMs } = options;
  return startPolling({
    queue,
    port,
    log,
    waitSeconds: POLL_SECONDS,
    ...(pauseMs === undefined ? {} : { pauseMs }),
    // Read at each poll: they are those of the code that runs then.
    room: (invocations) => (invocations < options.concurrency ? options.batchSize : 0),
    handle: (messages) => invokeBatch(options, messages),
  });
}

/** Invokes the function for a batch. What is retried is left alone: its visibility stays what the function has set. */
async function invokeBatch(
  options: MappingOptions,
  messages: readonly ReceivedMessage[],
): Promise<HandledBatch> {
  const result = await options.invoke(toSqsEvent(options.source, messages));
  const { deleted, reason } = decideBatch(
    messages.map((message) => message.messageId),
    result,
  );
  if (reason !== undefined) options.log(`${messages.length} message(s) stay in the queue: ${reason}`);
  return { deleted, ok: result.ok };
}
