import { beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf, type MadeRun } from "../support/factories.ts";
import { heldInTheMiddle } from "../support/races.ts";

const db = await testDatabase();
const ledger = db.ledger({ maxConnections: 6 });
const WORD = { actor: "user:ada", reason: "by a test" };

beforeEach(async () => {
  await db.admin("truncate ghouls.runs cascade");
});

const EXPIRE =
  "update ghouls.deliveries set hold_expires_at = ghouls.clock() - interval '1 second' where run_id = $1";

async function expired(): Promise<MadeRun> {
  const run = await makeRun(db, { deliveryStatus: "HELD" });
  await db.admin(EXPIRE, [run.runId]);
  return run;
}

const expire = (run: MadeRun) =>
  ledger.deliveries.expireHolds([{ ...run, errorText: "{}", errorDigest: "d" }]);
const release = (run: MadeRun) => ledger.deliveries.releaseIfHeld(run, 15);
const cancel = (run: MadeRun) => ledger.runs.cancel(run, WORD, 60);
const lockRun = (run: MadeRun) => (holder: pg.Client) =>
  holder.query("select 1 from ghouls.runs where tenant_id = $1 and run_id = $2 for update", [
    run.tenantId,
    run.runId,
  ]);
/** All at once, or the others once the first has answered: so each of them wins in some round, whatever chance does. */
async function inTurn<T>(atOnce: boolean, moves: readonly (() => Promise<T>)[]): Promise<T[]> {
  if (atOnce) return Promise.all(moves.map((move) => move()));
  const first = await Promise.all(moves.slice(0, 1).map((move) => move()));
  return [...first, ...(await Promise.all(moves.slice(1).map((move) => move())))];
}

const clean = async () => expect((await ledger.doctor()).filter((check) => !check.ok)).toEqual([]);

