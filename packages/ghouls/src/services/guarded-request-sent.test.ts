import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type RequestListener, type Server } from "node:http";
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NoAnswerError, guardedRequest, type Guard, type GuardedRequest } from "./guarded-request.ts";
import { tlsServer, trustIt } from "./tls-server.support.ts";

const servers: (Server | TcpServer)[] = [];
let requests = 0;

beforeEach(() => {
  requests = 0;
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if ("closeAllConnections" in server) server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const hello: RequestListener = (_request, response) => {
  requests += 1;
  response.end("hello");
};

async function listening(server: Server | TcpServer): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** Every name is at these addresses, and they stand for public ones. */
const at = (...addresses: string[]): Guard => ({
  resolve: () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))),
  admits: () => true,
});
const atJobs = at("127.0.0.1");

/** Whether anything may have been sent of a request that brings no answer. */
async function posted(url: string, rest: Partial<GuardedRequest> = {}, guard?: Guard): Promise<boolean> {
  const request: GuardedRequest = {
    method: "POST",
    url: new URL(url),
    headers: {},
    body: "{}",
    maxBytes: 100,
    signal: new AbortController().signal,
    origins: [],
    ...rest,
  };
  const error: unknown = await guardedRequest(request, guard).catch((reason: unknown) => reason);
  if (error instanceof NoAnswerError) return error.sent;
  throw new Error("it was answered, or failed otherwise", { cause: error });
}

describe("whether anything of a request may have been sent", () => {
  it("is no where the address is refused, has no name, or its time is over", async () => {
    const resolve = () => Promise.reject(Object.assign(new Error("no"), { code: "EAI_AGAIN" }));
    expect(await posted("https://10.0.0.1/")).toBe(false);
    expect(await posted("http://jobs.example/")).toBe(false);
    expect(await posted("https://jobs.example/", {}, { ...at("8.8.8.8"), resolve })).toBe(false);
    expect(await posted("https://jobs.example/", { signal: AbortSignal.abort() }, atJobs)).toBe(false);
  });

  it("is no where a header cannot be sent", async () => {
    const origin = `http://127.0.0.1:${await listening(createServer(hello))}`;
    expect(await posted(origin, { origins: [origin], headers: { "x-team": "é\n" } })).toBe(false);
    expect(requests).toBe(0);
  });

  it.each(["http", "https"])("is no where nobody listens: %s", async (scheme) => {
    const server = createServer(hello);
    const origin = `${scheme}://127.0.0.1:${await listening(server)}`;
    await new Promise((resolve) => server.close(resolve));
    expect(await posted(origin, { origins: [origin] })).toBe(false);
  });

  it("is no where no address of several takes it, and yes where one does", async () => {
    const server = tlsServer(hello, () => undefined);
    const url = `https://jobs.example:${await listening(server)}/`;
    const guard = at("::1", "127.0.0.1");
    const distrust = trustIt();
    try {
      server.removeAllListeners("request").on("request", (request) => request.socket.destroy());
      expect(await posted(url, {}, guard)).toBe(true);
      await new Promise((resolve) => server.close(resolve));
      expect(await posted(url, {}, guard)).toBe(false);
    } finally {
      distrust();
    }
  });

  it("is yes where the connection is reset as soon as it is there, whatever came over it", async () => {
    const accepted = Promise.withResolvers<Socket>();
    const connected = Promise.withResolvers<void>();
    const origin = `http://127.0.0.1:${await listening(createTcpServer(accepted.resolve))}`;
    const made = (message: unknown) =>
      void (message as { socket: Socket }).socket.once("connect", () => connected.resolve());
    subscribe("net.client.socket", made);
    try {
      const sent = posted(origin, { origins: [origin] });
      await connected.promise;
      (await accepted.promise).resetAndDestroy();
      expect(await sent).toBe(true);
    } finally {
      unsubscribe("net.client.socket", made);
    }
  });

  it("is yes where it is reset as soon as the host has been recognised", async () => {
    const server = tlsServer(hello, () => undefined).on("secureConnection", (socket) => socket.destroy());
    const url = `https://jobs.example:${await listening(server)}/`;
    const distrust = trustIt();
    try {
      expect(await posted(url, {}, atJobs)).toBe(true);
    } finally {
      distrust();
    }
  });

  it("is no where the connection is reset before TLS stands, or speaks no TLS", async () => {
    const reset = createTcpServer((socket) => socket.resetAndDestroy());
    expect(await posted(`https://jobs.example:${await listening(reset)}/`, {}, atJobs)).toBe(false);
    const plain = createServer(hello);
    expect(await posted(`https://jobs.example:${await listening(plain)}/`, {}, atJobs)).toBe(false);
    expect(requests).toBe(0);
  });

  it("is no where its time ends before TLS stands, and yes where it ends after", async () => {
    const early = new AbortController();
    const mute = createTcpServer((socket) => void socket.once("data", () => early.abort()));
    const muteUrl = `https://jobs.example:${await listening(mute)}/`;
    expect(await posted(muteUrl, { signal: early.signal }, atJobs)).toBe(false);
    const late = new AbortController();
    const server = tlsServer(
      () => late.abort(),
      () => undefined,
    );
    const url = `https://jobs.example:${await listening(server)}/`;
    const distrust = trustIt();
    try {
      expect(await posted(url, { signal: late.signal }, atJobs)).toBe(true);
    } finally {
      distrust();
    }
  });

  it("is no where the certificate is another host's, and that server is sent nothing", async () => {
    const port = await listening(tlsServer(hello, () => undefined));
    const bytes = Promise.withResolvers<number>();
    const front = createTcpServer((client) => {
      client.on("close", () => bytes.resolve(client.bytesRead));
      client.pipe(connect(port, "127.0.0.1")).pipe(client);
    });
    const url = `https://other.example:${await listening(front)}/`;
    const distrust = trustIt();
    try {
      expect(await posted(url, { body: "x".repeat(50_000) }, atJobs)).toBe(false);
      // A handshake, and not even something that nobody there could read.
      expect(await bytes.promise).toBeLessThan(10_000);
      expect(requests).toBe(0);
    } finally {
      distrust();
    }
  });
});
