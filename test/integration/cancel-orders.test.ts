import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workflow, type WorkflowContext } from "ghouls";
import { isTerminalRun, type RunStatus } from "@ghouls/core";
import * as z from "zod";
import { atPoint } from "../support/at-point.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/**
 * A cancel beside every other move of a run: at each statement and commit of that move the whole cancel, or as much of it as no
 * lock forbids, and at each of the cancel's the whole move. One terminal state comes of it, late results are evidence only, and
 * nothing deadlocks.
 */

const acted: string[] = [];
const define = (name: string, run: (ctx: WorkflowContext) => Promise<unknown>, more = {}) =>
  workflow({ name, version: 1, onWorkerLoss: "resume", input: z.unknown(), run, ...more });
const child = define("child", (ctx) => ctx.step("one", () => 1));
const step = (ctx: WorkflowContext, name = "one") =>
  ctx.step(name, () => {
    acted.push(ctx.runId);
    return name;
  });
const points = atPoint(() => world.db);
const world = await testWorld({
  workflows: [
    child,
    define("completes", (ctx) => step(ctx)),
    define("fails", async (ctx) => {
      await step(ctx);
      throw new Error("no");
    }),
    define("parks", async (ctx) => {
      await step(ctx);
      await ctx.sleep("1h");
    }),
    define("listens", async (ctx) => {
      await ctx.waitForSignal("go");
      return step(ctx);
    }),
    define("asks", async (ctx) => {
      await ctx.consent("ship it", { deciders: ["role:legal"] });
      return step(ctx);
    }),
    define("parent", async (ctx) => (await ctx.child(child, null)).outcome),
    define(
      "late",
      async (ctx) => {
        await ctx.waitForSignal("never");
      },
      { deadline: "1m" },
    ),
    define("undoes", async (ctx) => {
      await ctx.step("one", () => 1, { undo: () => 1 });
      throw new Error("no");
    }),
    define("once", (ctx) =>
      ctx.step("one", () => 1, { effect: "once", probe: () => ({ outcome: "cannot_happen" }) }),
    ),
  ],
  maxConnections: 12,
  faults: points.faults,
});
const { db } = world;

beforeEach(async () => {
  acted.length = 0;
  await world.reset();
});
afterEach(() => points.forget());

const submitted = async (name: string) => (await world.submit(name)).runId;
const parked = async (name: string) => {
  const runId = await submitted(name);
  await world.drain();
  return runId;
};
const cancel = (runId: string) => world.control.cancel(SOMEBODY, runId, "no longer wanted");
const claimed = async (name: string) => {
  const runId = await submitted(name);
  const [claim] = await world.ledger.deliveries.claimIfDue(
    [{ runId, enqueueSeq: 1, token: "00000000-0000-4000-8000-000000000001" }],
    { worker: "w", leaseSeconds: 120, actsForSeconds: 960 },
  );
  if (claim === undefined) throw new Error("it was not claimed");
  return runId;
};

interface Way {
  readonly before: () => Promise<string>;
  readonly way: (runId: string) => Promise<unknown>;
  readonly ends: readonly RunStatus[];
}