describe("a hold's expiry", () => {
  test("that waits for a release leaves the run to it", async () => {
    const run = await expired();
    expect((await ledger.deliveries.expiredHolds({ limit: 10 })).found).toHaveLength(1);
    const ended = await heldInTheMiddle(
      db,
      lockRun(run),
      () => expire(run),
      (holder) =>
        holder.query(
          `update ghouls.deliveries set status = 'PENDING', next_publication_at = ghouls.clock() where run_id = $1`,
          [run.runId],
        ),
    );
    expect(ended).toEqual([]);
    expect(await statusesOf(db, run)).toEqual({ run: "QUEUED", delivery: "PENDING", seq: 1 });
    await clean();
  });

  test("that a release waits for has ended the run, and nothing is released", async () => {
    const run = await expired();
    const released = await heldInTheMiddle(
      db,
      lockRun(run),
      () => release(run),
      async (holder) => {
        await holder.query(
          "update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1",
          [run.runId],
        );
        await holder.query(
          `update ghouls.runs set status = 'FAILED', finished_at = ghouls.clock(), error_code = 'hold_expired',
             error_text = '{}', error_digest = 'd' where run_id = $1`,
          [run.runId],
        );
      },
    );
    expect(released).toBe(false);
    expect(await statusesOf(db, run)).toEqual({ run: "FAILED", delivery: "FENCED", seq: 1 });
    await clean();
  });

  test("against a release, a cancel and another reconciler at once has one winner, and nobody is left between", async () => {
    const winners = new Set<string>();
    const orders = [
      [expire, release, cancel, expire],
      [release, expire, expire, cancel],
      [cancel, expire, release, expire],
    ];
    for (let round = 0; round < 45; round += 1) {
      const run = await expired();
      const answers = await inTurn(
        round % 2 === 0,
        (orders[round % orders.length] ?? []).map((move) => async () => [move, await move(run)] as const),
      );
      const ends = answers.flatMap(([move, answer]) => (move === expire ? (answer as unknown[]) : []));
      const released = answers.some(([move, answer]) => move === release && answer === true);
      const cancelled = answers.some(
        ([move, answer]) => move === cancel && (answer as { cancelled: boolean }).cancelled,
      );
      const state = await statusesOf(db, run);
      expect(released).toBe(false);
      if (ends.length > 0) {
        winners.add("expiry");
        expect({ ends: ends.length, cancelled }).toEqual({ ends: 1, cancelled: false });
        expect(state).toMatchObject({ run: "FAILED", delivery: "FENCED" });
      } else {
        winners.add("cancel");
        expect(cancelled).toBe(true);
        expect(state).toMatchObject({ run: "CANCELLED", delivery: "FENCED" });
      }
    }
    expect(winners.size).toBeGreaterThan(1);
    await clean();
  });

  test("of many ends each by its own state, and leaves what is not due, not held or in quarantine", async () => {
    const due = [await expired(), await expired()];
    const released = await makeRun(db, { deliveryStatus: "HELD" });
    expect(await release(released)).toBe(true);
    await db.admin(EXPIRE, [released.runId]);
    const early = await makeRun(db, { deliveryStatus: "HELD" });
    const quarantined = await expired();
    await db.admin(
      "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'x' where run_id = $1",
      [quarantined.runId],
    );
    const { found: listed } = await ledger.deliveries.expiredHolds({ limit: 10 });
    expect(listed.map((hold) => hold.runId).toSorted()).toEqual(due.map((run) => run.runId).toSorted());
    const all = [...due, released, early, quarantined].map((run) => ({
      ...run,
      errorText: "{}",
      errorDigest: "d",
    }));
    const ended = await ledger.deliveries.expireHolds(all);
    expect(new Map(ended.map(({ runId, status }) => [runId, status]))).toEqual(
      new Map(due.map((run) => [run.runId, "FAILED"])),
    );
    expect(await statusesOf(db, released)).toMatchObject({ run: "QUEUED", delivery: "PENDING" });
    for (const run of [early, quarantined])
      expect(await statusesOf(db, run)).toMatchObject({ run: "QUEUED", delivery: "HELD" });
  });

  test("that a release has met is final: nothing is released, whether a pass has seen it or not", async () => {
    const run = await expired();
    expect(await release(run)).toBe(false);
    expect(await statusesOf(db, run)).toEqual({ run: "QUEUED", delivery: "HELD", seq: 1 });
    expect(await expire(run)).toMatchObject([{ status: "FAILED" }]);
    await clean();
  });

  test("that comes while a release waits for the run's lock keeps it from the release", async () => {
    const run = await makeRun(db, { deliveryStatus: "HELD" });
    const released = await heldInTheMiddle(
      db,
      lockRun(run),
      () => release(run),
      (holder) => holder.query(EXPIRE, [run.runId]),
    );
    expect(released).toBe(false);
    expect(await statusesOf(db, run)).toEqual({ run: "QUEUED", delivery: "HELD", seq: 1 });
  });

  test("against releases, cancels and reconcilers that come before and after it has one winner", async () => {
    const winners = new Set<string>();
    for (let round = 0; round < 30; round += 1) {
      const run = await makeRun(db, { deliveryStatus: "HELD" });
      const expires = () => db.admin(EXPIRE, [run.runId]);
      const moves = [expires, () => release(run), () => expire(run), () => release(run)];
      const turned = [...moves.slice(round % 4), ...moves.slice(0, round % 4)];
      const answers = await inTurn(
        round % 8 < 4,
        turned.map((move) => async () => [move, await move()] as const),
      );
      const released = answers.filter(([, answer]) => answer === true).length;
      const ended = answers.flatMap(([move, answer]) =>
        move === moves[2] ? (answer as unknown[]) : [],
      ).length;
      expect(released + ended).toBeLessThanOrEqual(1);
      winners.add(released === 1 ? "release" : "expiry");
      const after = released === 1 ? [] : [expect.anything()];
      if (ended === 0) expect(await expire(run)).toEqual(after);
      expect(await statusesOf(db, run)).toMatchObject(
        released === 1 ? { run: "QUEUED", delivery: "PENDING" } : { run: "FAILED", delivery: "FENCED" },
      );
    }
    expect(winners).toEqual(new Set(["release", "expiry"]));
    await clean();
  });

  test("whose answer was lost finds nothing the second time", async () => {
    const run = await expired();
    expect(await expire(run)).toMatchObject([{ status: "FAILED" }]);
    expect(await expire(run)).toEqual([]);
    expect(await ledger.deliveries.expireHolds([])).toEqual([]);
  });
});
