import { beforeEach, describe, expect, test } from "vitest";
import { STRANDED_CHECK, judgementLines, type IntegrityFault } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { blocked } from "../support/wait.ts";

/** Contradictions of the ledger as rows: found, quarantined once, acknowledged, gone, and found again. */

const db = await testDatabase();
const ledger = db.ledger();
const judge = (carried?: { name: string; digest: string }[]) =>
  ledger.integrity.judge({ by: "a test", carried });
const word = { actor: "user:ada", reason: "known: a test" };
const LOST = "pending deliveries have a next publication";
const JOURNAL = "journals are as long as their runs say";

/** Longer than its journal, until it is mended. */
const damage = (run: MadeRun) =>
  db.admin("update ghouls.runs set journal_length = 2 where run_id = $1", [run.runId]);
const mend = (run: MadeRun) =>
  db.admin("update ghouls.runs set journal_length = 0 where run_id = $1", [run.runId]);
const quarantineOf = async (run: MadeRun) =>
  (await ledger.runs.get({ tenantId: run.tenantId, runId: run.runId }))?.quarantine?.reason ?? null;
const everyFault = (): Promise<
  { check_name: string; subject: string; gone: boolean; quarantine: string }[]
> =>
  db.admin(
    "select check_name, subject, gone_at is not null as gone, quarantine from ghouls.integrity_faults order by found_at, subject",
  );
const only = ({ first }: { readonly first: readonly IntegrityFault[] }): IntegrityFault => {
  expect(first).toHaveLength(1);
  return first[0] as IntegrityFault;
};

beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.integrity_faults cascade");
});

