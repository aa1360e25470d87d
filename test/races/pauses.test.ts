import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import type { PauseTarget } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf, type MadeRun } from "../support/factories.ts";
import { heldInTheMiddle } from "../support/races.ts";

const db = await testDatabase();
const ledger = db.ledger({ maxConnections: 10 });
const WORD = { actor: "user:ada", reason: "by a test" };
const ALL: PauseTarget = { scope: "all", tenantId: null, workflow: null };

beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.pauses cascade");
});
afterEach(async () => {
  expect((await ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
});

const lockRun = (run: MadeRun) => (holder: pg.Client) =>
  holder.query("select 1 from ghouls.runs where tenant_id = $1 and run_id = $2 for update", [
    run.tenantId,
    run.runId,
  ]);
const by = (run: MadeRun, text: string) => (holder: pg.Client) => holder.query(text, [run.runId]);
const PAUSE =
  "update ghouls.runs set paused_at = ghouls.clock(), paused_by = 'x', pause_reason = 'y' where run_id = $1";
const UNPAUSE =
  "update ghouls.runs set paused_at = null, paused_by = null, pause_reason = null where run_id = $1";

const set = (target = ALL) => ledger.pauses.set({ ...target, pauseId: randomUUID(), ...WORD });
const claim = async (run: MadeRun) => {
  const [claimed] = await ledger.deliveries.claimIfDue(
    [{ runId: run.runId, enqueueSeq: run.seq, token: run.token }],
    { worker: "worker-0", leaseSeconds: 120, actsForSeconds: 60 },
  );
  return claimed !== undefined;
};
const isPaused = async (run: MadeRun) =>
  (await ledger.deliveries.unclaimed([{ runId: run.runId, enqueueSeq: 1 }])).get(`${run.runId}:1`)?.paused;
const acts = async () =>
  (await db.admin("select act from ghouls.audit order by at")).map((row) => row["act"]);

describe("a claim that waits for its run", () => {
  test("while that is paused is not made: its statement tests the run that it has locked", async () => {
    const run = await makeRun(db);
    expect(await heldInTheMiddle(db, lockRun(run), () => claim(run), by(run, PAUSE))).toBe(false);
    expect(await isPaused(run)).toBe(true);
  });

  test("while that is unpaused is made", async () => {
    const run = await makeRun(db, { paused: true });
    expect(await heldInTheMiddle(db, lockRun(run), () => claim(run), by(run, UNPAUSE))).toBe(true);
  });

  test("while everything is paused is made, and its worker is told at its first beat", async () => {
    const run = await makeRun(db);
    expect(
      await heldInTheMiddle(
        db,
        lockRun(run),
        () => claim(run),
        () => set(),
      ),
    ).toBe(true);
    const held = await ledger.deliveries.beatIfClaimed([run], 60);
    expect(held.get(`${run.runId}:1`)).toEqual({ paused: true });
  });

  test("while the pause of everything is lifted is not made, and its message is not taken for one that is paused", async () => {
    const run = await makeRun(db);
    const { pause } = await set();
    const lift = () => ledger.pauses.lift(pause.pauseId, WORD);
    expect(await heldInTheMiddle(db, lockRun(run), () => claim(run), lift)).toBe(false);
    expect(await isPaused(run)).toBe(false);
    expect(await claim(run)).toBe(true);
  });
});

describe("a pause of a run", () => {
  test("that waits for a claim is of a run that is carried", async () => {
    const run = await makeRun(db);
    const paused = await heldInTheMiddle(
      db,
      lockRun(run),
      () => ledger.runs.pause(run, WORD),
      async (holder) => {
        await holder.query(
          `update ghouls.deliveries set status = 'CLAIMED', token = $2, claimed_by = 'w', claimed_at = ghouls.clock(),
             lease_until = ghouls.clock() + interval '1 minute' where run_id = $1`,
          [run.runId, run.token],
        );
        await by(
          run,
          "update ghouls.runs set status = 'RUNNING', started_at = ghouls.clock() where run_id = $1",
        )(holder);
      },
    );
    expect(paused).toEqual({ paused: true, status: "RUNNING" });
    expect((await ledger.deliveries.beatIfClaimed([run], 60)).get(`${run.runId}:1`)).toEqual({
      paused: true,
    });
  });

  test("that waits for an ending is none", async () => {
    const run = await makeRun(db);
    const cancelled = async (holder: pg.Client) => {
      await by(
        run,
        "update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1",
      )(holder);
      await by(
        run,
        "update ghouls.runs set status = 'CANCELLED', finished_at = ghouls.clock() where run_id = $1",
      )(holder);
    };
    const paused = await heldInTheMiddle(db, lockRun(run), () => ledger.runs.pause(run, WORD), cancelled);
    expect(paused).toEqual({ paused: false, status: "CANCELLED" });
    expect(await acts()).toEqual([]);
  });

  test("and its end, each behind the other, leave what the later one says", async () => {
    const run = await makeRun(db);
    const unpaused = await heldInTheMiddle(
      db,
      lockRun(run),
      () => ledger.runs.unpause(run, WORD),
      by(run, PAUSE),
    );
    expect(unpaused).toMatchObject({ unpaused: true, resumption: { enqueueSeq: 1 } });
    await ledger.runs.pause(run, WORD);
    const paused = await heldInTheMiddle(
      db,
      lockRun(run),
      () => ledger.runs.pause(run, WORD),
      by(run, UNPAUSE),
    );
    expect(paused).toEqual({ paused: true, status: "QUEUED" });
    expect(await isPaused(run)).toBe(true);
  });

  test("by eight at once is set by one, and by eight at once is ended by one", async () => {
    const run = await makeRun(db);
    const eight = <T>(act: () => Promise<T>) => Promise.all(Array.from({ length: 8 }, act));
    const paused = await eight(() => ledger.runs.pause(run, WORD));
    expect(paused.filter((one) => one?.paused)).toHaveLength(1);
    const unpaused = await eight(() => ledger.runs.unpause(run, WORD));
    expect(unpaused.filter((one) => one?.unpaused)).toHaveLength(1);
    expect(unpaused.filter((one) => one?.resumption)).toHaveLength(1);
    expect(await acts()).toEqual(["pause", "unpause"]);
  });

  test("that is ended while its worker lets go of it: the next delivery is found, and due", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    await ledger.runs.pause(run, WORD);
    const yields = async (holder: pg.Client) => {
      await by(
        run,
        "update ghouls.deliveries set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock() where run_id = $1",
      )(holder);
      await by(run, "update ghouls.runs set status = 'QUEUED', enqueue_seq = 2 where run_id = $1")(holder);
      await by(
        run,
        `insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
         values ('acme', $1, 2, 'continued', 'PENDING', 'runs', 5, ghouls.clock(), ghouls.clock() + interval '1 hour', ghouls.clock())`,
      )(holder);
    };
    const unpaused = await heldInTheMiddle(db, lockRun(run), () => ledger.runs.unpause(run, WORD), yields);
    expect(unpaused).toMatchObject({ unpaused: true, status: "QUEUED", resumption: { enqueueSeq: 2 } });
    expect((await ledger.deliveries.duePublications({ limit: 10 })).found).toHaveLength(1);
  });

  test("that is set while its worker lets go of it holds the next delivery", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const checkpoint = { workflowDigest: "hello@1", journalLength: 0, journalDigest: "d" };
    const next = await heldInTheMiddle(
      db,
      lockRun(run),
      () => ledger.deliveries.yieldIfClaimed(run, checkpoint, { idle: false, publisherGraceSeconds: 0 }),
      by(run, PAUSE),
    );
    expect(next).toEqual({ enqueueSeq: 2, queue: "runs" });
    expect((await ledger.deliveries.duePublications({ limit: 10 })).found).toEqual([]);
    expect(await claim({ ...run, seq: 2, token: randomUUID() })).toBe(false);
    expect(await statusesOf(db, { ...run, seq: 2 })).toEqual({ run: "QUEUED", delivery: "PENDING", seq: 2 });
  });
});

