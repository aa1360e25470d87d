import { ProblemError, problemErrorOf, UnreachableError } from "./errors.ts";

export interface ClientOptions {
  /** Where the API is, such as `http://127.0.0.1:4700`; a path before `/v1` is kept. */
  readonly baseUrl: string;
  /** Bearer token, or what gives the one of the moment. */
  readonly token: string | (() => string | Promise<string>);
  /**
   * Where events stream, such as the output `events` of the infrastructure, or the same address where a server streams itself.
   * Where absent, `baseUrl` is asked again and again: an HTTP API of API Gateway does not stream.
   */
  readonly eventsUrl?: string;
  /** The global one where absent. */
  readonly fetch?: typeof fetch;
  /** Tries of one call in all, where no answer or a passing failure came; 5 by default. */
  readonly tries?: number;
  /** Milliseconds until a try without an answer is given up; 30,000 by default. */
  readonly timeoutMs?: number;
  /** Waits between tries and polls; rejects when the signal fires. Replaced in tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** A wire schema, as far as the transport needs it. */
interface Schema<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false };
}

interface Call<T> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path below the base, with its query. */
  readonly path: string;
  readonly schema: Schema<T>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Statuses that pass: the server or what stands before it asks to come again. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);
export const isPassing = (status: number): boolean => PASSING.has(status);
/** The longest wait for one Retry-After, in milliseconds; where more is asked for, the caller is told at once. */
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 200;

export type Transport = <T>(call: Call<T>) => Promise<T>;

/**
 * Sends calls with a bounded number of tries. Only calls that may be repeated come here: reads, and writes under a key.
 * @throws ProblemError for an answer that is no success; UnreachableError where none came; the signal's reason
 */
export function createTransport(options: ClientOptions): Transport {
  const tries = options.tries ?? 5;
  const sleep = options.sleep ?? pause;
  return async (call) => {
    for (let count = 1; ; count += 1) {
      const outcome = await attempt(options, call);
      if ("value" in outcome) return outcome.value;
      const waitMs = waitBefore(outcome.error, count);
      if (count >= tries || waitMs === undefined) throw outcome.error;
      await sleep(waitMs, call.signal);
    }
  };
}

/** Milliseconds before the next try, or undefined where none would help. */
function waitBefore(error: Error, count: number): number | undefined {
  const backoff = FIRST_WAIT_MS * 2 ** (count - 1);
  if (error instanceof UnreachableError) return backoff;
  if (!(error instanceof ProblemError) || !isPassing(error.status)) return undefined;
  const asked = (error.retryAfterSeconds ?? 0) * 1_000;
  return asked > LONGEST_WAIT_MS ? undefined : Math.max(asked, backoff);
}

async function attempt<T>(options: ClientOptions, call: Call<T>): Promise<{ value: T } | { error: Error }> {
  call.signal?.throwIfAborted();
  let response: Response;
  let text: string;
  try {
    response = await send(options, call);
    text = await response.text();
  } catch (error) {
    call.signal?.throwIfAborted();
    return { error: new UnreachableError(options.baseUrl, error) };
  }
  if (!response.ok) return { error: problemErrorOf(response, text) };
  return parse(call.schema, response, text);
}

/** Silence on a stream after which it is taken for dead, in milliseconds: the server says something every 15 s. */
const SILENCE_MS = 45_000;

/**
 * Opens a stream of events. What breaks off, or falls silent, rejects whoever reads it.
 * @returns undefined where there is no stream any more: all was told
 * @throws ProblemError for a refusal; UnreachableError where no answer came; the signal's reason
 */
export async function openStream(
  options: ClientOptions,
  path: string,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), options.timeoutMs ?? 30_000);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => quiet.abort(), SILENCE_MS);
  };
  const url = options.eventsUrl ?? options.baseUrl;
  const parts = { method: "GET", path, headers: { accept: "text/event-stream" } } as const;
  try {
    const signals = signal === undefined ? quiet.signal : AbortSignal.any([signal, quiet.signal]);
    const response = await fetchFrom(url, options, parts, signals);
    if (response.status === 204) return undefined;
    if (!response.ok || response.body === null) throw problemErrorOf(response, await response.text());
    heard();
    // Apart from its stream: the types of browsers do not know `cancel` yet.
    const passing = {
      transform: (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>) => {
        heard();
        controller.enqueue(chunk);
      },
      flush: () => clearTimeout(timer),
      cancel: () => clearTimeout(timer),
    };
    return response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(passing));
  } catch (error) {
    clearTimeout(timer);
    signal?.throwIfAborted();
    throw error instanceof ProblemError ? error : new UnreachableError(url, error);
  }
}

function send(options: ClientOptions, call: Call<unknown>): Promise<Response> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 30_000);
  const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
  return fetchFrom(options.baseUrl, options, call, signal);
}

async function fetchFrom(
  baseUrl: string,
  options: ClientOptions,
  call: Pick<Call<unknown>, "method" | "path" | "body" | "headers">,
  signal: AbortSignal,
): Promise<Response> {
  const token = typeof options.token === "string" ? options.token : await options.token();
  return (options.fetch ?? fetch)(`${baseUrl.replace(/\/+$/, "")}${call.path}`, {
    method: call.method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    // A redirect would take the token elsewhere.
    redirect: "error",
    signal,
  });
}

function parse<T>(schema: Schema<T>, response: Response, text: string): { value: T } | { error: Error } {
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? { value: parsed.data } : { error: problemErrorOf(response, "") };
  } catch {
    return { error: problemErrorOf(response, "") };
  }
}

/** Rejects with the signal's reason as soon as it fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
