import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createAdaptorServer } from "@hono/node-server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createFetch } from "./fake-handlers.support.ts";
import { carryExamples } from "./once.ts";
import type { OnceOptions } from "./once.ts";
import { describeEntry, entryKey, formatEntry } from "./timeline.ts";
import { until } from "./until.support.ts";

let server: Server;
let apiUrl: string;
const lines: string[] = [];

beforeAll(async () => {
  server = createAdaptorServer({ fetch: createFetch({ path: "" }) }) as Server;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => void lines.splice(0));
afterEach(() => vi.useRealTimers());
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function carry(over: Partial<OnceOptions> = {}) {
  return carryExamples({
    apiUrl,
    token: "ghouls_t",
    examples: [
      { workflow: "hello", input: {} },
      { workflow: "gate", input: { outcome: "DONE" } },
    ],
    print: (line) => lines.push(line),
    pollMs: 1,
    signal: new AbortController().signal,
    ...over,
  });
}

describe("carrying the examples", () => {
  test("submits each, prints each entry once, and tells how all ended", async () => {
    const result = await carry();
    expect(result.ok).toBe(true);
    const runId = expect.stringMatching(/^run-\d+$/);
    expect(result.runs).toEqual([
      { runId, workflow: "hello", status: "DONE", enqueueSeq: 1, steps: 2 },
      { runId, workflow: "gate", status: "DONE", enqueueSeq: 1, steps: 2 },
    ]);
    expect(lines.filter((line) => line.startsWith("hello"))).toEqual([
      expect.stringMatching(/^hello {2}run run-\d+$/),
      "hello    +0.000s  admitted",
      "hello    +0.000s  claimed      1 by w",
      "hello    +0.000s  DONE",
    ]);
    expect(lines).toHaveLength(8);
  });

  test("is not ok where one run failed, nor where there was none", async () => {
    const result = await carry({ examples: [{ workflow: "gate", input: { outcome: "FAILED" } }] });
    expect(result).toMatchObject({ ok: false, runs: [{ status: "FAILED" }] });
    expect(await carry({ examples: [] })).toEqual({ ok: false, runs: [] });
  });

  test("a refusal is told in the API's words", async () => {
    await expect(carry({ token: "other" })).rejects.toMatchObject({
      message: "the API answered 401: no such token",
      fix: "take one of dev.json",
    });
  });

  test("an answer that is no problem is told as it is", async () => {
    for (const body of ["plain words", "null", '"text"']) {
      const odd = createServer((_, response) => response.writeHead(500).end(body)).listen(0, "127.0.0.1");
      await once(odd, "listening");
      const url = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`;
      await expect(carry({ apiUrl: url })).rejects.toThrow(`the API answered 500: ${body}`);
      odd.closeAllConnections();
      odd.close();
    }
  });

  test("a run that does not end is given up after its time, and an interruption ends the waiting", async () => {
    const forever = { examples: [{ workflow: "gate", input: { outcome: "RUNNING" } }] };
    await expect(carry({ ...forever, patienceMs: 30 })).rejects.toThrow(/did not end in time \(RUNNING\)/);
    const interrupt = new AbortController();
    const carrying = carry({ ...forever, pollMs: 1_000_000, signal: interrupt.signal });
    await until(() => lines.length).toBeGreaterThan(1);
    interrupt.abort();
    await expect(carrying).rejects.toThrow(/abort/);
  });
});

describe("a line of the timeline", () => {
  const at = "2026-01-01T00:00:01.250Z";
  const start = Date.parse("2026-01-01T00:00:00Z");
  const step = {
    kind: "step",
    call: "step",
    scope: "",
    at,
    enqueueSeq: 1,
    ordinal: 3,
    name: "read",
    nth: 2,
    tries: 2,
  } as const;
  const failed = { ...step, outcome: "error", startedAt: "2026-01-01T00:00:01Z" } as const;
  const dueAt = at;

  test.each([
    [{ kind: "admitted", at }, "admitted"],
    [
      { kind: "delivery", at, enqueueSeq: 2, cause: "recovered", status: "PENDING", dueAt },
      "delivery     2 recovered",
    ],
    [{ kind: "published", at, enqueueSeq: 2, publications: 1 }, "published    2"],
    [{ kind: "claimed", at, enqueueSeq: 2, worker: "runs-1", cause: "admitted" }, "claimed      2 by runs-1"],
    [failed, "step         read #2 (error, 2 tries, 250 ms)"],
    [{ ...failed, nth: 1, tries: 1, outcome: "ok" }, "step         read (250 ms)"],
    [
      { kind: "worker_ended", at, enqueueSeq: 2, worker: "runs-1", how: "SIGKILL" },
      "worker ended runs-1: SIGKILL",
    ],
    [{ kind: "settled", at, enqueueSeq: 2, outcome: "lost" }, "settled      2 lost"],
    [{ kind: "fenced", at, enqueueSeq: 2, why: "deadline" }, "fenced       2 deadline"],
    [{ kind: "skipped", at, lastAt: at, enqueueSeq: 2, reason: "early", times: 1 }, "skipped      2 early"],
    [
      { kind: "skipped", at, lastAt: at, enqueueSeq: 2, reason: "early", times: 3 },
      "skipped      2 early ×3",
    ],
    [{ kind: "finished", at, status: "FAILED", errorCode: "step_failed" }, "FAILED       step_failed"],
    [{ kind: "finished", at, status: "DONE", errorCode: null }, "DONE"],
  ] as const)("%j", (entry, text) => {
    expect(formatEntry("hello", 6, start, entry)).toBe(`hello     +1.250s  ${text}`);
    expect(describeEntry(entry)[0]).not.toBe("");
  });

  test("entries are told apart, and one that has moved is still the same", () => {
    const delivery = {
      kind: "delivery",
      at,
      enqueueSeq: 2,
      cause: "admitted",
      status: "PENDING",
      dueAt,
    } as const;
    expect(entryKey({ ...delivery, status: "CLAIMED" })).toBe(entryKey(delivery));
    const keys = [
      delivery,
      { ...delivery, enqueueSeq: 3 },
      failed,
      { ...failed, ordinal: 4 },
      { kind: "admitted", at } as const,
      { kind: "claimed", at, enqueueSeq: 2, worker: "a", cause: "admitted" } as const,
      { kind: "claimed", at, enqueueSeq: 2, worker: "b", cause: "admitted" } as const,
      { kind: "settled", at, enqueueSeq: 2, outcome: "done" } as const,
    ].map(entryKey);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
