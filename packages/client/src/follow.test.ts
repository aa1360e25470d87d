import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { wire } from "@ghouls/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AT, json, problem, RUN_ID, viewOf, type Answer } from "./answers.support.ts";
import { createClient } from "./client.ts";
import { ProblemError, UnreachableError } from "./errors.ts";
import { RunEndedError } from "./run.ts";
import { pause, type ClientOptions } from "./transport.ts";

const chunk = (text: string): wire.RunEvent => ({
  kind: "chunk",
  at: AT,
  enqueueSeq: 1,
  channel: "tokens",
  chunk: text,
});
const FINISHED: wire.RunEvent = { kind: "finished", at: AT, status: "DONE", errorCode: null };
const batch = (id: string, ...events: wire.RunEvent[]): wire.EventBatch => ({ id, events });
const message = (one: wire.EventBatch) => `id: ${one.id}\ndata: ${JSON.stringify(one)}\n\n`;

let server: Server;
let seen: IncomingMessage[];
let answers: Answer[];
let waits: number[];
beforeEach(async () => {
  [seen, answers, waits] = [[], [], []];
  server = createServer((request, response) => {
    seen.push(request);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function clientOf(options: Partial<ClientOptions> = {}, streams = true) {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sleep = (ms: number, signal?: AbortSignal) => {
    waits.push(ms);
    return pause(0, signal);
  };
  return createClient({
    baseUrl,
    token: "secret",
    sleep,
    ...(streams ? { eventsUrl: baseUrl } : {}),
    ...options,
  });
}

const stream =
  (text: string, end = true): Answer =>
  (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(text, () => {
      if (end) response.end();
      else response.destroy();
    });
  };

async function gathered(events: AsyncIterable<wire.RunEvent>): Promise<string[]> {
  const kinds: string[] = [];
  for await (const event of events) kinds.push(event.kind === "chunk" ? event.chunk : event.kind);
  return kinds;
}
const paths = () => seen.map(({ url }) => url?.replace(`/v1/runs/${RUN_ID}/events`, ""));

describe("the events of a run", () => {
  it("come in order from one stream, until the run has ended", async () => {
    const text = `retry: 500\n\n: \n\n${message(batch("1.2.1.0", chunk("a"), chunk("b")))}${message(batch("end", FINISHED))}`;
    answers = [stream(text)];
    expect(await gathered(clientOf().run(RUN_ID).events())).toEqual(["a", "b", "finished"]);
    expect(seen[0]?.headers).toMatchObject({ accept: "text/event-stream", authorization: "Bearer secret" });
    expect(paths()).toEqual([""]);
  });

  it.each([
    ["ends", true],
    ["breaks off in the middle of a message", false],
  ])("go on behind the last batch where a stream %s, and none is told twice", async (_, ends) => {
    const half = ends ? "" : message(batch("1.2.2.0", chunk("b"))).slice(0, 40);
    answers = [
      stream(message(batch("1.2.1.0", chunk("a"))) + half, ends),
      stream(message(batch("1.2.2.0", chunk("b"))) + message(batch("end", FINISHED))),
    ];
    expect(await gathered(clientOf().run(RUN_ID).events())).toEqual(["a", "b", "finished"]);
    expect(paths()).toEqual(["", "?after=1.2.1.0"]);
  });

  it("are a text that may be cut anywhere", async () => {
    const bytes = Buffer.from(message(batch("1.2.1.0", chunk("ä€𝄞"))) + message(batch("end", FINISHED)));
    answers = [
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const write = (at: number): void => {
          if (at === bytes.length) response.end();
          else response.write(bytes.subarray(at, at + 1), () => setImmediate(write, at + 1));
        };
        write(0);
      },
    ];
    expect(await gathered(clientOf().run(RUN_ID).events())).toEqual(["ä€𝄞", "finished"]);
  });

  it("are none behind the end, and what is no batch is left out", async () => {
    answers = [(response) => void response.writeHead(204).end()];
    expect(await gathered(clientOf().run(RUN_ID).events({ after: "end" }))).toEqual([]);
    answers = [stream(`data: no json\n\ndata: {"id":1}\n\n${message(batch("end", FINISHED))}`)];
    expect(await gathered(clientOf().run(RUN_ID).events())).toEqual(["finished"]);
  });

  it("are asked for again and again where nothing streams", async () => {
    answers = [
      json({ batches: [batch("1.2.1.0", chunk("a"))], done: false, nextAfter: "1.2.1.0" }),
      json({ batches: [], done: false, nextAfter: "1.2.1.0" }),
      json({ batches: [batch("end", FINISHED)], done: true, nextAfter: "end" }),
    ];
    expect(await gathered(clientOf({}, false).run(RUN_ID).events())).toEqual(["a", "finished"]);
    expect(paths()).toEqual(["?wait=20", "?after=1.2.1.0&wait=20", "?after=1.2.1.0&wait=20"]);
    answers = [json({ batches: [], done: true, nextAfter: "end" })];
    expect(await gathered(clientOf({}, false).run(RUN_ID).events({ after: "end" }))).toEqual([]);
  });

  it("wait for a server that is away, with growing pauses, and give up after several in a row", async () => {
    answers = [
      problem("ledger_unavailable", 503, { "retry-after": "3" }),
      (response) => void response.destroy(),
      stream(message(batch("1.2.1.0", chunk("a")))),
      (response) => void response.destroy(),
      stream(message(batch("end", FINISHED))),
    ];
    expect(await gathered(clientOf().run(RUN_ID).events())).toEqual(["a", "finished"]);
    expect(waits).toEqual([3_000, 500, 250]);
    answers = [(response) => void response.destroy()];
    await expect(gathered(clientOf({ tries: 3 }).run(RUN_ID).events())).rejects.toThrow(UnreachableError);
    answers = [stream("", false)];
    await expect(gathered(clientOf({ tries: 2 }).run(RUN_ID).events())).rejects.toThrow(UnreachableError);
  });

  it("are refused at once where that is final", async () => {
    answers = [problem("not_found", 404)];
    await expect(gathered(clientOf().run(RUN_ID).events())).rejects.toThrow(ProblemError);
    expect(seen).toHaveLength(1);
  });

  it("end with the signal, and leave no connection where nobody reads on", async () => {
    answers = [
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(message(batch("1.2.1.0", chunk("a"))));
      },
    ];
    const controller = new AbortController();
    const reading = gathered(clientOf().run(RUN_ID).events({ signal: controller.signal }));
    await expect.poll(() => seen.length).toBe(1);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    for await (const event of clientOf().run(RUN_ID).events()) {
      expect(event.kind).toBe("chunk");
      break;
    }
    await expect
      .poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count))))
      .toBe(0);
  });
});

describe("a run", () => {
  it("has the token of the moment, a result once it is DONE, and an error with its failure where it is not", async () => {
    let tokens = 0;
    const client = clientOf({ token: () => `t${(tokens += 1)}` });
    answers = [
      json(viewOf("RUNNING")),
      json({ ...viewOf("DONE"), output: { greeting: "hello" } }),
      json({
        ...viewOf("FAILED"),
        errorCode: "step_failed",
        error: { code: "step_failed", name: "Error", message: "no" },
      }),
      json(viewOf("CANCELLED")),
    ];
    const run = client.run(RUN_ID);
    expect(await run.result()).toEqual({ greeting: "hello" });
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer t1", "Bearer t2"]);
    await expect(run.result()).rejects.toMatchObject({ status: "FAILED", code: "step_failed" });
    const cancelled = await run.result().catch((error: unknown) => error);
    expect(cancelled).toBeInstanceOf(RunEndedError);
    expect(String(cancelled)).toBe(`RunEndedError: run ${RUN_ID} is CANCELLED`);
  });
});
