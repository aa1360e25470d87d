import { beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import type { RunStatus } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { heldInTheMiddle } from "../support/races.ts";

const db = await testDatabase();
const ledger = db.ledger({ maxConnections: 6 });
const LOSS = { maxLosses: 3, actsMarginSeconds: 60, publisherGraceSeconds: 15 };
const WORD = { actor: "user:ada", reason: "by a test" };

beforeEach(async () => {
  await db.admin("truncate ghouls.runs cascade");
});

const lockRun = (run: MadeRun) => (holder: pg.Client) =>
  holder.query("select 1 from ghouls.runs where tenant_id = $1 and run_id = $2 for update", [
    run.tenantId,
    run.runId,
  ]);

/** An effect that was announced and whose outcome nobody knows. */
const intend = (run: MadeRun) => (on: Pick<pg.Client, "query">) =>
  on.query(
    `insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
     values ($1, $2, 0, '', 'step', 'pay', 1, 1, $3, $4, ghouls.clock())`,
    [run.tenantId, run.runId, run.seq, run.token],
  );

async function lapsed(status: RunStatus = "RUNNING"): Promise<MadeRun> {
  const run = await makeRun(db, { status });
  await db.admin(
    "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1",
    [run.runId],
  );
  return run;
}

const judge = (run: MadeRun) =>
  ledger.deliveries.settleLost([{ ...run, errorText: "{}", errorDigest: "d" }], LOSS);

async function stateOf(run: MadeRun): Promise<{ status: RunStatus; open_items: number; items: string[] }> {
  const [row] = await db.admin<{ status: RunStatus; open_items: number; items: string[] }>(
    `select run.status, run.open_items, array(select i.kind from ghouls.containment_items i
       where i.run_id = run.run_id and i.acknowledged_at is null order by i.kind) as items
     from ghouls.runs run where run.run_id = $1`,
    [run.runId],
  );
  if (row === undefined) throw new Error("no run");
  return row;
}

const clean = async () => expect((await ledger.doctor()).filter((check) => !check.ok)).toEqual([]);

describe("a judgement of a lost worker", () => {
  test("leaves a claim alone that a beat revived after it was read", async () => {
    const run = await lapsed();
    expect((await ledger.deliveries.lapsed({ limit: 10 })).found).toHaveLength(1);
    await ledger.deliveries.beatIfClaimed([run], 60);
    expect(await judge(run)).toEqual([]);
    expect(await stateOf(run)).toMatchObject({ status: "RUNNING", open_items: 0 });
  });

  test("sees an effect that was announced while it waited for the run", async () => {
    const run = await lapsed();
    const judged = await heldInTheMiddle(db, lockRun(run), () => judge(run), intend(run));
    expect(judged).toMatchObject([{ status: "FAILING" }]);
    expect(await stateOf(run)).toEqual({ status: "FAILING", open_items: 2, items: ["effect", "worker"] });
    await clean();
  });

  test("of many at once gives each its own end: resumed, failing, and ending as before", async () => {
    const [resumes, fails, ends] = [await lapsed(), await lapsed(), await lapsed()];
    await db.admin("update ghouls.runs set on_worker_loss = 'resume' where run_id = $1", [resumes.runId]);
    await db.admin("update ghouls.runs set status = 'CANCELLING' where run_id = $1", [ends.runId]);
    await db.admin("update ghouls.deliveries set cause = 'contain' where run_id = $1", [ends.runId]);
    const claims = [resumes, fails, ends].map((run) => ({ ...run, errorText: "{}", errorDigest: "d" }));
    const judged = await ledger.deliveries.settleLost(claims, LOSS);
    const statuses = new Map(judged.map((one) => [one.runId, one.status]));
    expect([resumes, fails, ends].map((run) => statuses.get(run.runId))).toEqual([
      "QUEUED",
      "FAILING",
      "CANCELLING",
    ]);
    const losses = await db.admin("select run_id, losses, open_items from ghouls.runs");
    expect(new Map(losses.map((row) => [row["run_id"], row["losses"]])).get(ends.runId)).toBe(0);
    await clean();
  });
});

describe("a cancel", () => {
  test("sees an effect, and a yield's next delivery, that came while it waited for the run", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    await heldInTheMiddle(
      db,
      lockRun(run),
      () => ledger.runs.cancel(run, WORD, 60),
      async (holder) => {
        await intend(run)(holder);
        await holder.query(
          "update ghouls.deliveries set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock() where run_id = $1",
          [run.runId],
        );
        await holder.query("update ghouls.runs set status = 'QUEUED', enqueue_seq = 2 where run_id = $1", [
          run.runId,
        ]);
        await holder.query(
          `insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
           values ('acme', $1, 2, 'continued', 'PENDING', 'runs', 5, ghouls.clock(), ghouls.clock(), ghouls.clock())`,
          [run.runId],
        );
      },
    );
    expect(await stateOf(run)).toEqual({ status: "CANCELLING", open_items: 1, items: ["effect"] });
    await clean();
  });
});