describe("a judgement", () => {
  test("of a sound ledger counts the runs of every status and refuses nothing", async () => {
    await makeRun(db);
    await makeRun(db, { tenantId: "umbrella" });
    await makeRun(db, { quarantined: true });
    await makeRun(db, { status: "DONE" });
    const judged = await judge();
    expect(judged).toMatchObject({ newFaults: 0, goneFaults: 0, quarantined: 0, repaired: 0 });
    expect(judged).toMatchObject({
      refused: { count: 0 },
      acknowledged: { count: 0 },
      strandedJudged: false,
    });
    expect(judged.states).toEqual([
      { status: "QUEUED", runs: 3, checked: 2, faulty: 0 },
      { status: "DONE", runs: 1, checked: 1, faulty: 0 },
    ]);
    expect(judged.checks).toBe((await ledger.doctor()).filter(({ kind }) => kind === "integrity").length - 1);
    expect(judgementLines(judged)).toEqual([
      "STATUS  RUNS  CHECKED  FAULTY",
      "QUEUED     3        2       0",
      "DONE       1        1       0",
      "",
      "judged: 13 checks; runs without their code were not looked for",
      "repaired: 0 terminal records written",
      "found: 0 new, 0 gone; 0 runs quarantined",
      "acknowledged: 0",
      "refused: 0",
    ]);
  });

  test("notes what breaks a check, by run, with ids and states; and again what stands", async () => {
    const run = await makeRun(db, { status: "RUNNING", deliveryStatus: "PENDING" });
    const first = only((await judge()).refused);
    expect(first).toMatchObject({
      check: "open deliveries agree with their run",
      tenantId: "acme",
      runId: run.runId,
      subject: run.runId,
      foundBy: "a test",
      acknowledged: null,
    });
    expect(JSON.parse(first.detail)).toEqual({
      seq: 1,
      cause: "admitted",
      run_status: "RUNNING",
      delivery_status: "PENDING",
    });
    const again = await judge();
    expect(again).toMatchObject({ newFaults: 0, goneFaults: 0, refused: { count: 1 } });
    const second = only(again.refused);
    expect(second).toMatchObject({ faultId: first.faultId, foundAt: first.foundAt });
    expect(second.seenAt.getTime()).toBeGreaterThan(first.seenAt.getTime());
    expect(again.states).toEqual([{ status: "RUNNING", runs: 1, checked: 0, faulty: 1 }]);
  });

  test("says that a fault is gone only when it is, also far behind the first hundred", async () => {
    const runs: MadeRun[] = [];
    for (let nth = 0; nth < 130; nth += 1) runs.push(await makeRun(db, { status: "AWAITING_TIMER" }));
    await db.admin("update ghouls.runs set journal_length = 2");
    const judged = await judge();
    // Each of them breaks two checks.
    expect(judged).toMatchObject({ newFaults: 260, quarantined: 130, refused: { count: 260 } });
    expect(judged.refused.first).toHaveLength(20);
    expect(judgementLines(judged)).toContain("  and 240 more");
    const mended = runs[7] as MadeRun;
    await mend(mended);
    expect(await judge()).toMatchObject({ newFaults: 0, goneFaults: 1, refused: { count: 259 } });
    const gone = (await everyFault()).filter((one) => one.gone);
    expect(gone).toEqual([{ check_name: JOURNAL, subject: mended.runId, gone: true, quarantine: "made" }]);
  });

  test("two at once note each fault once", async () => {
    for (let nth = 0; nth < 20; nth += 1) await damage(await makeRun(db));
    const other = db.ledger();
    const both = await Promise.all([judge(), other.integrity.judge({ by: "another" }), judge()]);
    expect(both.map(({ newFaults }) => newFaults).reduce((sum, one) => sum + one)).toBe(20);
    expect(both.map(({ quarantined }) => quarantined).reduce((sum, one) => sum + one)).toBe(20);
    expect(await everyFault()).toHaveLength(20);
  });

  test("that waits for a lock says of nothing that it is gone which somebody has seen meanwhile", async () => {
    const run = await makeRun(db);
    await damage(run);
    await judge();
    await mend(run);
    const other = await db.client("admin");
    await other.query("begin");
    await other.query("select from ghouls.integrity_faults for update");
    const late = judge();
    await blocked(db);
    await other.query("update ghouls.integrity_faults set seen_at = ghouls.clock()");
    await other.query("commit");
    expect(await late).toMatchObject({ goneFaults: 0, refused: { count: 1 } });
    expect(await judge()).toMatchObject({ goneFaults: 1 });
  });

  test("leaves alone what somebody else has found: it has not looked there", async () => {
    const run = await makeRun(db, { status: "DONE" });
    const { tenantId, runId } = run;
    const check = "terminal evidence agrees with its run";
    await ledger.integrity.note([
      { check, tenantId, runId, subject: runId, detail: "digest a is not b", foundBy: "evidence" },
    ]);
    expect(await judge()).toMatchObject({ goneFaults: 0, refused: { count: 1 } });
  });

  test("writes terminal records that are missing, and says how many", async () => {
    const runs = [await makeRun(db, { status: "DONE" }), await makeRun(db, { status: "FAILED" })];
    await db.admin(
      `insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
       select tenant_id, run_id, 'record', finished_at, finished_at from ghouls.runs where finished_at is not null`,
    );
    const judged = await judge();
    expect(judged).toMatchObject({ repaired: 2, newFaults: 0 });
    expect(judgementLines(judged)).toContain("repaired: 2 terminal records written");
    const records = await db.admin<{ run_id: string }>("select run_id from ghouls.terminal_records");
    expect(records.map((record) => record.run_id).toSorted()).toEqual(
      runs.map(({ runId }) => runId).toSorted(),
    );
    expect(await judge()).toMatchObject({ repaired: 0 });
  });

  test("does not begin on an older schema, and says what to do", async () => {
    const [newest] = await db.admin<{ number: number; name: string; checksum: string }>(
      "delete from ghouls.migrations where number = (select max(number) from ghouls.migrations) returning *",
    );
    try {
      await expect(judge()).rejects.toMatchObject({
        code: "schema_outdated",
        fix: expect.stringContaining("ghouls migrate"),
      });
    } finally {
      const columns = Object.keys(newest ?? {});
      await db.admin(
        `insert into ghouls.migrations (${columns.join(", ")}) values (${columns.map((_, nth) => `$${nth + 1}`).join(", ")})`,
        Object.values(newest ?? {}),
      );
    }
  });

  test("knows which views leave out what is in quarantine", async () => {
    const views = await db.admin<{ name: string }>(
      `select viewname as name from pg_views where schemaname = 'ghouls' and viewname like 'doctor\\_%' and definition like '%quarantined_at%'`,
    );
    const text = (await import("../../packages/ledger/src/sql/statement.ts")).STATEMENTS;
    const masked = [...text.values()].filter(
      (one) => one.name.startsWith("integrity.judge-") && one.text.includes("run.quarantined_at is not null"),
    );
    expect(new Set(masked.map(({ name }) => name.replace("integrity.judge-", "")))).toEqual(
      new Set(
        views
          .map(({ name }) => name.replace("doctor_", "").replaceAll("_", "-"))
          .filter((name) => name !== "quarantined-runs"),
      ),
    );
  });
});

