import { lookup as resolveName } from "node:dns/promises";
import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/** What is asked of somebody's server. */
export interface GuardedRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The largest answer that is read, in bytes. */
  readonly maxBytes: number;
  /** Ends the request wherever it is; nothing is sent after that. */
  readonly signal: AbortSignal;
  /** Origins that are reached whatever their addresses are, and without TLS where they say so. */
  readonly origins: readonly string[];
}

/** What came back, whatever its status: also a redirect, which is never followed. */
export interface GuardedAnswer {
  readonly status: number;
  readonly text: string;
}

interface Address {
  readonly address: string;
  readonly family: number;
}

/** What stands between a request and the network; tests put in their own. */
export interface Guard {
  resolve(name: string): Promise<readonly Address[]>;
  admits(address: string): boolean;
}

const INTERNET: Guard = {
  resolve: (name) => resolveName(name, { all: true }),
  admits: isPublicAddress,
};

/** Why there is no answer, in words that repeat nothing of what was sent or received. */
export class NoAnswerError extends Error {
  /** Whether anything of the request may have been sent. False is certain. */
  readonly sent: boolean;

  constructor(message: string, sent: boolean) {
    super(message);
    this.name = "NoAnswerError";
    this.sent = sent;
  }
}

/** What went wrong, where this file itself has words for it. */
class WordedError extends Error {}

/** Whether the connection stood: it is there and, for https, the server has proven to be the host. Before that nothing is sent. */
interface Connection {
  stood: boolean;
}

/**
 * One request to a server that must not be a way into this network. It goes over TLS, to an address that was looked at: the
 * name is resolved once, and every address that it has must be a public one, else nothing is sent. Nothing is sent twice, no
 * redirect is followed, no proxy is asked, and no connection is shared.
 * @throws NoAnswerError where it was refused, or its answer was not read to its end in time
 */
export async function guardedRequest(
  request: GuardedRequest,
  guard: Guard = INTERNET,
): Promise<GuardedAnswer> {
  const connection: Connection = { stood: false };
  try {
    request.signal.throwIfAborted();
    const addresses = await vetted(request, guard);
    request.signal.throwIfAborted();
    return await exchange(request, addresses, connection);
  } catch (error) {
    throw new NoAnswerError(reasonOf(error, request.signal, connection), connection.stood);
  }
}

function reasonOf(error: unknown, signal: AbortSignal, { stood }: Connection): string {
  if (signal.aborted) return stood ? "it did not answer in time" : "there was no connection to it in time";
  if (error instanceof WordedError) return error.message;
  const what = stood ? "it broke off, or its answer cannot be read" : "there was no connection to it";
  return `${what}${codeOf(error)}`;
}

/** The addresses that may be connected to; undefined for an admitted origin, which may be at any. */
async function vetted(
  { url, origins, signal }: GuardedRequest,
  guard: Guard,
): Promise<readonly Address[] | undefined> {
  if (origins.includes(url.origin)) return undefined;
  if (url.protocol !== "https:")
    throw new WordedError("its address is refused: it is not https, and egress.origins does not name it");
  const host = hostOf(url);
  const family = isIP(host);
  const addresses =
    family === 0 ? await beforeAbort(guard.resolve(host), signal) : [{ address: host, family }];
  if (addresses.length === 0 || !addresses.every(({ address }) => guard.admits(address)))
    throw new WordedError("its address is refused: it is no public one, or one of several is none");
  return addresses;
}

/** A name or an address, the latter without the brackets of a URL. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** A resolver cannot be interrupted, but need not be waited for. */
async function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  const aborted = once(signal, "abort", { signal: done.signal });
  aborted.catch(() => undefined);
  try {
    return await Promise.race([work, aborted.then(() => Promise.reject(signal.reason))]);
  } finally {
    done.abort();
  }
}

async function exchange(
  request: GuardedRequest,
  addresses: readonly Address[] | undefined,
  connection: Connection,
): Promise<GuardedAnswer> {
  const outgoing = open(request, addresses);
  try {
    return await read(await answerTo(outgoing, request, connection), request.maxBytes);
  } finally {
    outgoing.destroy();
  }
}

function open(
  { method, url, headers, body, signal }: GuardedRequest,
  addresses: readonly Address[] | undefined,
): http.ClientRequest {
  const host = hostOf(url);
  const options: https.RequestOptions = {
    method,
    host,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
    signal,
    // A connection of its own, and no proxy of the environment.
    agent: false,
    ...(addresses === undefined ? {} : { lookup: lookupOf(addresses) }),
  };
  if (url.protocol === "http:") return http.request(options);
  // The certificate must be the host's, whatever a header says. An address is no server name.
  return https.request({ ...options, servername: isIP(host) === 0 ? host : "" });
}

/** Gives the addresses that were looked at, and never asks again: a name may answer something else the second time. */
function lookupOf(addresses: readonly Address[]): LookupFunction {
  return (_name, { all }, callback) => {
    if (all === true) callback(null, [...addresses]);
    else callback(null, addresses[0]?.address ?? "", addresses[0]?.family);
  };
}

/** The request is given to the connection when that stands: until then there is nothing in it that could be sent. */
function answerTo(
  outgoing: http.ClientRequest,
  { url, body }: GuardedRequest,
  connection: Connection,
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
    outgoing.on("close", () => reject(new WordedError("it closed the connection without an answer")));
    outgoing.on("socket", (socket) => {
      socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
        if (outgoing.destroyed) return;
        connection.stood = true;
        outgoing.end(body);
      });
    });
  });
}

async function read(incoming: http.IncomingMessage, maxBytes: number): Promise<GuardedAnswer> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, bytes] = ["", 0];
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new WordedError(`its answer has more than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return { status: incoming.statusCode ?? 0, text: text + decoder.decode() };
}

/** Node's short names of what went wrong. Messages may hold what a server or a certificate says. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : "";
}
