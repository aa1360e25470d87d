import { wire } from "@ghouls/core";
import { ProblemError, UnreachableError } from "./errors.ts";
import { batchesIn } from "./event-stream.ts";
import {
  isPassing,
  openStream,
  pause,
  type CallOptions,
  type ClientOptions,
  type Transport,
} from "./transport.ts";

export interface FollowOptions extends CallOptions {
  /** Id of the last batch that was handled; from the run's first event where absent. */
  readonly after?: string;
}

/** Seconds that one poll waits for something to come. */
const POLL_SECONDS = 20;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/**
 * The batches of a run's events in order, each once, until the run has ended. A connection that ends is made again behind the
 * last batch.
 * @throws ProblemError for a refusal; UnreachableError where no answer came several times in a row; the signal's reason
 */
export async function* follow(
  options: ClientOptions,
  call: Transport,
  runId: string,
  { after, signal }: FollowOptions = {},
): AsyncGenerator<wire.EventBatch, void, undefined> {
  const path = `/v1/runs/${encodeURIComponent(runId)}/events`;
  let id = after;
  let failures = 0;
  const next = () =>
    options.eventsUrl === undefined
      ? polled(call, pathBehind(path, id, POLL_SECONDS), signal)
      : streamed(options, pathBehind(path, id), signal);
  for (;;) {
    signal?.throwIfAborted();
    try {
      for await (const batch of next()) {
        failures = 0;
        id = batch.id;
        yield batch;
        if (id === LAST) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      failures += 1;
      if (isFinal(error) || failures >= (options.tries ?? 5)) throw reachable(error, options);
      await (options.sleep ?? pause)(waitBefore(failures, error), signal);
      continue;
    }
    if (id === LAST) return;
  }
}

/** The id behind which there is nothing more. */
const LAST = "end";

async function* polled(call: Transport, path: string, signal: AbortSignal | undefined) {
  const page = await call({ method: "GET", path, schema: wire.EventPage, signal });
  yield* page.batches;
  if (page.done && page.batches.length === 0) yield { id: LAST, events: [] };
}

async function* streamed(options: ClientOptions, path: string, signal: AbortSignal | undefined) {
  const body = await openStream(options, path, signal);
  if (body === undefined) yield { id: LAST, events: [] };
  else yield* batchesIn(body);
}

function pathBehind(path: string, after: string | undefined, wait?: number): string {
  const search = new URLSearchParams({
    ...(after === undefined ? {} : { after }),
    ...(wait === undefined ? {} : { wait: String(wait) }),
  });
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

function isFinal(error: unknown): boolean {
  return error instanceof ProblemError && !isPassing(error.status);
}

function reachable(error: unknown, { eventsUrl, baseUrl }: ClientOptions): unknown {
  const isOurs = error instanceof ProblemError || error instanceof UnreachableError;
  return isOurs ? error : new UnreachableError(eventsUrl ?? baseUrl, error);
}

function waitBefore(failures: number, error: unknown): number {
  const asked = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return Math.max(asked, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)));
}
