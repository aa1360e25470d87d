import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { openGateway } from "./gateway.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function behind(listener: RequestListener): Promise<{ gateway: number; direct: number }> {
  const server: Server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const direct = (server.address() as AddressInfo).port;
  const gateway = await openGateway(0, direct);
  ends.push(() => {
    gateway.close();
    server.close();
    server.closeAllConnections();
  });
  return { gateway: Number(new URL(gateway.url).port), direct };
}

/** What comes back for these bytes, until the connection ends. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(bytes, "latin1");
  const timer = setTimeout(() => socket.destroy(), 30_000);
  const answer = await text(socket).catch((error: unknown) => `broken: ${String(error)}`);
  clearTimeout(timer);
  return answer;
}

async function uncaughtWhile(act: () => Promise<string>): Promise<{ answer: string; uncaught: string[] }> {
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const uncaught: string[] = [];
  const keep = (error: Error) => void uncaught.push(error.message);
  process.on("uncaughtException", keep);
  try {
    return { answer: await act(), uncaught };
  } finally {
    process.off("uncaughtException", keep);
    for (const one of before) process.on("uncaughtException", one);
  }
}

const ok: RequestListener = (_, response) => void response.end("ok");

test.each([
  ["a Trailer header on a GET", "GET / HTTP/1.1\r\nHost: x\r\nTrailer: X-A\r\nConnection: close\r\n\r\n"],
  [
    "a Trailer header on a POST with a length",
    "POST / HTTP/1.1\r\nHost: x\r\nTrailer: X-A\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab",
  ],
  ["bytes above 127 in the path", "GET /\xfc\xe9 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["a latin-1 header value", "GET / HTTP/1.1\r\nHost: x\r\nX-A: \xfc\r\nConnection: close\r\n\r\n"],
  ["HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n"],
  ["upgrade", "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"],
  ["absolute form", "GET http://x/y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["an empty header value", "GET / HTTP/1.1\r\nHost: x\r\nX-A:\r\nConnection: close\r\n\r\n"],
  ["an empty Host", "GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"],
  [
    "two Content-Types",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 1\r\nConnection: close\r\n\r\na",
  ],
  [
    "chunked with trailers",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\nConnection: close\r\n\r\n2\r\nab\r\n0\r\nX-A: b\r\n\r\n",
  ],
  [
    "GET chunked",
    "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n0\r\n\r\n",
  ],
  ["GET with a length", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab"],
  [
    "expect",
    "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab",
  ],
  [
    "expect other",
    "POST / HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab",
  ],
  ["M-SEARCH", "M-SEARCH / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["pipelined", "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["HEAD", "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["Date sent", "GET / HTTP/1.1\r\nHost: x\r\nDate: never\r\nConnection: close\r\n\r\n"],
])("a request with %s is answered as it is without the gateway, and ends no process", async (_, bytes) => {
  const seen: unknown[] = [];
  const { gateway, direct } = await behind((request, response) => {
    void text(request).then((body) => {
      seen.push([request.method, request.url, body, request.headers["x-a"], request.headers["content-type"]]);
      ok(request, response);
    });
  });
  const without = await raw(direct, bytes);
  const { answer, uncaught } = await uncaughtWhile(() => raw(gateway, bytes));
  expect(uncaught).toEqual([]);
  const line = (one: string) => one.split("\r\n")[0];
  expect({ line: line(answer), body: answer.endsWith("ok") }).toEqual({
    line: line(without),
    body: without.endsWith("ok"),
  });
  if (seen.length === 2) expect(seen[1]).toEqual(seen[0]);
  if (seen.length === 1) throw new Error("only one was seen by the server");
});
