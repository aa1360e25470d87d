import { isDeepStrictEqual } from "node:util";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isOnLoopback } from "./callback.ts";
import type { Callback, Job, Jobs } from "./jobs.ts";
import { SignRequest } from "./statement.ts";
import { reportOf } from "./work.ts";

const MAX_BODY_BYTES = 64 * 1024;
const KEY = /^[\x21-\x7e]{1,255}$/;

export interface ServerOptions {
  readonly jobs: Jobs;
  /** PEM. */
  readonly publicKey: string;
  /** Called with a key that was accepted, after its answer. */
  readonly accepted: (key: string) => void;
  readonly log: (text: string) => void;
}

/** What is answered instead of what was asked for. */
class Refusal extends Error {
  readonly status: number;
  readonly body: object;

  /** @param state "failed" where no repetition could be taken either */
  constructor(status: number, code: string, message: string, state?: "failed") {
    super(message);
    this.status = status;
    this.body = { ...(state === undefined ? {} : { state }), error: { code, message } };
  }
}

/**
 * The service's protocol over HTTP:
 *
 * | request             | answer                                                                                        |
 * | ------------------- | --------------------------------------------------------------------------------------------- |
 * | `POST /jobs`        | 202 `accepted`; its present state for a key that it has with this request; 409 with another one; 422 `failed` for what it cannot sign |
 * | `GET /jobs/<key>`   | the job's state; 404 where it has not taken it                                                 |
 * | `DELETE /jobs/<key>` | `cancelled`, which is final, also for a key that comes later; or `succeeded`, where it was signed before |
 * | `GET /public-key`   | PEM                                                                                           |
 */
export function createSigningServer(options: ServerOptions): Server {
  const server = createServer((request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      const refusal =
        error instanceof Refusal ? error : new Refusal(500, "internal", "it failed; its log says more");
      // Of the request nothing is told, and of a failure its kind alone.
      if (refusal !== error) options.log(`a request failed: ${kindOf(error)}`);
      // What is left of the body is not read.
      if (!request.complete) response.setHeader("connection", "close");
      send(response, refusal.status, refusal.body);
    });
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  return server;
}

function kindOf(error: unknown): string {
  const { name, code } = error as NodeJS.ErrnoException;
  return code ?? name;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ServerOptions,
): Promise<void> {
  const { method = "" } = request;
  const [, where = "", key, ...more] = (request.url ?? "").split("?", 1)[0]?.split("/") ?? [];
  if (where === "public-key" && method === "GET" && key === undefined) {
    response.writeHead(200, { "content-type": "application/x-pem-file" });
    response.end(options.publicKey);
    return;
  }
  if (where !== "jobs" || more.length > 0) throw new Refusal(404, "not_found", "there is no such path");
  if (key === undefined) {
    if (method !== "POST") throw new Refusal(405, "method_not_allowed", "jobs are submitted by POST");
    return submit(request, response, options);
  }
  if (method === "GET") {
    const job = await options.jobs.get(decoded(key));
    if (job === undefined) throw new Refusal(404, "no_such_job", "no job was accepted under this key");
    return send(response, 200, reportOf(job));
  }
  if (method !== "DELETE")
    throw new Refusal(405, "method_not_allowed", "a job is looked up by GET and cancelled by DELETE");
  send(response, 200, reportOf(await cancel(options.jobs, decoded(key))));
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    throw new Refusal(400, "bad_key", "the key is not well encoded");
  }
}

function cancel(jobs: Jobs, key: string): Promise<Job> {
  return jobs.move(key, (job) => (job?.state === "succeeded" ? job : { key, state: "cancelled" }));
}

async function submit(
  request: IncomingMessage,
  response: ServerResponse,
  options: ServerOptions,
): Promise<void> {
  const { "idempotency-key": key, "content-type": type } = request.headers;
  // It also keeps out what a web page could send without being asked.
  if (type?.split(";")[0]?.trim() !== "application/json")
    throw new Refusal(415, "unsupported_media_type", "send application/json");
  if (typeof key !== "string" || !KEY.test(key))
    throw new Refusal(400, "no_key", "an Idempotency-Key of at most 255 visible characters is needed");
  const asked = understood(await bodyOf(request));
  const callback = callbackOf(request);
  const job = await options.jobs.move(key, (found): Job => {
    if (found === undefined) return { key, state: "accepted", request: asked, callback };
    if (found.state !== "cancelled" && !isDeepStrictEqual(found.request, asked))
      throw new Refusal(409, "key_reused", "this key was accepted with another request");
    // Its last submission says whom to tell, as long as nobody has been told.
    return found.state === "accepted" && callback !== null ? { ...found, callback } : found;
  });
  send(response, job.state === "accepted" ? 202 : 200, reportOf(job));
  if (job.state === "accepted") options.accepted(key);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  // The connection stays: whoever sends too much is told so.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES)
      throw new Refusal(413, "too_large", `a request has at most ${MAX_BODY_BYTES} bytes`, "failed");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function understood(text: string): SignRequest {
  const { data, error } = SignRequest.safeParse(parsed(text));
  if (data !== undefined) return data;
  const at = error.issues[0]?.path.join(".") ?? "";
  const where = at === "" ? "" : ` at ${at}`;
  throw new Refusal(422, "bad_request", `this is nothing that is signed here${where}`, "failed");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function callbackOf({ headers }: IncomingMessage): Callback | null {
  const { "ghouls-callback-url": url, "ghouls-callback-token": token } = headers;
  if (typeof url !== "string" || typeof token !== "string") return null;
  if (isOnLoopback(url)) return { url, token };
  throw new Refusal(422, "bad_callback", "it calls nobody back but on this machine", "failed");
}
