import { randomUUID } from "node:crypto";
import type pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import type { Ledger } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { heldInTheMiddle } from "../support/races.ts";
import { blocked } from "../support/wait.ts";

const db = await testDatabase();
const ledger = db.ledger({ maxConnections: 6 });

afterEach(async () => {
  await db.admin("truncate ghouls.runs cascade");
});

const redrive = (
  run: MadeRun,
  reason = "mended",
  runId: string = randomUUID(),
): ReturnType<Ledger["runs"]["redrive"]> =>
  ledger.runs.redrive(
    run,
    {
      runId,
      workflow: { version: 1, digest: "hello@1" },
      onWorkerLoss: "resume",
      deadlineMs: null,
      requestedBy: "user:grace",
      requestedRoles: [],
      reason,
    },
    { publisherGraceSeconds: 15 },
  );
const lock = (run: MadeRun) => (holder: pg.Client) =>
  holder.query("select from ghouls.runs where run_id = $1 for update", [run.runId]);
const item = (run: MadeRun) =>
  db.admin(
    `with item as (
       insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
       values ($1, $2, 'worker', '1', 1, $3, 'w', ghouls.clock(), ghouls.clock()) returning run_id)
     update ghouls.runs run set open_items = 1 from item where run.run_id = item.run_id`,
    [run.tenantId, run.runId, run.token],
  );

describe("a redrive", () => {
  test.each([
    ["by the same word", "mended", true],
    ["by another", "once more", false],
  ])("beside another %s: one makes the run, and the other is told which", async (_, reason, sameWord) => {
    const run = await makeRun(db, { status: "FAILED" });
    const ids: string[] = [randomUUID(), randomUUID()];
    const both = await heldInTheMiddle(
      db,
      lock(run),
      () => Promise.all([redrive(run, "mended", ids[0]), redrive(run, reason, ids[1])]),
      () => blocked(db, 2),
    );
    const [made] = await db.admin("select run_id from ghouls.runs where redrive_of = $1", [run.runId]);
    const winner = ids.indexOf(String(made?.["run_id"]));
    expect(both[winner]).toMatchObject({ kind: "redriven" });
    expect(both[1 - winner]).toMatchObject({ kind: "redriven_before", runId: ids[winner], sameWord });
    expect(await db.admin("select from ghouls.runs")).toHaveLength(2);
    expect(await db.admin("select from ghouls.deliveries")).toHaveLength(2);
    expect((await ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
  });

  test("behind the word that ends its run takes it as ended", async () => {
    const run = await makeRun(db, { status: "FAILING" });
    await item(run);
    const answers = await heldInTheMiddle(
      db,
      lock(run),
      async () => {
        const ending = ledger.items.acknowledge(run, {
          kind: "worker",
          key: "1",
          by: "operator",
          words: "x",
        });
        await blocked(db, 1);
        return Promise.all([ending, redrive(run)]);
      },
      () => blocked(db, 2),
    );
    expect(answers).toMatchObject([{ ended: "FAILED" }, { kind: "redriven" }]);
    expect((await ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
  });

  test("before the word that ends its run is refused", async () => {
    const run = await makeRun(db, { status: "CANCELLING" });
    await item(run);
    const answer = await heldInTheMiddle(
      db,
      lock(run),
      () => redrive(run),
      () => blocked(db, 1),
    );
    expect(answer).toEqual({ kind: "refused", why: "not_ended", about: "CANCELLING" });
  });

  test.each([
    [
      "a quarantine",
      "update ghouls.runs set quarantine_reason = 'x', quarantined_at = ghouls.clock() where run_id = $1",
      "quarantined",
    ],
    ["an emptied input", "update ghouls.runs set input_text = null where run_id = $1", "body_gone"],
    [
      "an effect that nobody had seen",
      `insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
       select tenant_id, run_id, 0, '', 'step', 'pay', 1, 1, seq, token, ghouls.clock() from ghouls.deliveries where run_id = $1`,
      "effect_unknown",
    ],
  ])("that waited behind %s sees it", async (_, text, why) => {
    const run = await makeRun(db, { status: "FAILED" });
    const answer = await heldInTheMiddle(
      db,
      lock(run),
      () => redrive(run),
      (holder) => holder.query(text, [run.runId]),
    );
    expect(answer).toMatchObject({ kind: "refused", why });
  });

  test("lets nothing else move the run that it copies", async () => {
    const run = await makeRun(db, { status: "CANCELLED" });
    const word = { actor: "user:ada", reason: "x" };
    const [made, cancelled] = await Promise.all([redrive(run), ledger.runs.cancel(run, word, 60)]);
    expect(made).toMatchObject({ kind: "redriven" });
    expect(cancelled).toEqual({ cancelled: false, status: "CANCELLED" });
  });
});
