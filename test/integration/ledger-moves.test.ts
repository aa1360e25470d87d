import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canMove, isTerminalRun, statesOf, type DeliveryStatus, type RunStatus } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import { deliveryMayBecome, runMayBecome } from "../../packages/ledger/src/sql/fence.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";

const db = await testDatabase();
const ledger = db.ledger();
const runStates = statesOf("run");
const deliveryStates = statesOf("delivery");

async function rowsOf(run: MadeRun): Promise<unknown> {
  return db.admin(
    `select to_jsonb(run) as run, (select jsonb_agg(to_jsonb(d) order by d.seq) from ghouls.deliveries d where d.run_id = run.run_id)
       as deliveries, (select count(*) from ghouls.journal j where j.run_id = run.run_id) as entries
     from ghouls.runs run where run.run_id = $1`,
    [run.runId],
  );
}

describe("the guard of a run's move", () => {
  test.each(runStates)(
    "to %s changes one row where the table has the move, and none otherwise",
    async (to) => {
      for (const from of runStates) {
        const run = await makeRun(db, { status: from });
        const changed = await db.admin(
          `update ghouls.runs set status = $2, finished_at = case when $3 then ghouls.clock() end,
           error_code = case when $4 then 'x' end, error_digest = case when $4 then 'x' end, error_text = null
         where tenant_id = 'acme' and run_id = $1 and ${runMayBecome("status", to)} returning run_id`,
          [run.runId, to, isTerminalRun(to), to === "FAILING" || to === "FAILED"],
        );
        expect([from, changed.length]).toEqual([from, canMove("run", from, to) ? 1 : 0]);
      }
    },
  );
});

describe("the guard of a delivery's move", () => {
  test.each(deliveryStates)(
    "to %s changes one row where the table has the move, and none otherwise",
    async (to) => {
      for (const from of deliveryStates) {
        const run = await makeRun(db, { status: "RUNNING", deliveryStatus: from });
        const changed = await db.admin(
          `update ghouls.deliveries set status = $2, token = coalesce(token, $3), claimed_by = coalesce(claimed_by, 'w'),
           claimed_at = coalesce(claimed_at, ghouls.clock()), lease_until = coalesce(lease_until, ghouls.clock()),
           settled_at = case when $2 = 'SETTLED' then ghouls.clock() end, outcome = case when $2 = 'SETTLED' then 'done' end,
           fenced_at = case when $2 = 'FENCED' then ghouls.clock() end
         where run_id = $1 and ${deliveryMayBecome("status", to)} and $2 <> 'PENDING'
         returning run_id`,
          [run.runId, to, randomUUID()],
        );
        const expected = to !== "PENDING" && canMove("delivery", from, to) ? 1 : 0;
        expect([from, changed.length]).toEqual([from, expected]);
      }
    },
  );
});

const FIRST_CALL = { epoch: 0, scope: "", kind: "step", name: "a", nth: 1 } as const;

