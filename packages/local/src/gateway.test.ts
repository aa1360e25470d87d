import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { IncomingMessage, RequestListener, RequestOptions, Server } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "./free-port.ts";
import { openGateway } from "./gateway.ts";
import type { Gateway } from "./gateway.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const portOf = (server: Server) => (server.address() as AddressInfo).port;

/** Stands for the API's process. */
async function api(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => endAtOnce(server));
  return server;
}

/** As the end of a process ends it. */
function endAtOnce(server: Server): void {
  server.close();
  server.closeAllConnections();
}

async function before(listener: RequestListener): Promise<Gateway> {
  const gateway = await openGateway(0, portOf(await api(listener)));
  ends.push(() => gateway.close());
  return gateway;
}

async function ask(
  url: string,
  options: RequestOptions = {},
  body?: string | Buffer,
): Promise<IncomingMessage> {
  const asked = request(url, options);
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
}

test("a request that comes before any process is told to come again, and is answered from the first turn on", async () => {
  const gateway = await openGateway(0);
  ends.push(() => gateway.close());
  const early = await ask(gateway.url);
  expect([early.statusCode, early.headers["content-type"]]).toEqual([503, "application/problem+json"]);
  expect(JSON.parse(await text(early))).toMatchObject({ status: 503, detail: "it is starting" });
  await gateway.turnTo(portOf(await api((_, answer) => answer.end("here"))));
  expect(await text(await ask(gateway.url))).toBe("here");
});

describe("requests without a pause", () => {
  test.each([
    ["over connections that are kept", true],
    ["each over a connection of its own", false],
  ])(
    "%s are all answered while one process follows the other, and by one whose turn it was",
    async (_, keepAlive) => {
      let turn = 0;
      const answering = (own: number): RequestListener => {
        return (asked, answer) => {
          // In two parts, so that many are under way at each turn.
          void text(asked).then((sent) => {
            answer.write(`${own} `);
            setImmediate(() => answer.end(sent));
          });
        };
      };
      const gateway = await before(answering(0));
      const agent = new Agent({ keepAlive, maxSockets: 8 });
      ends.push(() => agent.destroy());
      const done = new AbortController();
      const failures: unknown[] = [];
      let answered = 0;
      const client = async (name: number): Promise<void> => {
        for (let n = 0; !done.signal.aborted; n += 1) {
          const from = turn;
          try {
            const sent = `${name}.${n}`;
            const answer = await ask(gateway.url, { agent, method: "POST" }, sent);
            const [by = "", back] = (await text(answer)).split(" ");
            const own = Number(by);
            if (answer.statusCode !== 200 || back !== sent || own < from || own > turn)
              failures.push([answer.statusCode, by, back, from, turn]);
            answered += 1;
          } catch (error) {
            failures.push(error);
          }
        }
      };
      const clients = Array.from({ length: 8 }, (__, name) => client(name));
      let last = await api(answering(0));
      await gateway.turnTo(portOf(last));
      while (turn < 50) {
        const next = await api(answering(turn + 1));
        const seen = answered;
        turn += 1;
        await gateway.turnTo(portOf(next));
        endAtOnce(last);
        last = next;
        await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(seen + 8);
      }
      done.abort();
      await Promise.all(clients);
      expect(failures).toEqual([]);
    },
  );

  test("that are under way belong to the process before, which is told when the last of them is answered", async () => {
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const gateway = await before((_, answer) => {
      asked.resolve();
      void answered.promise.then(() => answer.end("before"));
    });
    const slow = fetch(gateway.url);
    await asked.promise;
    let over = false;
    const turned = gateway
      .turnTo(portOf(await api((_, answer) => answer.end("after"))))
      .then(() => (over = true));
    expect(await (await fetch(gateway.url)).text()).toBe("after");
    expect(over).toBe(false);
    answered.resolve();
    expect(await (await slow).text()).toBe("before");
    await turned;
  });
});

test("a request that came while this process stood still is read, however long its connection was idle by then", async () => {
  const gateway = await before((asked, answer) => answer.end(asked.url));
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  ends.push(() => socket.destroy());
  let said = "";
  socket.on("data", (part) => (said += part.toString()));
  const broken = once(socket, "close");
  const put = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
  put("/first");
  await expect.poll(() => said).toContain("/first");
  // Written to the connection at once, and not read before this process goes on, with its timers first: after an
  // immediate. Node's own patience is 6 seconds.
  await new Promise((resolve) => setImmediate(resolve));
  put("/second");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_200);
  const second = expect.poll(() => said).toContain("/second");
  await Promise.race([second, broken.then(() => expect.fail("the connection was closed"))]);
});

