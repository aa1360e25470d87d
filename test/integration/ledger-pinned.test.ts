import { randomUUID } from "node:crypto";
import type pg from "pg";
import { beforeEach, describe, expect, test } from "vitest";
import { statesOf, type RunStatus } from "@ghouls/core";
import { LedgerError } from "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { explain } from "../support/plans.ts";
import { heldInTheMiddle } from "../support/races.ts";

const db = await testDatabase();
const ledger = db.ledger();
/** As who works on a workflow: the role that owns the schema. */
const owner = db.ledger({ connectionString: db.migratorUrl, driver: "pg", maxConnections: 2 });
beforeEach(() => db.admin("truncate ghouls.runs cascade"));

const pin = (digest: string) => ({ name: "hello", version: 1, digest });
const WORD = { actor: "ghouls dev", reason: "its code has changed" };

async function digestsOf(run: MadeRun): Promise<readonly string[]> {
  const found = await db.admin<{ digest: string }>(
    `select workflow_digest as digest from ghouls.runs where run_id = $1
     union all select workflow_digest from ghouls.checkpoints where run_id = $1`,
    [run.runId],
  );
  return found.map(({ digest }) => digest);
}

type Query = (text: string, values: unknown[]) => Promise<unknown>;

async function makeCheckpoint(
  run: MadeRun,
  query: Query = (text, values) => db.admin(text, values),
): Promise<void> {
  await query(
    `insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
     values ($1, $2, 1, $3, 'old', 0, 'j', ghouls.clock())`,
    [run.tenantId, run.runId, run.seq],
  );
  await query("update ghouls.runs set generation = 1 where run_id = $1 and finished_at is null", [run.runId]);
}

describe("who works on a workflow sees which runs are of other code:", () => {
  test("the open ones of each pin are counted, of one tenant, and those that have ended are not", async () => {
    await makeRun(db, { digest: "old", status: "AWAITING_SIGNAL" });
    await makeRun(db, { digest: "old", status: "FAILING" });
    await makeRun(db, { digest: "old", status: "DONE" });
    await makeRun(db, { digest: "new" });
    await makeRun(db, { digest: "old", tenantId: "other" });
    await makeRun(db, { digest: "old", workflow: "another" });
    expect(await ledger.runs.openOfPins("acme", [pin("old"), pin("none")])).toEqual([
      { ...pin("old"), runs: 2 },
    ]);
    expect(await ledger.runs.openOfPins("acme", [])).toEqual([]);
  });

  test("those are stranded that would go on and are pinned to none of what runs, the newest first", async () => {
    const ids: string[] = [];
    for (const status of statesOf("run")) {
      const run = await makeRun(db, { digest: "old", status });
      if (/^(QUEUED|RUNNING|AWAITING_.*)$/.test(status)) ids.unshift(run.runId);
    }
    await makeRun(db, { digest: "new" });
    await makeRun(db, { digest: "old", tenantId: "other" });
    const found = await ledger.runs.stranded("acme", [pin("new"), pin("newer")], 3);
    expect(found.count).toBe(8);
    expect(found.runs.map((run) => run.runId)).toEqual(ids.slice(0, 3));
    expect(found.runs[0]).toEqual({ runId: ids[0], status: "AWAITING_TIMER", workflow: pin("old") });
    expect((await ledger.runs.stranded("acme", [], 20)).runs).toHaveLength(9);
    expect(await ledger.runs.stranded("acme", [pin("new"), pin("old")], 3)).toEqual({ runs: [], count: 0 });
  });

  test("it is read by an index, and of what has ended nothing is looked at, however much that is", async () => {
    await db.admin(
      `insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
         queue, priority, requested_by, requested_roles, status, enqueue_seq, input_digest, created_at, started_at, finished_at, input_text)
       select 'acme', made.id, made.id, 'r', 'hello', 1, case when made.n % 3 = 0 then 'new' else 'old' end, 'runs', 5, 'user:ada', '{}',
         case when made.n > 300 then 'DONE' when made.n % 2 = 0 then 'AWAITING_SIGNAL' else 'QUEUED' end, 1, 'd',
         ghouls.clock(), ghouls.clock(), case when made.n > 300 then ghouls.clock() end, '1'
       from (select gen_random_uuid() as id, n from generate_series(1, 20000) as n) made`,
    );
    await db.admin("analyze ghouls.runs");
    const application = await db.client("application");
    const pins = [["hello"], [1], ["new"]];
    for (const mode of ["force_generic_plan", "force_custom_plan"] as const) {
      for (const [name, values] of [
        ["runs.open-of-pins", ["acme", ...pins]],
        ["runs.stranded", ["acme", ["hello"], ["new"], 10]],
      ] as const) {
        const plan = await explain(application, STATEMENTS.get(name)?.text ?? "", values, mode);
        expect(plan.scans, `${name} with ${mode}`).toContain("runs by runs_by_status");
        // Of releases there are as many as deploys have had digests.
        const whole = plan.scans.filter((scan) => scan.endsWith("in full") && !scan.startsWith("releases "));
        expect(whole).toEqual([]);
        expect(plan.rows, `${name} with ${mode}`).toBeLessThanOrEqual(300);
      }
    }
  });
});