describe("an ending", () => {
  test("waits for a contain delivery that a worker carries, although no item is open any more", async () => {
    const run = await lapsed();
    await db.admin(
      "update ghouls.deliveries set acts_until = ghouls.clock() - interval '1 second' where run_id = $1",
      [run.runId],
    );
    await intend(run)({ query: (text: string, values: unknown[]) => db.admin(text, values) } as never);
    await judge(run);
    expect(await ledger.items.contain(run, 3)).toMatchObject({ ended: null, contain: true });
    const [claim] = await ledger.deliveries.claimIfDue(
      [{ runId: run.runId, enqueueSeq: 2, token: "00000000-0000-4000-8000-000000000001" }],
      { worker: "w", leaseSeconds: 120, actsForSeconds: 60 },
    );
    expect(claim?.cause).toBe("contain");
    const [item] = (await ledger.items.ofRun(run)).filter((one) => one.kind === "effect");
    const settled = await ledger.items.acknowledge(run, {
      kind: "effect",
      key: item?.key ?? "",
      by: "operator",
      words: "seen",
    });
    expect(settled).toEqual({ openItems: 0, ended: null });
    expect((await stateOf(run)).status).toBe("FAILING");
    expect(await ledger.deliveries.settleContainIfClaimed(claim as never, "done")).toEqual({
      settled: true,
      ended: "FAILED",
    });
    await clean();
  });

  test("comes with the last of two items that are acknowledged at once, and only with it", async () => {
    for (let round = 0; round < 20; round += 1) {
      const run = await lapsed();
      await intend(run)({ query: (text: string, values: unknown[]) => db.admin(text, values) } as never);
      await judge(run);
      const items = await ledger.items.ofRun(run);
      const answers = await Promise.all(
        items.map(({ kind, key }) =>
          ledger.items.acknowledge(run, { kind, key, by: "operator", words: "seen" }),
        ),
      );
      expect(answers.map((answer) => answer?.ended).filter((ended) => ended !== null)).toEqual(["FAILED"]);
      expect((await stateOf(run)).status).toBe("FAILED");
    }
    await clean();
  });

  test("is not lost between a settlement and the acknowledgement of an earlier worker, in any order", async () => {
    for (let round = 0; round < 30; round += 1) {
      const run = await makeRun(db, { status: "RUNNING", seq: 1 });
      await db.admin(
        `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
         values ('acme', $1, 'worker', '0', 1, gen_random_uuid(), 'w', ghouls.clock(), ghouls.clock(), ghouls.clock())`,
        [run.runId],
      );
      await db.admin("update ghouls.runs set open_items = 1 where run_id = $1", [run.runId]);
      const settle = () =>
        ledger.deliveries.settleIfClaimed(run, { status: "DONE", outputText: "1", outputDigest: "d" });
      const look = () => ledger.items.contain(run, 3);
      await Promise.all(round % 2 === 0 ? [settle(), look()] : [look(), settle()]);
      if ((await stateOf(run)).status === "COMPLETING") await look();
      expect(await stateOf(run)).toEqual({ status: "DONE", open_items: 0, items: [] });
    }
    await clean();
  });
});