describe("a request comes to the API, and its answer back, as it was sent:", () => {
  test("names, values and those that come twice, but for what is of one connection", async () => {
    let seen: IncomingMessage | undefined;
    const gateway = await before((asked, answer) => {
      seen = asked;
      answer.writeHead(418, "Short and stout", [
        "Set-Cookie",
        "a=1",
        "Set-Cookie",
        "b=2",
        "X-Of",
        "the answer",
      ]);
      answer.end("tea");
    });
    const headers = {
      Host: "ghouls.test",
      "X-Twice": ["1", "2"],
      Expect: "100-continue",
      "Keep-Alive": "timeout=5",
    };
    const answer = await ask(`${gateway.url}/a%20b?c=d`, { headers });
    expect(answer).toMatchObject({ statusCode: 418, statusMessage: "Short and stout" });
    expect(answer.headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "x-of": "the answer" });
    expect(answer.headers).not.toHaveProperty("keep-alive");
    expect(await text(answer)).toBe("tea");
    expect(seen?.url).toBe("/a%20b?c=d");
    expect(seen?.headersDistinct).toMatchObject({ host: ["ghouls.test"], "x-twice": ["1", "2"] });
    expect(seen?.headers).not.toHaveProperty("expect");
    expect(seen?.headers).not.toHaveProperty("keep-alive");
  });

  test.each<[string, RequestOptions, string]>([
    ["a body in pieces", { method: "POST", headers: { "transfer-encoding": "chunked" } }, "in pieces"],
    ["a body of a known length", { method: "PUT", headers: { "content-length": 5 } }, "known"],
    ["a body where there is none as a rule", { method: "DELETE", headers: { "content-length": 3 } }, "odd"],
    ["no body", { method: "POST", headers: { "content-length": 0 } }, ""],
  ])("%s", async (_name, options, body) => {
    const gateway = await before(
      (asked, answer) => void text(asked).then((sent) => answer.end(`${asked.method} ${sent}`)),
    );
    expect(await text(await ask(gateway.url, options, body))).toBe(`${options.method} ${body}`);
  });

  test.each([
    ["HEAD", 200, "12"],
    ["GET", 204, undefined],
    ["GET", 304, undefined],
  ])("the answer without a body to a %s with %i", async (method, status, length) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    ends.push(() => agent.destroy());
    const gateway = await before((_, answer) => {
      answer.writeHead(status, length === undefined ? {} : { "content-length": length });
      answer.end();
    });
    for (const __ of ["one", "and the next of the same connection"]) {
      const answer = await ask(gateway.url, { agent, method });
      expect([answer.statusCode, answer.headers["content-length"]]).toEqual([status, length]);
      expect(await text(answer)).toBe("");
    }
  });

  test("a stream, part by part, and that nobody listens any more", async () => {
    const gone = Promise.withResolvers<void>();
    const more = Promise.withResolvers<void>();
    const gateway = await before((_, answer) => {
      answer.once("close", gone.resolve);
      answer.flushHeaders();
      void more.promise.then(() => answer.write("first"));
    });
    const answer = await ask(gateway.url);
    more.resolve();
    const [part] = (await once(answer, "data")) as [Buffer];
    expect(part.toString()).toBe("first");
    answer.destroy();
    await gone.promise;
  });

  test("one that is answered before it was read to its end; its connection goes on", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    ends.push(() => agent.destroy());
    const gateway = await before((asked, answer) => {
      if (asked.method === "GET") return answer.end("next");
      answer.writeHead(413);
      return answer.end("too large");
    });
    const large = await ask(gateway.url, { agent, method: "POST" }, Buffer.alloc(8_000_000));
    expect([large.statusCode, await text(large)]).toEqual([413, "too large"]);
    expect(await text(await ask(gateway.url, { agent }))).toBe("next");
  });
});

test("where no process answers, that is said; where one dies in its answer, the answer is cut and not taken for whole", async () => {
  const gateway = await before((asked, answer) => {
    answer.writeHead(200, { "content-length": 10 });
    answer.write("half", () => asked.socket.destroy());
  });
  const cut = await ask(gateway.url);
  await expect(text(cut)).rejects.toThrow("aborted");
  await gateway.turnTo(await freePort());
  const none = await fetch(gateway.url);
  expect(none.status).toBe(502);
  expect(await none.json()).toMatchObject({ status: 502, detail: expect.stringContaining("ECONNREFUSED") });
});
