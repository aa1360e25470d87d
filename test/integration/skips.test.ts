import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import type { wire } from "@ghouls/core";
import * as z from "zod";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** A timeline tells of every delivery that was skipped or fenced, and why. */

const hooks = { fault: (_point: string, _detail: string): void | Promise<void> => undefined };
let body: () => Promise<unknown> = () => Promise.resolve("done");

const works = workflow({
  name: "works",
  version: 1,
  onWorkerLoss: "resume",
  deadline: "1h",
  input: z.unknown(),
  run: (ctx) => ctx.step("work", () => body(), { timeout: "5m" }),
});

const world = await testWorld({ workflows: [works], faults: (point, detail) => hooks.fault(point, detail) });
const { db } = world;

beforeEach(async () => {
  hooks.fault = () => undefined;
  body = () => Promise.resolve("done");
  world.logged.length = 0;
  await world.reset();
});

type Kind<K extends wire.TimelineEntry["kind"]> = Extract<wire.TimelineEntry, { kind: K }>;
async function told<K extends wire.TimelineEntry["kind"]>(runId: string, kind: K): Promise<Kind<K>[]> {
  const timeline = await world.reads.getTimeline("acme", runId);
  return (timeline?.entries ?? []).filter((entry): entry is Kind<K> => entry.kind === kind);
}
const skipped = async (runId: string) =>
  (await told(runId, "skipped")).map(({ enqueueSeq, reason, times }) => [enqueueSeq, reason, times]);
const deliver = async (runId: string, seq = 1) => (await world.deliver([`run:${runId}:${seq}`]))[0]?.reason;
const set = (columns: string, runId: string) =>
  db.admin(`update ghouls.runs set ${columns} where run_id = $1`, [runId]);

test.each<[string, (runId: string) => Promise<unknown>]>([
  [
    "early",
    (runId) =>
      db.admin("update ghouls.deliveries set due_at = due_at + interval '1 day' where run_id = $1", [runId]),
  ],
  ["paused", (runId) => world.control.pause(SOMEBODY, runId, "by a test")],
  ["quarantined", (runId) => set("quarantined_at = ghouls.clock(), quarantine_reason = 'by a test'", runId)],
  ["terminal", (runId) => deliver(runId)],
])("a message that is skipped as %s is told, once for each reason, with how often", async (reason, make) => {
  const { runId } = await world.submit("works");
  await make(runId);
  expect(await deliver(runId)).toBe(reason);
  expect(await skipped(runId)).toEqual([[1, reason, 1]]);
  await world.advance(60);
  expect(await deliver(runId)).toBe(reason);
  expect(await skipped(runId)).toEqual([[1, reason, 2]]);
  const [entry] = await told(runId, "skipped");
  expect(Date.parse(entry?.lastAt ?? "") - Date.parse(entry?.at ?? "")).toBeGreaterThanOrEqual(60_000);
});

test("a message of a run that is held is told", async () => {
  const { runId } = await world.submit("works", null, { held: true });
  expect(await deliver(runId)).toBe("held");
  expect(await skipped(runId)).toEqual([[1, "held", 1]]);
});

test("a message that comes again while its delivery is carried is told as claimed, and the run goes on", async () => {
  const [began, until] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  body = async () => {
    began.resolve();
    await until.promise;
    return "done";
  };
  const { runId } = await world.submit("works");
  const carried = deliver(runId);
  await began.promise;
  expect(await deliver(runId)).toBe("claimed");
  until.resolve();
  expect(await carried).toBe("DONE");
  expect(await skipped(runId)).toEqual([[1, "claimed", 1]]);
});

test("a cancel says why it fenced the delivery, and a message that comes later is told as skipped", async () => {
  const { runId } = await world.submit("works");
  await world.control.cancel(SOMEBODY, runId, "by a test");
  expect(await told(runId, "fenced")).toMatchObject([{ enqueueSeq: 1, why: "cancelled" }]);
  expect(await deliver(runId)).toBe("terminal");
  expect(await skipped(runId)).toEqual([[1, "terminal", 1]]);
});

test("a deadline says why it fenced the delivery", async () => {
  const { runId } = await world.submit("works");
  await world.advance(3_601);
  await world.reconcile();
  expect(await told(runId, "fenced")).toMatchObject([{ enqueueSeq: 1, why: "deadline" }]);
});

test("a hold that nobody released says why its delivery was fenced", async () => {
  const { runId } = await world.submit("works", null, { held: true, holdFor: "1m" });
  await world.advance(61);
  await world.reconcile();
  expect(await told(runId, "fenced")).toMatchObject([{ enqueueSeq: 1, why: "hold_expired" }]);
});

test("a message of no run is skipped, and nothing is kept of it", async () => {
  expect(await deliver(randomUUID())).toBe("unknown");
  expect(await db.admin("select from ghouls.skips")).toEqual([]);
});

test("many workers that skip the same messages at the same time count each of them", async () => {
  const runs = await Promise.all(["a", "b", "c"].map((key) => world.submit("works", null, { key })));
  for (const { runId } of runs) await deliver(runId);
  const bodies = runs.map(({ runId }) => `run:${runId}:1`);
  await Promise.all(
    [bodies, bodies.toReversed(), bodies, bodies.toReversed()].map((one) => world.deliver(one)),
  );
  for (const { runId } of runs) expect(await skipped(runId)).toEqual([[1, "terminal", 4]]);
});

describe("a note of what was skipped", () => {
  const answer = Promise.withResolvers<void>();
  afterAll(() => answer.resolve());

  test.each<[string, () => Promise<void>]>([
    ["fails", () => Promise.reject(new Error("by a test"))],
    ["never answers", () => answer.promise],
  ])("that %s is warned of, and the skip is what it is", async (_how, fault) => {
    const { runId } = await world.submit("works");
    await deliver(runId);
    hooks.fault = (point, detail) =>
      point === "ledger.before-statement" && detail === "skips.note" ? fault() : undefined;
    expect(await deliver(runId)).toBe("terminal");
    const warnings = world.logged.map(({ message }) => message);
    expect(warnings).toContain("what was skipped could not be kept for people");
    expect(await skipped(runId)).toEqual([]);
  });
});
