import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Site, SiteFile } from "@ghouls/console";
import { GhoulsError } from "@ghouls/core";

/** Where the API listens if the user names no port. */
const DEFAULT_PORT = 4700;

/**
 * The user's port of the API. It stays with the host while the processes behind it are replaced, so no connection is ever
 * refused or cut off by a reload: a request belongs to the process that had its turn when it came, and the next request of
 * the same connection may belong to another one.
 */
export interface Gateway {
  readonly url: string;
  /**
   * Sends every request from now on to another port.
   * @returns resolves when the last request of the one before has been answered
   */
  turnTo(port: number): Promise<void>;
  /** Ends all connections. */
  close(): void;
}

/** A process that requests are sent to. */
interface Target {
  readonly port: number;
  /** Requests that it has not answered. */
  open: number;
  /** Called when there is none of these any more, and none will come. */
  onAnswered: (() => void) | undefined;
}

/**
 * Listens on loopback.
 * @param first where requests go; without it they are answered 503 until the first turn
 * @param port the user's; {@link DEFAULT_PORT} where undefined, or a free one where that is taken
 * @param site the console, which answers whoever asks for a page of it
 * @throws GhoulsError where the user's port cannot be used
 */
export async function openGateway(port: number | undefined, first?: number, site?: Site): Promise<Gateway> {
  let target = first === undefined ? undefined : targetAt(first);
  // It never ends an idle connection by itself. A server that does so after some seconds cuts off the request that came
  // while its process stood still: the timer fires before the request is read.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const file = fileFor(site, request);
    if (file !== undefined) {
      response.writeHead(200, { ...file.headers, "content-length": file.body.byteLength });
      response.end(request.method === "HEAD" ? undefined : file.body);
      return;
    }
    const mine = target;
    if (mine === undefined) {
      refuse(response, 503, "Service Unavailable", "it is starting");
      return;
    }
    mine.open += 1;
    response.once("close", () => {
      mine.open -= 1;
      if (mine.open === 0) mine.onAnswered?.();
    });
    forward(mine.port, request, response);
  });
  await listenNear(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    turnTo: (next) => {
      const before = target;
      target = targetAt(next);
      return new Promise((resolve) => {
        if (before === undefined || before.open === 0) resolve();
        else before.onAnswered = resolve;
      });
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function fileFor(site: Site | undefined, { method, url, headers }: IncomingMessage): SiteFile | undefined {
  if (site === undefined || (method !== "GET" && method !== "HEAD")) return undefined;
  return site.fileFor((url ?? "/").replace(/[?#].*$/s, ""), headers.accept);
}

function targetAt(port: number): Target {
  return { port, open: 0, onAnswered: undefined };
}

async function listenNear(server: Server, port: number | undefined): Promise<void> {
  try {
    await listen(server, port ?? DEFAULT_PORT);
  } catch (error) {
    const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!taken || port !== undefined) {
      throw new GhoulsError("configuration_invalid", `port ${port ?? DEFAULT_PORT} cannot be used`, {
        fix: "Choose another with --port, or --port 0 for any.",
        cause: error,
      });
    }
    await listen(server, 0);
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** They are about one connection, and this is two; RFC 9110, section 7.6.1. */
const OF_THE_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "expect",
]);

/** Each request has a connection of its own, which is fresh: none is written to that may be closed at that moment. */
function forward(port: number, request: IncomingMessage, response: ServerResponse): void {
  const host = request.headers.host === undefined ? ["Host", `127.0.0.1:${port}`] : [];
  const onward = httpRequest({
    host: "127.0.0.1",
    port,
    agent: false,
    method: request.method,
    path: request.url,
    // Who answers before it has read all reads the rest of such a connection, and does not break it off.
    headers: [...headersWithout(OF_THE_CONNECTION, request.rawHeaders), ...host, "Connection", "keep-alive"],
  });
  onward.once("response", (answer) => {
    const headers = headersWithout(OF_THE_ANSWER, answer.rawHeaders);
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
    // Whoever listens to a stream is told that it has begun.
    response.flushHeaders();
    answer.pipe(response);
    answer.once("error", () => response.destroy());
  });
  onward.on("error", (error) => {
    if (!response.headersSent) refuse(response, 502, "Bad Gateway", `no answer: ${error.message}`);
  });
  response.once("close", () => {
    onward.destroy();
    // The connection goes on with what comes behind the rest of this request.
    request.unpipe(onward);
    request.resume();
  });
  request.pipe(onward);
}

function refuse(response: ServerResponse, status: number, title: string, detail: string): void {
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(JSON.stringify({ title, status, detail }));
}

/** How long the answer is stays with it; how it is cut into pieces is said anew. */
const OF_THE_ANSWER = new Set([...OF_THE_CONNECTION, "transfer-encoding"]);

/** Names and values in turn, as they were sent. */
function headersWithout(names: ReadonlySet<string>, raw: readonly string[]): string[] {
  return raw.filter((_, index) => !names.has((raw[index - (index % 2)] ?? "").toLowerCase()));
}
