import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { guardedRequest, type Guard, type GuardedRequest } from "./guarded-request.ts";
import { isPublicAddress } from "./public-address.ts";
import { tlsServer, trustIt } from "./tls-server.support.ts";

const servers: Server[] = [];
let requests = 0;
let names: string[] = [];

beforeEach(() => {
  requests = 0;
  names = [];
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const hello: RequestListener = (_request, response) => {
  requests += 1;
  response.end("hello");
};

async function listening(server: Server, host = "127.0.0.1", port = 0): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(port, host, resolve));
  return (server.address() as AddressInfo).port;
}

const ask = (url: string, rest: Partial<GuardedRequest> = {}, guard?: Guard) =>
  guardedRequest(
    {
      method: "GET",
      url: new URL(url),
      headers: {},
      maxBytes: 100,
      signal: new AbortController().signal,
      origins: [],
      ...rest,
    },
    guard,
  );

/** Answers these addresses, each list once, the last for ever. */
function resolver(...answers: string[][]) {
  return vi.fn((_name: string) => {
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
  });
}
const realRule = (resolve: Guard["resolve"]): Guard => ({ resolve, admits: isPublicAddress });
/** 127.0.0.1 stands for a public address. */
const standIn = (resolve: Guard["resolve"]): Guard => ({ resolve, admits: (one) => one === "127.0.0.1" });

describe("a request to an address that is not public", () => {
  it.each([
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "１２７.０.０.１",
    "127.1",
    "0",
    "0.0.0.0",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::7f00:1]",
    "[64:ff9b::7f00:1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "169.254.169.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
  ])("is not sent: %s", async (host) => {
    const resolve = resolver(["8.8.8.8"]);
    const port = await listening(tlsServer(hello, (name) => names.push(name)));
    await expect(ask(`https://${host}:${port}/`, {}, realRule(resolve))).rejects.toThrow("no public one");
    expect([resolve.mock.calls.length, requests, names]).toEqual([0, 0, []]);
  });

  it("is not sent to localhost, as this machine itself resolves it", async () => {
    const port = await listening(tlsServer(hello, (name) => names.push(name)));
    await expect(ask(`https://localhost:${port}/`)).rejects.toThrow("no public one");
    expect([requests, names]).toEqual([0, []]);
  });

  it.each([
    ["a private address", ["10.0.0.1"]],
    ["a public and a private address", ["8.8.8.8", "10.0.0.1"]],
    ["a public and a mapped loopback address", ["2606:4700::1111", "::ffff:127.0.0.1"]],
    ["no address", []],
  ])("is not sent to a name that has %s", async (_what, addresses) => {
    await expect(ask("https://jobs.example/", {}, realRule(resolver(addresses)))).rejects.toThrow(
      "its address is refused",
    );
  });

  it("is not sent where the name cannot be resolved", async () => {
    const resolve = () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" }));
    await expect(ask("https://jobs.example/", {}, realRule(resolve))).rejects.toThrow(
      "there was no connection to it (ENOTFOUND)",
    );
  });

  it("is not sent in the clear, wherever it would go", async () => {
    const resolve = resolver(["8.8.8.8"]);
    await expect(ask("http://jobs.example/", {}, realRule(resolve))).rejects.toThrow("not https");
    expect(resolve).not.toHaveBeenCalled();
  });
});

describe("a request to an address that was looked at", () => {
  it("goes there under the host's own name, and its certificate must be that host's", async () => {
    const port = await listening(tlsServer(hello, (name) => names.push(name)));
    const guard = standIn(resolver(["127.0.0.1"]));
    await expect(ask(`https://jobs.example:${port}/`, {}, guard)).rejects.toThrow("SELF_SIGNED_CERT");
    const distrust = trustIt();
    try {
      expect(await ask(`https://jobs.example:${port}/`, {}, guard)).toEqual({ status: 200, text: "hello" });
      await expect(
        ask(`https://other.example:${port}/`, { headers: { host: "jobs.example" } }, guard),
      ).rejects.toThrow("(ERR_TLS_CERT_ALTNAME_INVALID)");
    } finally {
      distrust();
    }
    expect(names).toEqual(["jobs.example", "jobs.example", "other.example"]);
    expect(requests).toBe(1);
  });

  it("asks for the name once: one that answers a public address first and loopback then reaches no loopback", async () => {
    const distrust = trustIt();
    try {
      const port = await listening(tlsServer(hello, (name) => names.push(name)));
      let victims = 0;
      const victim = tlsServer(
        () => undefined,
        () => (victims += 1),
      );
      // macOS has no other 127.x.
      const victimHost = process.platform === "darwin" ? "::1" : "127.0.0.2";
      await listening(victim, victimHost, port);
      const resolve = resolver(["127.0.0.1"], [victimHost]);
      const guard = standIn(resolve);
      expect(await ask(`https://jobs.example:${port}/`, {}, guard)).toMatchObject({ status: 200 });
      expect(resolve).toHaveBeenCalledTimes(1);
      await expect(ask(`https://jobs.example:${port}/`, {}, guard)).rejects.toThrow("its address is refused");
      expect(victims).toBe(0);
    } finally {
      distrust();
    }
  });

  it("goes to the next of them where the first does not take it", async () => {
    const distrust = trustIt();
    try {
      const port = await listening(tlsServer(hello, (name) => names.push(name)));
      const guard = { resolve: resolver(["::1", "127.0.0.1"]), admits: () => true };
      expect(await ask(`https://jobs.example:${port}/`, {}, guard)).toMatchObject({ status: 200 });
      expect(requests).toBe(1);
    } finally {
      distrust();
    }
  });
});

