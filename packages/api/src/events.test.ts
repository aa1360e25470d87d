import { GhoulsError, type wire } from "@ghouls/core";
import { beforeEach, describe, expect, it } from "vitest";
import { createEventsApp } from "./apps.ts";
import type { FetchHandler } from "./context.ts";
import { ask, Fakes, RUN_ID } from "./fakes.support.ts";

const AT = "2026-01-02T03:04:05.678Z";
const batch = (id: string, chunk: string): wire.EventBatch => ({
  id,
  events: [{ kind: "chunk", at: AT, enqueueSeq: 1, channel: "tokens", chunk }],
});
const PATH = `/v1/runs/${RUN_ID}/events`;
const STREAM = { accept: "text/event-stream" };

let fakes: Fakes;
let app: FetchHandler;
beforeEach(() => {
  fakes = new Fakes();
  app = createEventsApp(fakes);
});

const messages = async (response: Response) =>
  [...(await response.text()).matchAll(/^id: (.*)\ndata: (.*)$/gm)].map(([, id, data = ""]) => ({
    id,
    data: JSON.parse(data) as unknown,
  }));

describe("a stream of events", () => {
  it("has a message for each batch, with its id, and ends behind the last", async () => {
    fakes.events.answers = [[batch("1.2.1.0", "a\nb")], [], [batch("1.2.2.0", "c"), batch("end", "d")]];
    fakes.events.ended = true;
    const response = await app(ask("GET", PATH, { headers: STREAM }));
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await messages(response)).toEqual([
      { id: "1.2.1.0", data: batch("1.2.1.0", "a\nb") },
      { id: "1.2.2.0", data: batch("1.2.2.0", "c") },
      { id: "end", data: batch("end", "d") },
    ]);
  });

  it("goes on behind the id that a reader brings, in the header or the query, and is no stream behind the end", async () => {
    fakes.streamMs = () => 0;
    await app(ask("GET", PATH, { headers: { ...STREAM, "last-event-id": "1.2.1.0" } }));
    await app(ask("GET", `${PATH}?after=1.2.3.0`, { headers: { ...STREAM, "last-event-id": "1.2.1.0" } }));
    expect(fakes.events.asked).toEqual(
      ["1.2.1.0", "1.2.3.0"].map((after) => ({ tenantId: "t1", runId: RUN_ID, after })),
    );
    fakes.events.ended = true;
    const ended = await app(ask("GET", `${PATH}?after=end`, { headers: STREAM }));
    expect([ended.status, await ended.text()]).toEqual([204, ""]);
  });

  it("ends when its time is over, or the process is about to end", async () => {
    fakes.streamMs = () => 20;
    expect(await (await app(ask("GET", PATH, { headers: STREAM }))).text()).toMatch(
      /^retry: 500\n\n(: \n\n)?$/,
    );
    const draining = new AbortController();
    fakes.streamMs = () => 600_000;
    fakes.draining = draining.signal;
    const text = (await createEventsApp(fakes)(ask("GET", PATH, { headers: STREAM }))).text();
    draining.abort();
    expect(await text).toContain("retry: 500");
  });

  it("waits where the ledger is out of reach, says so once, and goes on", async () => {
    const away = () => new GhoulsError("ledger_unavailable", "out of reach");
    fakes.events.answers = [away(), away(), [batch("end", "d")]];
    fakes.events.ended = true;
    const response = await app(ask("GET", PATH, { headers: STREAM }));
    expect(await messages(response)).toHaveLength(1);
    expect(fakes.lines).toEqual([
      { message: "a stream of events waits for the ledger", fields: { error: "GhoulsError" } },
    ]);
  });

  it("asks for nothing more once its reader has gone", async () => {
    const response = await app(ask("GET", PATH, { headers: STREAM }));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const before = fakes.events.questions;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(fakes.events.questions - before).toBeLessThanOrEqual(1);
  });
});

describe("a poll for events", () => {
  const page = async (query: string) => (await app(ask("GET", `${PATH}${query}`))).json();

  it("answers the first batches that come, with where to go on", async () => {
    fakes.events.answers = [[], [], [batch("1.2.1.0", "a")]];
    expect(await page("?wait=5")).toEqual({
      batches: [batch("1.2.1.0", "a")],
      done: false,
      nextAfter: "1.2.1.0",
    });
  });

  it("answers nothing when its time is over, and keeps its place", async () => {
    expect(await page("?wait=0&after=1.2.1.0")).toEqual({ batches: [], done: false, nextAfter: "1.2.1.0" });
    expect(await page("?wait=0")).toEqual({ batches: [], done: false, nextAfter: null });
    fakes.events.ended = true;
    expect(await page("?wait=20&after=end")).toEqual({ batches: [], done: true, nextAfter: "end" });
  });

  it.each(["?wait=21", "?wait=-1", "?wait=x", `?after=${"1".repeat(61)}`])("refuses %s", async (query) => {
    expect((await app(ask("GET", `${PATH}${query}`))).status).toBe(422);
  });

  it("answers 404 for a run that is absent, another tenant's, or no id, streamed or not", async () => {
    for (const headers of [{}, STREAM]) {
      for (const [id, token] of [
        [RUN_ID, "foreign"],
        ["ffffffff-7d1c-4c39-9c53-0a4b7e1f2d3c", "operator"],
        ["no-id", "operator"],
      ] as const) {
        const response = await app(ask("GET", `/v1/runs/${id}/events`, { token, headers }));
        expect(response.status).toBe(404);
      }
    }
  });
});