describe("the run of a new fault", () => {
  test("is quarantined, its status unchanged, and nothing else is", async () => {
    const [run, beside] = [await makeRun(db), await makeRun(db)];
    await damage(run);
    expect(await judge()).toMatchObject({ quarantined: 1 });
    expect(await quarantineOf(run)).toBe(`integrity: ${JOURNAL}`);
    expect(await quarantineOf(beside)).toBeNull();
    expect((await ledger.runs.get(run))?.status).toBe("QUEUED");
    const page = await ledger.runs.page("acme", { attention: true }, { limit: 5 });
    expect(page.runs.map(({ runId }) => runId)).toEqual([run.runId]);
  });

  test("is looked at once: cleared, it stays cleared while the fault stands", async () => {
    const run = await makeRun(db);
    await damage(run);
    await judge();
    await ledger.runs.clear(run, word, 15);
    expect(await judge()).toMatchObject({ quarantined: 0, newFaults: 0, refused: { count: 1 } });
    expect(await quarantineOf(run)).toBeNull();
  });

  test("keeps the first reason of its quarantine, and is left as it is where it has ended or is gone", async () => {
    const before = await makeRun(db, { quarantined: true });
    await damage(before);
    const ended = await makeRun(db, { status: "DONE", deliveryStatus: "PENDING" });
    await ledger.integrity.note([
      {
        check: "c",
        tenantId: "acme",
        runId: crypto.randomUUID(),
        subject: "absent",
        detail: "",
        foundBy: "t",
      },
    ]);
    expect(await judge()).toMatchObject({ quarantined: 0 });
    expect(await quarantineOf(before)).toBe("by a test");
    expect(await quarantineOf(ended)).toBeNull();
    expect(
      (await everyFault()).map(({ subject, quarantine }) => `${subject} ${quarantine}`).toSorted(),
    ).toEqual(
      [
        `${before.runId} standing`,
        `${ended.runId} ended`,
        `${ended.runId} ended`,
        "absent absent",
      ].toSorted(),
    );
  });

  test("does not let the fault vanish by its quarantine, which its view leaves out; clear repairs it", async () => {
    const run = await makeRun(db);
    await db.admin("update ghouls.deliveries set next_publication_at = null where run_id = $1", [run.runId]);
    await judge();
    expect((await ledger.doctor()).find(({ check }) => check === LOST)?.ok).toBe(true);
    expect(await judge()).toMatchObject({ goneFaults: 0, refused: { count: 1 } });
    await ledger.runs.clear(run, word, 15);
    expect(await judge()).toMatchObject({ goneFaults: 1, refused: { count: 0 } });
  });

  test("lets the fault go where the run was cancelled in its quarantine, which stays", async () => {
    const run = await makeRun(db);
    await db.admin("update ghouls.deliveries set next_publication_at = null where run_id = $1", [run.runId]);
    await judge();
    await db.admin(
      "update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1",
      [run.runId],
    );
    for (const [status, finished] of [
      ["CANCELLING", null],
      ["CANCELLED", new Date().toISOString()],
    ])
      await db.admin("update ghouls.runs set status = $2, finished_at = $3 where run_id = $1", [
        run.runId,
        status,
        finished,
      ]);
    expect(await judge()).toMatchObject({ goneFaults: 1, refused: { count: 0 } });
    expect(await quarantineOf(run)).toContain(LOST);
  });

  test("of a carried run is fenced, and its claim is still judged", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    await damage(run);
    await judge();
    await expect(
      ledger.deliveries.settleIfClaimed(run, { status: "DONE", outputText: "1", outputDigest: "d" }),
    ).resolves.toMatchObject({ settled: false });
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 s' where run_id = $1",
      [run.runId],
    );
    const lapsed = await ledger.deliveries.lapsed({ limit: 10 });
    expect(lapsed.found).toHaveLength(1);
  });

  test("that ends while its quarantine waits for its lock is left as it is", async () => {
    const run = await makeRun(db);
    await damage(run);
    const other = await db.client("admin");
    await other.query("begin");
    await other.query("select from ghouls.runs where run_id = $1 for update", [run.runId]);
    const late = judge();
    await blocked(db);
    await other.query(
      "update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1",
      [run.runId],
    );
    await other.query(
      "update ghouls.runs set status = 'DONE', finished_at = ghouls.clock() where run_id = $1",
      [run.runId],
    );
    await other.query("commit");
    expect(await late).toMatchObject({ newFaults: 1, quarantined: 0 });
    expect(await quarantineOf(run)).toBeNull();
    expect(await everyFault()).toMatchObject([{ quarantine: "ended" }]);
  });

  test("is nobody's where too many units of a capacity are in use: those who hold them stay as they are", async () => {
    await db.admin(
      "insert into ghouls.capacities (name, units, updated_at) values ('gpu', 1, ghouls.clock())",
    );
    for (let nth = 0; nth < 2; nth += 1) {
      const run = await makeRun(db, { status: "RUNNING" });
      await db.admin("update ghouls.runs set reservations = 1 where run_id = $1", [run.runId]);
      await db.admin(
        `insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, seq, token, holder, status,
           asked_at, held_at)
         values ('acme', $1, gen_random_uuid(), 0, '', 'gpu', 1, 'gpu', 1, 1, $2, $1, 'HELD', ghouls.clock(), ghouls.clock())`,
        [run.runId, run.token],
      );
    }
    const judged = await judge();
    expect(judged).toMatchObject({ quarantined: 0, refused: { count: 1 } });
    expect(only(judged.refused)).toMatchObject({ tenantId: "acme", runId: null, subject: "capacity gpu" });
  });
});

