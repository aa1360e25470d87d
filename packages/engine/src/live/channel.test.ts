import { beforeEach, expect, test, vi } from "vitest";
import {
  noEventStore,
  type Clock,
  type EventRecord,
  type EventStore,
  type LogFields,
  type Logger,
} from "@ghouls/core";
import { LiveChannel } from "./channel.ts";

const hop = { tenantId: "acme", runId: "r", enqueueSeq: 1 };
const said = (chunk: string) => ({ ...hop, number: 0, channel: "tokens", chunk });

let nowMs: number;
let put: EventRecord[];
let ends: number;
let tries: number;
let refuse: () => boolean;
let warned: (LogFields | undefined)[];
let channel: LiveChannel;
const silent = () => undefined;

beforeEach(() => {
  [nowMs, put, ends, tries, warned] = [0, [], 0, 0, []];
  refuse = () => false;
  const clock: Clock = { monotonicMs: () => nowMs, wallMs: () => 0 };
  const log: Logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (_message, fields) => void warned.push(fields),
  };
  const store: EventStore = {
    ...noEventStore,
    put: (_run, record) => {
      tries += 1;
      if (refuse()) return Promise.reject(new TypeError("no"));
      if (record === "end") ends += 1;
      else put.push(record);
      return Promise.resolve();
    },
  };
  channel = new LiveChannel({ store, clock, log });
});

const numbers = () => put.map(({ first, events }) => [first, events.length]);
const chunks = () =>
  put.flatMap(({ events }) => events.map((event) => (event.kind === "chunk" ? event.chunk : event.kind)));

test("what is said together is written together, in order, and the end last", async () => {
  for (const word of ["a", "b", "c"]) channel.write(said(word));
  await channel.drain(hop, 60_000, true);
  expect([numbers(), chunks(), warned]).toEqual([[[1, 3]], ["a", "b", "c"], []]);
  // In the same write; where there is nothing else to write, in one of its own.
  expect([put.at(-1)?.isLast, ends]).toEqual([true, 0]);
  await channel.drain({ ...hop, enqueueSeq: 2 }, 60_000, true);
  expect(ends).toBe(1);
});

test("what is said is written after a moment, without anybody who waits for it", async () => {
  vi.useFakeTimers();
  try {
    channel.write(said("a"));
    await vi.advanceTimersByTimeAsync(100);
    channel.write(said("b"));
    await vi.runAllTimersAsync();
    expect(numbers()).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(vi.getTimerCount()).toBe(0);
    // Facts wait for each other a little longer, but not behind what is said.
    const fact = { kind: "published", at: "", enqueueSeq: 1, publications: 1 } as const;
    channel.tell(hop, fact);
    await vi.advanceTimersByTimeAsync(100);
    expect(put).toHaveLength(2);
    channel.write(said("c"));
    await vi.advanceTimersByTimeAsync(70);
    expect(numbers().at(-1)).toEqual([3, 2]);
    channel.tell(hop, fact);
    await vi.advanceTimersByTimeAsync(260);
    expect(numbers().at(-1)).toEqual([5, 1]);
  } finally {
    vi.useRealTimers();
  }
});

test("a record is bounded, in events and in bytes", async () => {
  for (let at = 0; at < 1_500; at += 1) channel.write(said("x"));
  await channel.drain(hop, 60_000, false);
  for (let at = 0; at < 20; at += 1) channel.write({ ...said("y".repeat(16_000)), enqueueSeq: 2 });
  await channel.drain({ ...hop, enqueueSeq: 2 }, 60_000, false);
  expect(put.every(({ events }) => events.length <= 1_000)).toBe(true);
  expect(put.every((record) => JSON.stringify(record).length < 200_000)).toBe(true);
  expect(chunks()).toHaveLength(1_520);
});

test("a failure is tried once more under the same place; then it is a hole in the numbers, counted, and told once", async () => {
  refuse = () => tries === 1;
  channel.write(said("a"));
  await channel.drain(hop, 60_000, false);
  expect([tries, numbers(), warned]).toEqual([2, [[1, 1]], []]);
  refuse = () => true;
  channel.write({ ...said("b"), enqueueSeq: 2 });
  await channel.drain({ ...hop, enqueueSeq: 2 }, 60_000, true);
  expect(warned).toEqual([{ runId: "r", count: 1, error: "TypeError" }]);
  // Nothing is tried for a while: a store that is down costs no hop its time.
  const before = tries;
  refuse = () => false;
  channel.write({ ...said("c"), enqueueSeq: 3 });
  await channel.drain({ ...hop, enqueueSeq: 3 }, 60_000, true);
  expect([tries - before, ends]).toEqual([0, 0]);
  nowMs += 5_000;
  channel.write({ ...said("d"), enqueueSeq: 4 });
  await channel.drain({ ...hop, enqueueSeq: 4 }, 60_000, true);
  expect([chunks(), put.at(-1)?.isLast]).toEqual([["a", "d"], true]);
});

test("more than may wait is lost, and what comes after it has its own number", async () => {
  const open = Promise.withResolvers<void>();
  const store: EventStore = {
    ...noEventStore,
    put: async (_run, record) => {
      await open.promise;
      if (record !== "end") put.push(record);
    },
  };
  const clock: Clock = { monotonicMs: () => nowMs, wallMs: () => 0 };
  const slow = new LiveChannel({
    store,
    clock,
    log: { debug: silent, info: silent, error: silent, warn: (_message, fields) => void warned.push(fields) },
  });
  for (let at = 0; at < 100; at += 1) slow.write(said("z".repeat(16_000)));
  open.resolve();
  await slow.drain(hop, 60_000, false);
  const kept = put.reduce((sum, { events }) => sum + events.length, 0);
  expect(kept).toBeLessThan(100);
  expect(warned).toEqual([{ runId: "r", count: 100 - kept, error: "too much waits" }]);
});

test("a hop that says too much keeps its facts", async () => {
  for (let at = 0; at < 600; at += 1) {
    channel.write(said("z".repeat(16_000)));
    if (at % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 80));
  }
  channel.tell(hop, { kind: "settled", at: "", enqueueSeq: 1, outcome: "done" });
  await channel.drain(hop, 60_000, false);
  expect(chunks().length).toBeLessThan(540);
  expect(chunks().at(-1)).toBe("settled");
  expect(put.at(-1)?.first).toBe(601);
  expect(warned).toMatchObject([{ error: "a hop said too much" }]);
});

test("a store that never answers holds nobody for longer than it may, and nothing is written later", async () => {
  const stuck = new LiveChannel({
    store: { ...noEventStore, put: () => new Promise(() => undefined) },
    clock: { monotonicMs: () => nowMs, wallMs: () => 0 },
    log: { debug: silent, info: silent, error: silent, warn: (_message, fields) => void warned.push(fields) },
  });
  stuck.write(said("a"));
  await stuck.drain(hop, 10, true);
  expect(warned).toEqual([{ runId: "r", count: 1, error: "no answer in time" }]);
  // Whoever comes next does not wait for it either.
  stuck.write({ ...said("b"), enqueueSeq: 2 });
  await stuck.drain({ ...hop, enqueueSeq: 2 }, 3_600_000, true);
});
