import { expect, test } from "vitest";
import { LiveRing } from "./ring.ts";

const event = (runId: string, number: number, chunk = "") => ({
  tenantId: "acme",
  runId,
  enqueueSeq: 1,
  number,
  channel: "",
  chunk,
});
const numbers = (ring: LiveRing, runId: string) => ring.read(runId).map(({ number }) => number);

test("keeps what a run says in its order, beside what others say", () => {
  const ring = new LiveRing();
  ring.write(event("a", 1));
  ring.write(event("b", 2));
  ring.write(event("a", 3));
  expect(numbers(ring, "a")).toEqual([1, 3]);
  expect(numbers(ring, "b")).toEqual([2]);
  expect(numbers(ring, "c")).toEqual([]);
  ring.clear();
  expect(numbers(ring, "a")).toEqual([]);
});

test("a run that says too much loses its oldest events, and no other run does", () => {
  const ring = new LiveRing({ bytesPerRun: 1_000, bytes: 100_000, endedRuns: 10 });
  ring.write(event("quiet", 0));
  for (let number = 1; number <= 50; number += 1) ring.write(event("loud", number, "x".repeat(50)));
  expect(numbers(ring, "loud")).toEqual([49, 50]);
  expect(numbers(ring, "quiet")).toEqual([0]);
  ring.write(event("loud", 51, "x".repeat(5_000)));
  expect(numbers(ring, "loud")).toEqual([]);
});

test("where all runs say too much, the one that has been silent for the longest is forgotten", () => {
  const ring = new LiveRing({ bytesPerRun: 1_000, bytes: 1_000, endedRuns: 10 });
  for (const [at, runId] of ["a", "b", "c"].entries()) ring.write(event(runId, at));
  ring.write(event("a", 3));
  expect(["a", "b", "c"].map((runId) => numbers(ring, runId))).toEqual([[0, 3], [], [2]]);
});

test("a run whose hop has ended is forgotten after some others, unless it goes on here", () => {
  const ring = new LiveRing({ bytesPerRun: 10_000, bytes: 10_000, endedRuns: 2 });
  for (const [at, runId] of ["a", "b", "c"].entries()) ring.write(event(runId, at));
  ring.end(event("a", 0));
  ring.write(event("a", 4));
  ring.end(event("b", 0));
  ring.end(event("c", 0));
  ring.end(event("said nothing", 0));
  expect(["a", "b", "c"].map((runId) => numbers(ring, runId).length)).toEqual([2, 1, 1]);
  ring.end(event("a", 0));
  expect(["a", "b", "c"].map((runId) => numbers(ring, runId).length)).toEqual([2, 0, 1]);
});
