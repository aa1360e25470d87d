import { setTimeout as delay } from "node:timers/promises";
import { describeFailure, type Clock, type Logger, type wire } from "@ghouls/core";
import type { EventService, Follower } from "@ghouls/engine";
import { getEvents } from "./event-routes.ts";
import type { Application } from "./frame.ts";
import { runNotFound } from "./problems.ts";

export interface EventDependencies {
  readonly events: EventService;
  /** How long a stream may go on from now, in milliseconds; whoever reads it connects again. */
  readonly streamMs: () => number;
  /** Fires when this process is about to end: streams end, and go on elsewhere. */
  readonly draining: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A comment now and then, in milliseconds, so that nobody between takes a quiet stream for a dead one. */
const HEARTBEAT_MS = 15_000;
/** When a reader whose stream has ended connects again, in milliseconds. */
const RETRY_MS = 500;
/** After a question that failed, in milliseconds. */
const AFTER_FAILURE_MS = 1_000;

/** The route that follows a run. */
export function mountEvents(app: Application, dependencies: EventDependencies): void {
  app.openapi(getEvents, async (context) => {
    const { id } = context.req.valid("param");
    const { after, wait } = context.req.valid("query");
    const lastId = context.req.valid("header")["last-event-id"];
    const follower = await dependencies.events.follow(context.get("principal").tenantId, id, after ?? lastId);
    if (follower === undefined) throw runNotFound();
    if (!wantsStream(context.req.header("accept"))) {
      return context.json(await poll(follower, wait * 1_000, after ?? lastId, dependencies), 200);
    }
    if (follower.done) return context.body(null, 204);
    return new Response(streamOf(follower, dependencies), {
      headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
    });
  });
}

function wantsStream(accept = ""): boolean {
  return accept.toLowerCase().includes("text/event-stream");
}

/** The first batches that come within a time, or none. */
async function poll(
  follower: Follower,
  waitMs: number,
  after: string | undefined,
  { clock, draining }: EventDependencies,
): Promise<wire.EventPage> {
  const until = clock.monotonicMs() + waitMs;
  for (;;) {
    const batches = await follower.next();
    const last = batches.at(-1)?.id ?? after ?? null;
    const left = until - clock.monotonicMs();
    if (batches.length > 0 || follower.done || left <= 0 || draining.aborted) {
      return { batches, done: follower.done, nextAfter: last };
    }
    await pause(Math.min(follower.pauseMs, left), draining);
  }
}

/** It asks for more only when what it has given was taken, so that a slow reader costs no memory. */
function streamOf(follower: Follower, dependencies: EventDependencies): ReadableStream<Uint8Array> {
  const { clock, log, draining, streamMs } = dependencies;
  const encoder = new TextEncoder();
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, draining]);
  const endsAt = clock.monotonicMs() + streamMs();
  let spokenAt = Number.NEGATIVE_INFINITY;
  let warned = false;
  const nextOrNone = async (): Promise<wire.EventBatch[] | undefined> => {
    try {
      return await follower.next();
    } catch (error) {
      // The place stays: it is asked again, or by the reader's next connection.
      if (!warned)
        log.warn("a stream of events waits for the ledger", { error: describeFailure(error).name });
      warned = true;
      return undefined;
    }
  };
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`));
    },
    pull: async (controller) => {
      for (;;) {
        if (signal.aborted || clock.monotonicMs() >= endsAt) return controller.close();
        const batches = await nextOrNone();
        const now = clock.monotonicMs();
        const text = (batches ?? []).map(messageOf).join("");
        if (text !== "" || now - spokenAt >= HEARTBEAT_MS) {
          controller.enqueue(encoder.encode(text === "" ? ": \n\n" : text));
          spokenAt = now;
          if (follower.done) controller.close();
          return;
        }
        const rest = batches === undefined ? AFTER_FAILURE_MS : follower.pauseMs;
        await pause(Math.min(rest, endsAt - now), signal);
      }
    },
    cancel: () => {
      left.abort();
    },
  });
}

function messageOf(batch: wire.EventBatch): string {
  return `id: ${batch.id}\ndata: ${JSON.stringify(batch)}\n\n`;
}

/** Ends early when the signal fires; what becomes of it, whoever has the signal sees. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => undefined);
}