/** Every statement that moves something, with the states in which it may. */
const moves: readonly {
  readonly name: string;
  readonly may: (run: RunStatus, delivery: DeliveryStatus) => boolean;
  readonly move: (on: Ledger, run: MadeRun) => Promise<boolean>;
}[] = [
  {
    name: "claim",
    may: (run, delivery) => run === "QUEUED" && delivery === "PENDING",
    move: async (on, run) => {
      const request = { runId: run.runId, enqueueSeq: run.seq, token: randomUUID() };
      const settings = { worker: "w", leaseSeconds: 120, actsForSeconds: 180 };
      return (await on.deliveries.claimIfDue([request], settings)).length === 1;
    },
  },
  {
    name: "step",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: async (on, run) => {
      const call = { epoch: 0, scope: "", kind: "step", name: "a", nth: 1 } as const;
      const result = {
        outcome: "ok",
        resultText: "1",
        resultDigest: "d",
        resultBytes: 1,
        tries: 1,
        tookMs: 1,
      } as const;
      return (await on.journal.appendIfClaimed(run, { ...call, ...result })) !== null;
    },
  },
  {
    name: "settle as done",
    may: (run, delivery) => run === "RUNNING" && delivery === "CLAIMED",
    move: async (on, run) =>
      (await on.deliveries.settleIfClaimed(run, { status: "DONE", outputText: "1", outputDigest: "d" }))
        .settled,
  },
  {
    name: "settle as failed",
    may: (run, delivery) => run === "RUNNING" && delivery === "CLAIMED",
    move: async (on, run) =>
      (
        await on.deliveries.settleIfClaimed(run, {
          status: "FAILED",
          errorCode: "x",
          errorText: "{}",
          errorDigest: "d",
        })
      ).settled,
  },
  {
    name: "quarantine",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: (on, run) => on.runs.quarantineIfClaimed(run, "by a test"),
  },
  {
    name: "yield",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: async (on, run) =>
      (await on.deliveries.yieldIfClaimed(
        run,
        { workflowDigest: "d", journalLength: 0, journalDigest: "j" },
        { idle: true, publisherGraceSeconds: 15 },
      )) !== null,
  },
  {
    name: "yield with what stands",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: async (on, run) =>
      (await on.deliveries.yieldStandingIfClaimed(
        run,
        { workflowDigest: "d", journalLength: 0, journalDigest: "j" },
        [{ call: FIRST_CALL, armId: randomUUID(), owner: "timer", dueAt: new Date(), tries: 1 }],
        { idle: true, publisherGraceSeconds: 15 },
      )) !== null,
  },
  {
    name: "give back",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: async (on, run) => (await on.deliveries.giveBackIfClaimed(run, new Date())) !== null,
  },
  {
    name: "give back for want of the workflow",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: async (on, run) => (await on.deliveries.giveBackIfClaimed(run, new Date(), true)) !== null,
  },
  {
    name: "clear absence",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: (on, run) => on.runs.clearAbsenceIfClaimed(run),
  },
  {
    name: "adopt",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: (on, run) =>
      on.runs.adoptIfClaimed(
        { ...run, workflow: { name: "hello", version: 1, digest: "hello@1" }, checkpointGeneration: 1 },
        { name: "hello", version: 2, digest: "hello@2" },
        { workflowDigest: "hello@2", journalLength: 0, journalDigest: "j" },
      ),
  },
  {
    name: "intent",
    may: (run, delivery) => (run === "RUNNING" || run === "AWAITING_HARDWARE") && delivery === "CLAIMED",
    move: (on, run) => on.intents.openIfClaimed(run, FIRST_CALL, 1),
  },
  {
    name: "release",
    may: (run, delivery) => run === "QUEUED" && delivery === "HELD",
    move: (on, run) => on.deliveries.releaseIfHeld(run, 15),
  },
];

describe.each(moves)("$name", ({ may, move }) => {
  test.each(runStates)(
    "of a run that is %s moves what the table allows, and changes nothing else",
    async (status) => {
      for (const deliveryStatus of deliveryStates) {
        const run = await makeRun(db, { status, deliveryStatus });
        const before = await rowsOf(run);
        const moved = await move(ledger, run);
        expect([deliveryStatus, moved]).toEqual([deliveryStatus, may(status, deliveryStatus)]);
        if (!moved) expect(await rowsOf(run)).toEqual(before);
      }
    },
  );
});

const underClaim = moves.filter(({ name }) => !["claim", "release"].includes(name));

describe.each(underClaim)("$name under a claim", ({ move }) => {
  test.each([
    ["another token", (run: MadeRun) => ({ ...run, token: randomUUID() })],
    ["another sequence", (run: MadeRun) => ({ ...run, seq: 2 })],
    ["another tenant", (run: MadeRun) => ({ ...run, tenantId: "other" })],
  ])("with %s changes nothing", async (_name, change) => {
    const run = await makeRun(db, { status: "RUNNING" });
    const before = await rowsOf(run);
    expect(await move(ledger, change(run))).toBe(false);
    expect(await rowsOf(run)).toEqual(before);
  });

  test("of a quarantined run changes nothing", async () => {
    const run = await makeRun(db, { status: "RUNNING", quarantined: true });
    const before = await rowsOf(run);
    expect(await move(ledger, run)).toBe(false);
    expect(await rowsOf(run)).toEqual(before);
  });

  test("whose lease has lapsed and is not yet judged still counts", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 hour' where run_id = $1",
      [run.runId],
    );
    expect(await move(ledger, run)).toBe(true);
  });
});

