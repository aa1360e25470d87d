import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { measure } from "../../packages/engine/src/reconciler/measure.ts";
import type { ReconcileReport } from "../../packages/engine/src/reconciler/reconcile.ts";
import { makeRun } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    await ctx.sleep("1h");
  },
});
const world = await testWorld({ workflows: [hello] });
const { db, ledger } = world;
const NOTHING = {
  oldestUnrepairedSeconds: 0,
  degradedOwners: 0,
  runsWithAttention: 0,
  quarantinedRuns: 0,
  integrityFaults: 0,
  foreignDeadLetters: 0,
};
const valuesOf = (name: string) =>
  world.measured.filter((one) => one.name === name).map(({ value }) => value);

beforeEach(async () => {
  await world.reset();
  await db.admin("truncate ghouls.degraded_owners, ghouls.integrity_faults, ghouls.dead_letters");
  world.measured.length = 0;
  world.logged.length = 0;
});

describe("what waits in the ledger", () => {
  test("is nothing while every delivery is carried and every timer lies ahead", async () => {
    await world.submit("hello");
    await world.drain();
    await makeRun(db, { status: "RUNNING" });
    expect(await ledger.health()).toEqual(NOTHING);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["a delivery that nobody publishes", () => makeRun(db, { nextPublicationIn: -600 })],
    [
      "a claim whose worker is silent",
      async () => {
        const run = await makeRun(db, { status: "RUNNING" });
        await db.admin(
          "update ghouls.deliveries set lease_until = ghouls.clock() - interval '600 s' where run_id = $1",
          [run.runId],
        );
      },
    ],
    [
      "a timer that brings nobody back",
      async () => {
        await world.submit("hello");
        await world.drain();
        await world.advance(4_200);
      },
    ],
    [
      "an owner that stands aside",
      () =>
        db.admin(
          `insert into ghouls.degraded_owners (pass, owner, tenant_id, page_id, degraded_at, next_turn_at, reason)
           values ('timers', 'x', 'acme', $1, ghouls.clock() - interval '600 s', ghouls.clock() + interval '1 h', 'hung')`,
          [randomUUID()],
        ),
    ],
    [
      "a fault that nobody has acknowledged",
      () =>
        db.admin(
          `insert into ghouls.integrity_faults (fault_id, check_name, subject, detail, found_at, found_by, seen_at)
           values ($1, 'c', 's', 'd', ghouls.clock() - interval '600 s', 'doctor', ghouls.clock())`,
          [randomUUID()],
        ),
    ],
  ])("has the age of %s", async (_what, make) => {
    await make();
    const { oldestUnrepairedSeconds: oldest } = await ledger.health();
    expect(oldest).toBeGreaterThanOrEqual(599);
    expect(oldest).toBeLessThan(700);
  });

  test("counts runs that ask for a person, faults and foreign letters, acknowledged and gone ones aside", async () => {
    const runs = await Promise.all([makeRun(db, {}), makeRun(db, {})]);
    await db.admin(
      "update ghouls.runs set attention_reason = 'x', attention_at = ghouls.clock() where run_id = $1",
      [runs[0].runId],
    );
    await db.admin(
      "update ghouls.runs set quarantine_reason = 'x', quarantined_at = ghouls.clock() where run_id = $1",
      [runs[1].runId],
    );
    const fault = (subject: string, columns: string, values: string) =>
      db.admin(
        `insert into ghouls.integrity_faults (fault_id, check_name, subject, detail, found_at, found_by, seen_at${columns})
         values ($1, 'c', $2, 'd', ghouls.clock(), 'doctor', ghouls.clock()${values})`,
        [randomUUID(), subject],
      );
    await fault("open", "", "");
    await fault("gone", ", gone_at", ", ghouls.clock()");
    await fault(
      "known",
      ", acknowledged_at, acknowledged_by, acknowledgement",
      ", ghouls.clock(), 'ada', 'a restore'",
    );
    await ledger.deadLetters.note({
      queue: "runs",
      messageId: "m",
      bodyDigest: "d",
      bytes: 1,
      reason: "poison",
    });
    expect(await ledger.health()).toMatchObject({
      runsWithAttention: 2,
      quarantinedRuns: 1,
      integrityFaults: 1,
      foreignDeadLetters: 1,
    });
  });
});

describe("a round measures", () => {
  const idle = { pages: 1, found: 0, repaired: 0, left: 0, failed: 0, degraded: 0 };
  const deps = { ledger, metrics: world.deps.metrics, log: world.deps.log, remainingMs: () => 60_000 };

  test("what each pass has repaired, and which was interrupted", async () => {
    const report = {
      timers: { ...idle, repaired: 3 },
      relay: { ...idle, error: "Error" },
      holds: idle,
    } as ReconcileReport;
    await measure(report, deps);
    expect(world.measured.filter(({ which }) => which !== undefined)).toEqual([
      { name: "Repairs", value: 3, which: "timers" },
      { name: "PassesInterrupted", value: 1, which: "relay" },
    ]);
    expect(valuesOf("RunsWithAttention")).toEqual([]);
    const run = await makeRun(db, {});
    await ledger.runs.raiseAttention(run, "unclaimed: by a test");
    await measure({} as ReconcileReport, deps);
    expect(valuesOf("RunsWithAttention")).toEqual([1]);
  });

  test("nothing of the ledger where that cannot be read, and is done all the same", async () => {
    const unread = { ...deps, ledger: { health: () => Promise.reject(new TypeError("hunter2")) } };
    await measure({} as ReconcileReport, unread);
    expect(world.measured).toEqual([]);
    expect(world.logged).toMatchObject([
      {
        level: "warn",
        message: "what waits in the ledger could not be measured",
        fields: { error: "TypeError" },
      },
    ]);
  });

  test("how late a timer was, by its pass and by its message, and a worker that was lost", async () => {
    const { runId } = await world.submit("hello");
    await world.drain();
    await world.advance(3_610);
    await world.reconcile();
    expect(valuesOf("TimerLateness")[0]).toBeGreaterThanOrEqual(9);
    const claims = await ledger.deliveries.claimIfDue([{ runId, enqueueSeq: 2, token: randomUUID() }], {
      worker: "w",
      leaseSeconds: 10,
      actsForSeconds: 20,
    });
    expect(claims).toHaveLength(1);
    await world.advance(60);
    await world.reconcile();
    expect(valuesOf("WorkersLost")).toEqual([1]);
  });

  test("why a delivery was skipped, and how a run was settled", async () => {
    const { runId } = await world.submit("hello");
    await world.drain();
    await world.deliver([`run:${runId}:1`]);
    expect(world.measured.filter(({ name }) => name === "DeliveriesSkipped")).toEqual([
      { name: "DeliveriesSkipped", value: 1, which: "settled" },
    ]);
    await world.later(3_700);
    expect(world.measured.filter(({ name }) => name === "RunsSettled")).toEqual([
      { name: "RunsSettled", value: 1, which: "DONE" },
    ]);
  });
});