describe("a run that no worker has is pinned to another code", () => {
  const WITHOUT_A_WORKER = /^(QUEUED|AWAITING_(?!HARDWARE).*)$/;

  test.each(statesOf("run"))("only in its state: %s", async (status: RunStatus) => {
    const run = await makeRun(db, { digest: "old", status });
    await makeCheckpoint(run);
    const moves = WITHOUT_A_WORKER.test(status);
    expect(await owner.runs.repinIfUnclaimed(run, { from: "old", to: "new" }, WORD)).toEqual({
      repinned: moves,
      status,
      digest: moves ? "new" : "old",
      quarantined: false,
    });
    expect(await digestsOf(run)).toEqual(moves ? ["new", "new"] : ["old", "old"]);
    const audit = await db.admin("select actor, act, subject, reason from ghouls.audit where run_id = $1", [
      run.runId,
    ]);
    expect(audit).toEqual(moves ? [{ ...WORD, act: "repin", subject: "workflow old to new" }] : []);
  });

  test("and is absent to nobody any more: the overlap of a later change begins anew", async () => {
    const run = await makeRun(db, { digest: "old" });
    await db.admin("update ghouls.runs set workflow_absent_since = ghouls.clock()");
    await owner.runs.repinIfUnclaimed(run, { from: "old", to: "new" }, WORD);
    expect(await db.admin("select workflow_absent_since from ghouls.runs")).toEqual([
      { workflow_absent_since: null },
    ]);
  });

  test("is due at once where it was given back for want of the code, and not where it starts later", async () => {
    const [back, later] = [await makeRun(db, { digest: "old" }), await makeRun(db, { digest: "old" })];
    await db.admin("update ghouls.deliveries set due_at = ghouls.clock() + interval '30 seconds'");
    await db.admin("update ghouls.runs set workflow_absent_since = ghouls.clock() where run_id = $1", [
      back.runId,
    ]);
    for (const run of [back, later]) await owner.runs.repinIfUnclaimed(run, { from: "old", to: "new" }, WORD);
    const due = await db.admin("select run_id from ghouls.deliveries where due_at <= ghouls.clock()");
    expect(due).toEqual([{ run_id: back.runId }]);
  });

  test("not in quarantine, not from a pin that it does not have, not twice, and not of another tenant", async () => {
    const quarantined = await makeRun(db, { digest: "old", quarantined: true });
    expect(await owner.runs.repinIfUnclaimed(quarantined, { from: "old", to: "new" }, WORD)).toMatchObject({
      repinned: false,
      quarantined: true,
    });
    const run = await makeRun(db, { digest: "old" });
    for (const digests of [
      { from: "older", to: "new" },
      { from: "old", to: "old" },
    ]) {
      const answer = await owner.runs.repinIfUnclaimed(run, digests, WORD);
      expect(answer).toMatchObject({ repinned: false, digest: "old" });
    }
    expect(
      await owner.runs.repinIfUnclaimed({ ...run, tenantId: "other" }, { from: "old", to: "new" }, WORD),
    ).toBeNull();
    expect(
      await owner.runs.repinIfUnclaimed({ ...run, runId: randomUUID() }, { from: "old", to: "new" }, WORD),
    ).toBeNull();
    expect(await db.admin("select from ghouls.audit")).toEqual([]);
  });

  const holding = (run: MadeRun) => (holder: pg.Client) =>
    holder.query("select from ghouls.runs where run_id = $1 for update", [run.runId]);
  const repinning = (run: MadeRun) => () =>
    owner.runs.repinIfUnclaimed(run, { from: "old", to: "new" }, WORD);

  test("but not where a worker claims it while the statement waits for the run", async () => {
    const run = await makeRun(db, { digest: "old" });
    const answer = await heldInTheMiddle(db, holding(run), repinning(run), (holder) =>
      holder.query(
        "update ghouls.runs set status = 'RUNNING', started_at = ghouls.clock() where run_id = $1",
        [run.runId],
      ),
    );
    expect(answer).toMatchObject({ repinned: false, status: "RUNNING", digest: "old" });
  });

  test("with the checkpoint of a park that commits while the statement waits for the run", async () => {
    const run = await makeRun(db, { digest: "old", status: "RUNNING" });
    const answer = await heldInTheMiddle(db, holding(run), repinning(run), async (holder) => {
      await holder.query("update ghouls.runs set status = 'AWAITING_SIGNAL' where run_id = $1", [run.runId]);
      await makeCheckpoint(run, (text, values) => holder.query(text, values));
    });
    expect(answer).toMatchObject({ repinned: true, status: "AWAITING_SIGNAL" });
    expect(await digestsOf(run)).toEqual(["new", "new"]);
  });

  test("and only by the role that owns the schema", async () => {
    const run = await makeRun(db, { digest: "old" });
    await makeCheckpoint(run);
    await expect(ledger.runs.repinIfUnclaimed(run, { from: "old", to: "new" }, WORD)).rejects.toThrow(
      LedgerError,
    );
    expect(await digestsOf(run)).toEqual(["old", "old"]);
  });
});
