import { expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf, type MadeRun } from "../support/factories.ts";

const db = await testDatabase();
const ledger = db.ledger({ maxConnections: 6 });

const cancel = (run: MadeRun) => ledger.runs.cancel(run, { actor: "user:ada", reason: "by a test" }, 60);
const giveBack = (run: MadeRun) =>
  ledger.deliveries.giveBackIfClaimed(run, new Date(Date.now() + 30_000), true);
const clear = (run: MadeRun) => ledger.runs.clearAbsenceIfClaimed(run);

test("a give-back for want of the workflow, a cancel and the give-back's own repetition have one end", async () => {
  const winners = new Set<string>();
  const orders = [
    [giveBack, cancel, giveBack],
    [cancel, giveBack, giveBack],
    [giveBack, giveBack, cancel],
  ];
  for (let round = 0; round < 60; round += 1) {
    const run = await makeRun(db, { status: "RUNNING" });
    const moves = (orders[round % orders.length] ?? []).map(
      (move) => async () => [move, await move(run)] as const,
    );
    // Every second time the first is let in before the others come, so that each of them wins in some round.
    const [first, ...others] = moves;
    const early = round % 2 === 1 && first !== undefined ? [await first()] : [];
    const answers = [
      ...early,
      ...(await Promise.all((early.length > 0 ? others : moves).map((move) => move()))),
    ];
    const back = answers.flatMap(([move, answer]) => (move === giveBack ? [answer] : []));
    const [delivery] = await db.admin<{ outcome: string | null; status: string }>(
      "select status, outcome from ghouls.deliveries where run_id = $1 and seq = 1",
      [run.runId],
    );
    const state = await statusesOf(db, run);
    if (delivery?.status === "SETTLED") {
      // Given back first: nothing acts any more, so the cancel ends the run with its next delivery in one commit.
      winners.add("give-back");
      expect(delivery.outcome).toBe("given_back");
      expect(state).toMatchObject({ run: "CANCELLED", seq: 2 });
      expect(await statusesOf(db, { ...run, seq: 2 })).toMatchObject({ delivery: "FENCED" });
      expect(back).toContainEqual({ enqueueSeq: 2, queue: "runs" });
    } else {
      winners.add("cancel");
      expect(back).toEqual([null, null]);
      expect(state).toEqual({ run: "CANCELLING", delivery: "FENCED", seq: 1 });
    }
  }
  expect(winners.size).toBe(2);
  expect((await ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
});

test("a hop that starts and a cancel: the late word about the workflow is nobody's", async () => {
  for (let round = 0; round < 20; round += 1) {
    const run = await makeRun(db, { status: "RUNNING" });
    await db.admin("update ghouls.runs set workflow_absent_since = ghouls.clock() where run_id = $1", [
      run.runId,
    ]);
    const moves = round % 2 === 0 ? [clear(run), cancel(run)] : [cancel(run), clear(run)];
    await Promise.all(moves);
    expect(await statusesOf(db, run)).toEqual({ run: "CANCELLING", delivery: "FENCED", seq: 1 });
    expect(await clear(run)).toBe(false);
  }
});