describe("a run without its code", () => {
  const hello = [{ name: "hello", digest: "hello@1" }];

  test("is a fault of the deployment, one for each pin over all tenants, with five of its runs", async () => {
    const runs: MadeRun[] = [];
    for (let nth = 0; nth < 6; nth += 1)
      runs.push(await makeRun(db, { digest: "old", tenantId: nth % 2 === 0 ? "acme" : "umbrella" }));
    await makeRun(db, { digest: "older", workflow: "gate", status: "AWAITING_CONSENT" });
    await makeRun(db);
    const { refused, strandedJudged } = await judge(hello);
    const pins = refused.first.filter(({ check }) => check === STRANDED_CHECK);
    expect(strandedJudged).toBe(true);
    expect(pins.map(({ subject }) => subject).toSorted()).toEqual(["gate@1 older", "hello@1 old"]);
    const hellos = pins.find(({ subject }) => subject === "hello@1 old");
    expect(hellos).toMatchObject({ tenantId: null, runId: null });
    const named = runs
      .slice(1)
      .toReversed()
      .map(({ runId }) => runId);
    expect(hellos?.detail).toBe(`open runs: 6, such as ${named.join(", ")}`);
  });

  test.each([
    ["ends", "update ghouls.runs set status = 'DONE', finished_at = ghouls.clock()", hello],
    ["is ending", "update ghouls.runs set status = 'CANCELLING'", hello],
    ["is carried or accepted", "select 1", [...hello, { name: "hello", digest: "old" }]],
  ])("is none any more when it %s", async (_, change, carried) => {
    await makeRun(db, { digest: "old" });
    expect((await judge(hello)).refused.count).toBe(1);
    await db.admin(change);
    await db.admin("delete from ghouls.deliveries");
    const pins = (await judge(carried)).refused.first.filter(({ check }) => check === STRANDED_CHECK);
    expect(pins).toEqual([]);
  });

  test("is not judged, not gone and not refused where nobody says which code there is", async () => {
    await makeRun(db, { digest: "old" });
    await judge(hello);
    expect(await judge()).toMatchObject({ goneFaults: 0, refused: { count: 0 }, strandedJudged: false });
    expect((await judge(hello)).refused.count).toBe(1);
    expect(await ledger.integrity.unacknowledged()).toBe(0);
  });
});

