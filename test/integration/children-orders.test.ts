import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import { isTerminalRun, type RunStatus } from "@ghouls/core";
import * as z from "zod";
import { atPoint } from "../support/at-point.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** What happens to a parent and its child, beside each other: the commits of each two moves in all their orders. */

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const listens = workflow({
  ...base,
  name: "listens",
  run: async (ctx) => (await ctx.waitForSignal("go")).outcome,
});
const quick = workflow({ ...base, name: "quick", run: (ctx) => ctx.step("one", () => 1) });
const waits = workflow({
  ...base,
  name: "waits",
  run: async (ctx) => (await ctx.child(listens, null)).outcome,
});
const starts = workflow({
  ...base,
  name: "starts",
  run: async (ctx) => (await ctx.child(quick, null)).outcome,
});
const leaves = workflow({
  ...base,
  name: "leaves",
  run: async (ctx) => {
    void ctx.child(listens, null);
    return ctx.step("one", () => 1);
  },
});

const points = atPoint(() => world.db);
const world = await testWorld({
  workflows: [listens, quick, waits, starts, leaves],
  maxConnections: 12,
  faults: points.faults,
});
const { db } = world;

beforeEach(() => world.reset());
afterEach(() => points.forget());

const tenantId = SOMEBODY.tenantId;
const childOf = async (parentRunId: string): Promise<string | undefined> =>
  (
    await db.admin<{ run_id: string }>("select run_id from ghouls.runs where parent_run_id = $1", [
      parentRunId,
    ])
  )[0]?.run_id;
const cancel = (runId: string | undefined) =>
  runId === undefined ? Promise.resolve() : world.control.cancel(SOMEBODY, runId, "enough");
const go = (runId: string) => world.signals.send(SOMEBODY, runId, { name: "go", payloadText: undefined });

/** Lets time pass until both have ended, and holds what must be true then. */
async function end(parentRunId: string): Promise<{ parent: RunStatus; child: RunStatus | undefined }> {
  const statuses = async () =>
    db.admin<{ run_id: string; status: RunStatus }>("select run_id, status from ghouls.runs");
  for (let round = 0; round < 12; round += 1) {
    await world.drain();
    const found = await statuses();
    const told = await db.admin("select from ghouls.child_ends");
    if (told.length === 0 && found.every(({ status }) => isTerminalRun(status))) break;
    const waiting = found.filter(({ status }) => status === "AWAITING_SIGNAL");
    // A child that nobody has told to go yet, and that nobody will cancel.
    if (round > 2) for (const { run_id } of waiting) await go(run_id).catch(() => undefined);
    await world.later(400);
  }
  expect(await world.broken()).toEqual([]);
  expect(await db.admin("select from ghouls.child_ends")).toEqual([]);
  const all = await statuses();
  expect(all.filter(({ status }) => !isTerminalRun(status))).toEqual([]);
  expect(all.length).toBeLessThanOrEqual(2);
  const deliveries = await world.ledger.deliveries.ofRun({ tenantId, runId: parentRunId });
  expect(deliveries.filter(({ cause }) => cause === "resumed").length).toBeLessThanOrEqual(1);
  return {
    parent: all.find(({ run_id }) => run_id === parentRunId)?.status ?? "QUEUED",
    child: all.find(({ run_id }) => run_id !== parentRunId)?.status,
  };
}

interface Way {
  /** Brings the two to where it begins; answers the parent. */
  readonly before: () => Promise<string>;
  readonly way: (parentRunId: string) => Promise<unknown>;
  readonly ends: readonly `${RunStatus} ${RunStatus | "none"}`[];
}

const WAYS: Readonly<Record<string, Way>> = {
  "a child's end, and its parent's return": {
    before: async () => {
      const { runId } = await world.submit("waits");
      await world.drain();
      return runId;
    },
    way: async (runId) => {
      await go((await childOf(runId)) ?? "");
      await world.drain();
    },
    ends: ["DONE DONE", "DONE CANCELLED", "CANCELLED DONE", "CANCELLED CANCELLED"],
  },
  "a child's start, and its parent's park": {
    before: async () => (await world.submit("starts")).runId,
    way: () => world.drain(),
    ends: ["DONE DONE", "DONE CANCELLED", "CANCELLED DONE", "CANCELLED CANCELLED", "CANCELLED none"],
  },
  "the end of a parent that leaves its child": {
    before: async () => (await world.submit("leaves")).runId,
    way: () => world.drain(),
    ends: ["DONE CANCELLED", "DONE DONE", "CANCELLED CANCELLED", "CANCELLED DONE", "CANCELLED none"],
  },
  "the containment of a child": {
    before: async () => {
      const { runId } = await world.submit("leaves");
      await world.drain();
      expect(await world.view(runId)).toMatchObject({ status: "COMPLETING" });
      return runId;
    },
    way: () => world.reconcile(),
    ends: ["DONE CANCELLED", "DONE DONE"],
  },
};

const MEANWHILE: Readonly<Record<string, (parentRunId: string) => Promise<unknown>>> = {
  "its parent is cancelled": (runId) => cancel(runId),
  "the child is cancelled": async (runId) => cancel(await childOf(runId)),
  "the child is told to go, and another worker works": async (runId) => {
    const child = await childOf(runId);
    if (child !== undefined) await go(child).catch(() => undefined);
    await world.drain();
  },
  "a reconciler comes by": () => world.reconcile(),
  "the workers are judged lost": async () => {
    await world.advance(1_000);
    await world.reconcile();
    await world.drain();
  },
};

/** Moves of a single statement, which have no commit of their own to be met before. */
const MOVES = ["deliveries.claim", "children.start", "journal.append", "deliveries.settle"];

for (const [name, { before, way, ends }] of Object.entries(WAYS)) {
  const parent = await before();
  const passed = (await points.pointsOf(() => way(parent))).filter(
    (point) => point.startsWith("ledger.") || MOVES.includes(point),
  );
  await world.reset();
  describe(`beside ${name},`, () => {
    test("there are points to be met", () => expect(passed.length).toBeGreaterThan(5));

    describe.each(Object.entries(MEANWHILE))("while %s", (_, meanwhile) => {
      test.each(passed)("at %s: both end, the parent comes back once, and nothing is left", async (point) => {
        const runId = await before();
        const acted = points.at(point, () => meanwhile(runId));
        await way(runId);
        await acted();
        const { parent, child = "none" } = await end(runId);
        expect(ends).toContain(`${parent} ${child}`);
      });
    });
  });
}