test("a settlement that is sent again after a lost answer is recognised by its token, and only by it", async () => {
  const run = await makeRun(db, { status: "RUNNING" });
  const settlement = { status: "DONE", outputText: "1", outputDigest: "d" } as const;
  expect(await ledger.deliveries.settleIfClaimed(run, settlement)).toEqual({
    settled: true,
    runStatus: "DONE",
  });
  const settled = await rowsOf(run);
  expect(await ledger.deliveries.settleIfClaimed(run, settlement)).toEqual({
    settled: true,
    runStatus: "DONE",
  });
  expect(await ledger.deliveries.settleIfClaimed({ ...run, token: randomUUID() }, settlement)).toEqual({
    settled: false,
    deliveryStatus: "SETTLED",
    runStatus: "DONE",
  });
  expect(await rowsOf(run)).toEqual(settled);
});

describe("a heartbeat", () => {
  test.each(deliveryStates)(
    "of a delivery that is %s comes back only where its claim is held",
    async (deliveryStatus) => {
      const run = await makeRun(db, { status: "RUNNING", deliveryStatus });
      const held = await ledger.deliveries.beatIfClaimed([run], 300);
      expect([...held.keys()]).toEqual(deliveryStatus === "CLAIMED" ? [`${run.runId}:1`] : []);
      const others = await ledger.deliveries.beatIfClaimed([{ ...run, token: randomUUID() }], 300);
      expect(others.size).toBe(0);
    },
  );

  test("never shortens a lease, and revives one that has lapsed and is not judged", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const leaseIn = async () =>
      (
        await db.admin<{ s: number }>(
          "select extract(epoch from lease_until - ghouls.clock())::double precision as s from ghouls.deliveries where run_id = $1",
          [run.runId],
        )
      )[0]?.s ?? 0;
    await ledger.deliveries.beatIfClaimed([run], 1);
    expect(await leaseIn()).toBeGreaterThan(100);
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 hour' where run_id = $1",
      [run.runId],
    );
    expect((await ledger.deliveries.beatIfClaimed([run], 60)).size).toBe(1);
    expect(await leaseIn()).toBeGreaterThan(50);
    expect((await ledger.deliveries.lapsed({ limit: 10, owners: [run.runId] })).found).toEqual([]);
  });
});

describe("a cancel", () => {
  test.each(runStates)(
    "of a run that is %s does what the table allows, fences, and lists what may still act",
    async (status) => {
      for (const deliveryStatus of deliveryStates) {
        const run = await makeRun(db, { status, deliveryStatus });
        const before = await rowsOf(run);
        const answer = await ledger.runs.cancel(run, { actor: "user:ada", reason: "by a test" }, 60);
        const may = canMove("run", status, "CANCELLING");
        const claimed = deliveryStatus === "CLAIMED";
        expect([deliveryStatus, answer]).toEqual([
          deliveryStatus,
          { cancelled: may, status: may ? (claimed ? "CANCELLING" : "CANCELLED") : status },
        ]);
        if (!may) expect(await rowsOf(run)).toEqual(before);
        else {
          const items = await ledger.items.ofRun(run);
          expect(items.map((item) => [item.kind, item.acknowledgedAt])).toEqual(
            claimed ? [["worker", null]] : [],
          );
          expect(
            await db.admin(
              "select 1 from ghouls.deliveries where run_id = $1 and status in ('HELD', 'PENDING', 'CLAIMED')",
              [run.runId],
            ),
          ).toEqual([]);
        }
      }
    },
  );

  test("of another tenant, or of no run, finds nothing", async () => {
    const run = await makeRun(db);
    const word = { actor: "user:ada", reason: "x" };
    expect(await ledger.runs.cancel({ ...run, tenantId: "other" }, word, 60)).toBeNull();
    expect(await ledger.runs.cancel({ tenantId: "acme", runId: randomUUID() }, word, 60)).toBeNull();
  });
});