describe("an acknowledgement", () => {
  test("lets a fault stand, keeps who and why, and is audited with the run", async () => {
    const run = await makeRun(db);
    await damage(run);
    const { faultId } = only((await judge()).refused);
    expect(await ledger.integrity.unacknowledged()).toBe(1);
    const answer = await ledger.integrity.acknowledge(faultId, word);
    expect(answer).toMatchObject({
      acknowledged: true,
      fault: { acknowledged: { by: "user:ada", reason: "known: a test" } },
    });
    expect(await db.admin("select actor, act, subject, reason from ghouls.audit")).toEqual([
      { actor: "user:ada", act: "acknowledge", subject: `fault: ${JOURNAL}`, reason: "known: a test" },
    ]);
    const judged = await judge();
    expect(judged).toMatchObject({ refused: { count: 0 }, acknowledged: { count: 1 } });
    expect(judgementLines(judged)).toContain(
      `    ${answer?.fault.acknowledged?.at.toISOString()} by user:ada: known: a test`,
    );
    expect(await ledger.integrity.unacknowledged()).toBe(0);
  });

  test("is the first one's, also of two at once", async () => {
    const run = await makeRun(db);
    await damage(run);
    const { faultId } = only((await judge()).refused);
    const both = await Promise.all(
      ["ada", "bob"].map((actor) => ledger.integrity.acknowledge(faultId, { actor, reason: actor })),
    );
    expect(both.filter((one) => one?.acknowledged === true)).toHaveLength(1);
    const first = both.find((one) => one?.acknowledged)?.fault.acknowledged?.by;
    expect(both.map((one) => one?.fault.acknowledged?.by)).toEqual([first, first]);
    expect(await db.admin("select actor from ghouls.audit")).toEqual([{ actor: first }]);
  });

  test("is not of one that comes back: that is another fault, and quarantines again", async () => {
    const run = await makeRun(db);
    await damage(run);
    const first = only((await judge()).refused);
    await ledger.integrity.acknowledge(first.faultId, word);
    await mend(run);
    expect(await judge()).toMatchObject({ goneFaults: 1 });
    expect(await ledger.integrity.acknowledge(first.faultId, word)).toMatchObject({ acknowledged: false });
    await ledger.runs.clear(run, word, 15);
    await damage(run);
    const again = await judge();
    expect(again).toMatchObject({ newFaults: 1, quarantined: 1 });
    expect(only(again.refused).faultId).not.toBe(first.faultId);
  });

  test("of one that is gone says so, and of none that there is none", async () => {
    const run = await makeRun(db);
    await damage(run);
    const { faultId } = only((await judge()).refused);
    await mend(run);
    await judge();
    const answer = await ledger.integrity.acknowledge(faultId, word);
    expect(answer).toMatchObject({ acknowledged: false, fault: { acknowledged: null } });
    expect(answer?.fault.goneAt).toBeInstanceOf(Date);
    expect(await ledger.integrity.acknowledge(crypto.randomUUID(), word)).toBeNull();
    expect(await db.admin("select from ghouls.audit")).toHaveLength(0);
  });

  test("the application may not change what was found", async () => {
    const client = await db.client("application");
    await expect(client.query("update ghouls.integrity_faults set check_name = 'x'")).rejects.toThrow(
      /permission denied/,
    );
    await expect(client.query("delete from ghouls.integrity_faults")).rejects.toThrow(/permission denied/);
  });
});

describe("the list", () => {
  const find = async (count: number, tenantId = "acme") => {
    for (let nth = 0; nth < count; nth += 1) await damage(await makeRun(db, { tenantId }));
    await judge();
  };
  const list = async (limit: number, over: { deployment?: boolean; openOnly?: boolean } = {}) => {
    const pages: string[][] = [];
    const filter = { tenantId: "acme", deployment: false, openOnly: false, ...over };
    for (let after; ;) {
      const page = await ledger.integrity.page(filter, { limit, after });
      pages.push(page.faults.map(({ faultId }) => faultId));
      if (page.next === undefined) return pages;
      after = page.next;
    }
  };
  const expected = async () =>
    (
      await db.admin<{ fault_id: string }>(
        `select fault_id from ghouls.integrity_faults where tenant_id = 'acme'
         order by gone_at is not null or acknowledged_at is not null, found_at desc, fault_id desc`,
      )
    ).map((row) => row.fault_id);

  test("shows the open ones first, each part newest first, on pages of any length, and those of the tenant alone", async () => {
    await find(3);
    await find(2, "umbrella");
    const all = await expected();
    await ledger.integrity.acknowledge(all[0] as string, word);
    await ledger.integrity.acknowledge(all[2] as string, word);
    await find(2);
    for (const limit of [1, 2, 3, 4, 5, 10]) {
      const pages = await list(limit);
      expect(pages.flat()).toEqual(await expected());
      expect(pages).toHaveLength(Math.ceil(5 / limit));
    }
    expect((await list(2, { openOnly: true })).map((page) => page.length)).toEqual([2, 1]);
    await makeRun(db, { digest: "old" });
    await judge([]);
    const deployment = (await list(100, { deployment: true })).flat();
    expect(deployment.length).toBeGreaterThan(5);
    expect((await list(100)).flat()).toEqual(await expected());
  });
});