describe("a request to an admitted origin", () => {
  it("is sent without TLS and without a look at its address", async () => {
    const port = await listening(createServer(hello));
    const url = `http://127.0.0.1:${port}`;
    expect(await ask(url, { origins: [url] })).toEqual({ status: 200, text: "hello" });
  });

  it.each([
    ["another port", (port: number) => `http://127.0.0.1:${port + 1}`],
    ["another scheme", (port: number) => `https://127.0.0.1:${port}`],
    ["another name of the same address", (port: number) => `http://localhost:${port}`],
    ["a path", (port: number) => `http://127.0.0.1:${port}/`],
  ])("is not one to %s", async (_what, origin) => {
    const port = await listening(createServer(hello));
    await expect(ask(`http://127.0.0.1:${port}`, { origins: [origin(port)] })).rejects.toThrow("refused");
    expect(requests).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])("that redirects with %s is not followed to loopback", async (status) => {
    const target = await listening(createServer(hello));
    const location = `http://127.0.0.1:${target}/`;
    const port = await listening(
      createServer((_request, response) => void response.writeHead(status, { location }).end()),
    );
    const origin = `http://127.0.0.1:${port}`;
    const origins = [origin, new URL(location).origin];
    expect(await ask(origin, { method: "POST", body: "{}", origins })).toEqual({ status, text: "" });
    expect(requests).toBe(0);
  });
});

describe("an answer", () => {
  const answered = async (listener: RequestListener, rest: Partial<GuardedRequest> = {}) => {
    const origin = `http://127.0.0.1:${await listening(createServer(listener))}`;
    return ask(origin, { origins: [origin], ...rest });
  };

  it("that never ends is read up to its limit, and not further", async () => {
    const closed = Promise.withResolvers<void>();
    const flood = answered((_request, response) => {
      response.on("close", () => closed.resolve());
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1_000)));
      };
      response.on("drain", write);
      write();
    });
    await expect(flood).rejects.toThrow("more than 100 bytes");
    await closed.promise;
  });

  it("of the largest size is read, and one of a byte more is not", async () => {
    expect(await answered((_, response) => void response.end("é".repeat(50)))).toMatchObject({ status: 200 });
    await expect(answered((_, response) => void response.end("x".repeat(101)))).rejects.toThrow("more than");
  });

  it("that comes drop by drop ends with its time", async () => {
    const deadline = new AbortController();
    const slow = answered(
      (_request, response) => {
        response.write("a");
        setImmediate(() => deadline.abort());
      },
      { signal: deadline.signal },
    );
    await expect(slow).rejects.toThrow("it did not answer in time");
  });

  it("that does not come ends with its time", async () => {
    const deadline = new AbortController();
    const slow = answered(() => deadline.abort(), { signal: deadline.signal });
    await expect(slow).rejects.toThrow("it did not answer in time");
  });

  it.each<[string, RequestListener]>([
    ["none", (request) => void request.socket.destroy()],
    ["cut off", (_request, response) => void response.writeHead(200, { "content-length": "9" }).end("abc")],
    ["no HTTP", (request) => void request.socket.end("hello")],
    ["no UTF-8", (_request, response) => void response.end(Buffer.from([0xc3, 0x28]))],
    ["half a character", (_request, response) => void response.end(Buffer.from([0xc3]))],
    [
      "an upgrade",
      (request) =>
        void request.socket.end("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    ],
  ])("that is %s is no answer", async (_what, listener) => {
    await expect(answered(listener)).rejects.toThrow(
      /^it (broke off, or its answer cannot be read|closed the connection)/,
    );
  });

  it("is not asked for with a header that would begin another one", async () => {
    await expect(answered(hello, { headers: { authorization: "x\r\nhost: y" } })).rejects.toThrow(
      "(ERR_INVALID_CHAR)",
    );
    expect(requests).toBe(0);
  });

  it("is not asked for once its time is over, also while the name is being resolved", async () => {
    const port = await listening(tlsServer(hello, (name) => names.push(name)));
    const deadline = new AbortController();
    const resolving = Promise.withResolvers<{ address: string; family: number }[]>();
    const asked = ask(
      `https://jobs.example:${port}/`,
      { signal: deadline.signal },
      standIn(() => resolving.promise),
    );
    deadline.abort();
    await expect(asked).rejects.toThrow("there was no connection to it in time");
    resolving.resolve([{ address: "127.0.0.1", family: 4 }]);
    await expect(answered(hello, { signal: deadline.signal })).rejects.toThrow(
      "there was no connection to it in time",
    );
    expect([requests, names]).toEqual([0, []]);
  });
});