const WAYS: Readonly<Record<string, Way>> = {
  "a completion": {
    before: () => submitted("completes"),
    way: () => world.drain(),
    ends: ["DONE", "CANCELLED"],
  },
  "a failure": { before: () => submitted("fails"), way: () => world.drain(), ends: ["FAILED", "CANCELLED"] },
  "a park": { before: () => submitted("parks"), way: () => world.drain(), ends: ["CANCELLED"] },
  "an effect that happens once": {
    before: () => submitted("once"),
    way: () => world.drain(),
    ends: ["DONE", "CANCELLED"],
  },
  "a yield": {
    before: () => submitted("completes"),
    way: async (runId) => {
      await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => 2_010 });
    },
    ends: ["CANCELLED"],
  },
  "a heartbeat": {
    before: () => claimed("completes"),
    way: async (runId) => {
      const token = "00000000-0000-4000-8000-000000000001";
      await world.ledger.deliveries.beatIfClaimed([{ tenantId: "acme", runId, seq: 1, token }], 120);
    },
    ends: ["CANCELLED"],
  },
  "a resume by a signal": {
    before: () => parked("listens"),
    way: async (runId) => {
      await world.signals
        .send(SOMEBODY, runId, { name: "go", payloadText: undefined })
        .catch(() => undefined);
      await world.drain();
    },
    ends: ["DONE", "CANCELLED"],
  },
  "a resume by a decision": {
    before: () => parked("asks"),
    way: async (runId) => {
      const [consent] = (await world.consents.list("acme", { runId }, { limit: 1 })).consents;
      if (consent === undefined) throw new Error("there is a consent");
      await world.consents
        .decide({ ...SOMEBODY, subject: "user:bo", roles: ["legal"] }, consent.consentId, {
          decision: "grant",
          digest: consent.digest,
          comment: undefined,
        } as never)
        .catch(() => undefined);
      await world.drain();
    },
    ends: ["DONE", "CANCELLED"],
  },
  "the end of a child": {
    before: async () => {
      const runId = await submitted("parent");
      await world.deliver([`run:${runId}:1`]);
      return runId;
    },
    way: () => world.drain(),
    ends: ["DONE", "CANCELLED"],
  },
  "a judgement of a lost worker": {
    before: async () => {
      const runId = await claimed("completes");
      await world.advance(130);
      return runId;
    },
    way: () => world.reconcile(),
    ends: ["CANCELLED"],
  },
  "a deadline": {
    before: async () => {
      const runId = await parked("late");
      await world.advance(61);
      return runId;
    },
    way: () => world.reconcile(),
    ends: ["FAILED", "CANCELLED"],
  },
  "an undo": {
    before: async () => {
      const runId = await parked("undoes");
      await world.advance(1);
      await world.reconcile();
      return runId;
    },
    way: () => world.drain(),
    ends: ["FAILED"],
  },
};

/** Lets time pass until it has ended, and holds what must be true then. */
async function end(runId: string): Promise<RunStatus> {
  await cancel(runId);
  const status = async () => (await world.view(runId)).status;
  for (let round = 0; round < 12 && !isTerminalRun(await status()); round += 1) await world.later(400);
  const ended = await status();
  const before = acted.length;
  expect(await world.broken()).toEqual([]);
  // What was fenced in the middle is no part of the run.
  const late = await db.admin(
    `select j.name from ghouls.journal j join ghouls.runs run using (tenant_id, run_id)
     where j.run_id = $1 and date_trunc('milliseconds', run.finished_at) < j.completed_at`,
    [runId],
  );
  expect(late).toEqual([]);
  await world.later(1_000);
  expect([await status(), acted.length]).toEqual([ended, before]);
  return ended;
}

/** Beats and reads that see nothing of this run are met elsewhere. */
const isMet = (point: string) =>
  !point.startsWith("worker.") || /park|settle|handover|intent|undo/.test(point);

for (const [name, { before, way, ends }] of Object.entries(WAYS)) {
  const runId = await before();
  const passed = (await points.pointsOf(() => way(runId))).filter(isMet);
  await world.reset();
  describe(`${name} beside a cancel`, () => {
    test("has points to be met", () => expect(passed.length).toBeGreaterThan(0));

    test.each(passed)("that comes at %s: one end, and nothing is left", async (point) => {
      const own = await before();
      const came = points.at(point, () => cancel(own));
      await way(own);
      await came();
      expect(ends).toContain(await end(own));
    });

    test.each([
      "runs.lock",
      "runs.cancel",
      "runs.end-if-contained",
      "ledger.before-commit runs.cancel",
      "ledger.after-commit runs.cancel",
    ])("that is held at %s: one end, and nothing is left", async (point) => {
      const own = await before();
      const came = points.at(point, () => way(own));
      const answer = await cancel(own);
      // Of a run that is ending already it changes nothing.
      if (answer.cancelled || point === "runs.lock") await came();
      expect(ends).toContain(await end(own));
    });
  });
}