describe("a pause of everything", () => {
  test("by eight at once is one, whoever is answered first", async () => {
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => set()));
      expect(answers.filter(({ created }) => created)).toHaveLength(1);
      const [id, ...more] = new Set(answers.map(({ pause }) => pause.pauseId));
      expect(more).toEqual([]);
      const lifted = await Promise.all(Array.from({ length: 4 }, () => ledger.pauses.lift(id ?? "", WORD)));
      expect(lifted.filter((one) => one?.lifted)).toHaveLength(1);
    }
  });

  test("that waits for another one to be set takes it for its own; where that is given up, it is set", async () => {
    const insert = (holder: pg.Client) =>
      holder.query(
        "insert into ghouls.pauses (pause_id, scope, actor, reason, at) values (gen_random_uuid(), 'all', 'x', 'y', ghouls.clock())",
      );
    const second = await heldInTheMiddle(
      db,
      insert,
      () => set(),
      () => Promise.resolve(),
    );
    expect(second).toMatchObject({ created: false, pause: { by: "x" } });
    await ledger.pauses.lift(second.pause.pauseId, WORD);
    const third = await heldInTheMiddle(
      db,
      async (holder) => {
        await holder.query("savepoint before");
        await insert(holder);
      },
      () => set(),
      (holder) => holder.query("rollback to savepoint before"),
    );
    expect(third).toMatchObject({ created: true, pause: { by: "user:ada" } });
  });

  test("that comes and goes while workers take messages loses none: each run is carried, has one, or is due", async () => {
    const runs = await Promise.all(
      Array.from({ length: 12 }, () => makeRun(db, { nextPublicationIn: 3_600 })),
    );
    const messages = new Set(runs);
    const skipped = new Set<MadeRun>();
    const worker = async (mine: readonly MadeRun[]) => {
      for (const run of mine) {
        if (await claim(run)) continue;
        if ((await isPaused(run)) !== true) continue;
        await ledger.deliveries.markSkippedAsPaused([{ runId: run.runId, enqueueSeq: 1 }]);
        messages.delete(run);
        skipped.add(run);
      }
    };
    const pauser = async () => {
      for (let times = 0; times < 4; times += 1) {
        const { pause } = await set();
        await ledger.pauses.lift(pause.pauseId, WORD);
      }
    };
    const { pause } = await set();
    await worker(runs.slice(0, 2));
    await ledger.pauses.lift(pause.pauseId, WORD);
    await Promise.all([pauser(), worker(runs.slice(2, 7)), worker(runs.slice(7))]);
    expect(skipped.size).toBeGreaterThan(1);
    const due = new Set(
      (await ledger.deliveries.duePublications({ limit: 100 })).found.map(({ runId }) => runId),
    );
    for (const run of runs) {
      const { run: status } = await statusesOf(db, run);
      expect(status === "RUNNING" || messages.has(run) || due.has(run.runId)).toBe(true);
      if (skipped.has(run)) expect(due.has(run.runId)).toBe(true);
    }
  });
});