describe("a claim", () => {
  const claim = moves[0]?.move as (on: Ledger, run: MadeRun) => Promise<boolean>;

  test.each([
    ["early", { dueIn: 60 }],
    ["paused", { paused: true }],
    ["quarantined", { quarantined: true }],
  ])("of a delivery that is %s is not made", async (_name, options) => {
    expect(await claim(ledger, await makeRun(db, options))).toBe(false);
  });

  test("of the same delivery by twenty workers is made once", async () => {
    const run = await makeRun(db);
    const many = db.ledger({ maxConnections: 10 });
    const claimed = await Promise.all(Array.from({ length: 20 }, () => claim(many, run)));
    expect(claimed.filter(Boolean)).toHaveLength(1);
  });

  test("of many is one statement, and orders its locks: no deadlock in opposite orders", async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => makeRun(db)));
    const many = db.ledger({ maxConnections: 10 });
    const settings = { worker: "w", leaseSeconds: 120, actsForSeconds: null };
    const claimed = await Promise.all(
      Array.from({ length: 8 }, (_, round) => {
        const order = round % 2 === 0 ? made : made.toReversed();
        return many.deliveries.claimIfDue(
          order.map((run) => ({ runId: run.runId, enqueueSeq: 1, token: randomUUID() })),
          settings,
        );
      }),
    );
    expect(claimed.flat()).toHaveLength(10);
    expect(new Set(claimed.flat().map((one) => one.runId)).size).toBe(10);
  });
});

test("a second open delivery of a run is impossible, whoever writes it", async () => {
  const run = await makeRun(db);
  const second = db.admin(
    `insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, created_at)
     values ('acme', $1, 2, 'continued', 'PENDING', 'runs', 5, ghouls.clock(), ghouls.clock())`,
    [run.runId],
  );
  await expect(second).rejects.toMatchObject({ code: "23505", constraint: "deliveries_one_open" });
});

describe("a terminal run", () => {
  test.each(runStates.filter(isTerminalRun))(
    "%s keeps everything but attention, quarantine and emptied bodies",
    async (status) => {
      const run = await makeRun(db, { status });
      const set = (assignment: string) =>
        db.admin(`update ghouls.runs set ${assignment} where run_id = $1`, [run.runId]);
      await set("attention_reason = 'look', attention_at = ghouls.clock()");
      await set("quarantine_reason = 'look', quarantined_at = ghouls.clock()");
      await set("input_text = null");
      for (const assignment of [
        "status = 'QUEUED', finished_at = null, error_code = null, error_text = null, error_digest = null",
        "input_text = '1'",
        "input_digest = 'x'",
        "enqueue_seq = enqueue_seq + 1",
        "finished_at = ghouls.clock() + interval '1 day'",
        "workflow_digest = 'x'",
        "journal_length = 9",
      ]) {
        await expect(set(assignment), assignment).rejects.toMatchObject({ code: "GH001" });
      }
    },
  );
});

test.each([
  ["a terminal run without its end", "update ghouls.runs set status = 'DONE' where run_id = $1"],
  [
    "a failed run without a code",
    "update ghouls.runs set status = 'FAILED', finished_at = ghouls.clock() where run_id = $1",
  ],
  ["a claim without a token", "update ghouls.deliveries set token = null where run_id = $1"],
  [
    "a settled delivery without an outcome",
    "update ghouls.deliveries set status = 'SETTLED', settled_at = ghouls.clock() where run_id = $1",
  ],
  [
    "an output of a run that is not done",
    "update ghouls.runs set output_text = '1', output_digest = 'x' where run_id = $1",
  ],
  ["attention without its time", "update ghouls.runs set attention_reason = 'x' where run_id = $1"],
  ["a status of no table", "update ghouls.runs set status = 'PAUSED' where run_id = $1"],
])("%s is refused by a check", async (_name, statement) => {
  const run = await makeRun(db, { status: "RUNNING" });
  await expect(db.admin(statement, [run.runId])).rejects.toMatchObject({ code: "23514" });
});
