import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { RunPageFilter } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { ADMIT, newRun } from "../support/new-run.ts";
import { blocked } from "../support/wait.ts";

const db = await testDatabase();

describe("a batch of a hundred admissions", () => {
  test("sent twice at once, in opposite orders, gives one run for each key, and never a deadlock", async () => {
    for (let round = 0; round < 5; round += 1) {
      const keys = Array.from({ length: 100 }, () => randomUUID());
      const sent: string[] = [];
      const ledger = db.ledger({
        maxConnections: 2,
        faults: (point, name) => {
          if (point === "ledger.before-statement") sent.push(name);
        },
      });
      const holder = await db.client("admin");
      await holder.query("begin");
      await holder.query("lock table ghouls.runs in share mode");
      const admit = (order: readonly string[]) =>
        ledger.runs.admit(
          order.map((idempotencyKey) => newRun({ idempotencyKey })),
          ADMIT,
        );
      const both = Promise.all([admit(keys), admit(keys.toReversed())]);
      await blocked(db, 2);
      await holder.query("commit");
      const created = await both;
      expect(created.map((one) => one.size).toSorted((a, b) => a - b)).toEqual([0, 100]);
      // A deadlock would have been repeated in silence.
      expect(sent).toEqual(["runs.admit", "runs.admit"]);
      const found = await ledger.runs.byKey(
        keys.map((idempotencyKey) => ({ tenantId: "acme", idempotencyKey })),
      );
      expect(new Set(found.map((run) => run.runId))).toEqual(
        new Set(created.flatMap((one) => [...one.keys()])),
      );
    }
  });

  test("that overlaps another by half is admitted with it: each key once, by one of them", async () => {
    const ledger = db.ledger({ maxConnections: 8 });
    const keys = Array.from({ length: 120 }, () => randomUUID());
    const created = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        ledger.runs.admit(
          keys.slice(index * 10, index * 10 + 50).map((idempotencyKey) => newRun({ idempotencyKey })),
          ADMIT,
        ),
      ),
    );
    expect(created.flatMap((one) => [...one.keys()])).toHaveLength(120);
    const found = await ledger.runs.byKey(
      keys.map((idempotencyKey) => ({ tenantId: "acme", idempotencyKey })),
    );
    expect(found).toHaveLength(120);
  });

  test("with one that breaks a check is refused as a whole", async () => {
    const ledger = db.ledger();
    const [good, bad] = [newRun(), newRun({ priority: 10 })];
    await expect(ledger.runs.admit([good, bad], ADMIT)).rejects.toMatchObject({
      kind: "defect",
      sqlState: "23514",
    });
    expect(await ledger.runs.get(good)).toBeNull();
  });
});

describe("an idempotency key", () => {
  const ledger = db.ledger();

  test("that stands twice in one batch names one run", async () => {
    const first = newRun();
    const second = newRun({ idempotencyKey: first.idempotencyKey });
    const created = await ledger.runs.admit([first, second], ADMIT);
    expect(created.size).toBe(1);
    const rows = await db.admin("select run_id from ghouls.runs where idempotency_key = $1", [
      first.idempotencyKey,
    ]);
    expect(rows.map((row) => row["run_id"])).toEqual([...created.keys()]);
  });

  test("of one tenant is free for another, and neither reads the other's run", async () => {
    const mine = newRun();
    const theirs = newRun({ tenantId: "umbrella", idempotencyKey: mine.idempotencyKey });
    expect((await ledger.runs.admit([mine, theirs], ADMIT)).size).toBe(2);
    const key = { tenantId: "umbrella", idempotencyKey: mine.idempotencyKey ?? "" };
    expect((await ledger.runs.byKey([key])).map((run) => run.runId)).toEqual([theirs.runId]);
    expect(await ledger.runs.get({ tenantId: "umbrella", runId: mine.runId })).toBeNull();
    expect(await ledger.runs.byId([{ tenantId: "umbrella", runId: mine.runId }])).toEqual([]);
    expect(await ledger.deliveries.ofRun({ tenantId: "umbrella", runId: mine.runId })).toEqual([]);
    expect(await ledger.journal.read({ tenantId: "umbrella", runId: mine.runId })).toEqual([]);
    expect(await ledger.deliveries.releaseIfHeld({ tenantId: "umbrella", runId: mine.runId }, 1)).toBe(false);
    expect(
      await ledger.runs.raiseAttention({ tenantId: "umbrella", runId: mine.runId }, "unclaimed: x"),
    ).toBe(false);
  });

  test.each([
    "'; drop table ghouls.runs; --",
    "%",
    "_",
    "\\",
    "$1",
    "{a,b}",
    'a"b',
    " ",
    "👻",
    "NULL",
    "null",
    "-",
  ])("%j is a name like any other", async (idempotencyKey) => {
    const run = newRun({ idempotencyKey, agent: idempotencyKey, requestedRoles: [idempotencyKey, ""] });
    expect((await ledger.runs.admit([run], ADMIT)).size).toBe(1);
    const [found] = await ledger.runs.byKey([{ tenantId: "acme", idempotencyKey }]);
    expect(found?.runId).toBe(run.runId);
    const [row] = await db.admin("select agent, requested_roles from ghouls.runs where run_id = $1", [
      run.runId,
    ]);
    expect(row).toEqual({ agent: idempotencyKey, requested_roles: [idempotencyKey, ""] });
  });

  test("that is absent is no key: two runs without one are two", async () => {
    const runs = [newRun({ idempotencyKey: null }), newRun({ idempotencyKey: null })];
    expect((await ledger.runs.admit(runs, ADMIT)).size).toBe(2);
  });
});

describe("a run id that another tenant has already", () => {
  test.each([null, "a-key"])(
    "is not admitted, and the caller with the key %j finds no run of its own",
    async (idempotencyKey) => {
      const ledger = db.ledger();
      const theirs = newRun({ tenantId: "umbrella" });
      const mine = newRun({ runId: theirs.runId, idempotencyKey });
      await ledger.runs.admit([theirs], ADMIT);
      expect((await ledger.runs.admit([mine], ADMIT)).size).toBe(0);
      expect(await ledger.runs.byId([mine])).toEqual([]);
      expect(await ledger.runs.byKey([{ tenantId: "acme", idempotencyKey: "a-key" }])).toEqual([]);
    },
  );
});

describe("a page of runs", async () => {
  const own = await testDatabase();
  const ledger = own.ledger();
  const ids = new Map<string, string[]>();

  beforeAll(async () => {
    // One moment for all; then 250 moments within one millisecond, which a Date cannot tell apart.
    for (const [tenant, step] of [
      ["same", "0 microseconds"],
      ["near", "2 microseconds"],
    ]) {
      const rows = await own.admin<{ run_id: string }>(
        `insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
           queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at,
           finished_at)
         select $1, id, id, 'r', case when n % 2 = 0 then 'even' else 'odd' end, 1, 'd', 'runs', 5, 'u', '{}',
           case n % 3 when 0 then 'DONE' when 1 then 'RUNNING' else 'QUEUED' end, 1, '1', 'd',
           timestamptz '2026-01-01 00:00:00.123' + n * $2::interval, now(), case when n % 3 = 0 then now() end
         from (select gen_random_uuid() as id, n from generate_series(0, 249) as n) as made
         returning run_id`,
        [tenant, step],
      );
      await own.admin(
        `insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
         select tenant_id, run_id, 'parity', workflow_name, created_at from ghouls.runs where tenant_id = $1
         union all
         select tenant_id, run_id, 'third', '0', created_at from ghouls.runs
         where tenant_id = $1 and status = 'DONE' and workflow_name = 'even'`,
        [tenant],
      );
      ids.set(
        tenant ?? "",
        rows.map((row) => row.run_id),
      );
    }
    await makeRun(own, { tenantId: "other" });
  });

  async function all(tenant: string, filter: RunPageFilter, limit: number): Promise<string[]> {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 300; page += 1) {
      const { runs, nextCursor } = await ledger.runs.page(tenant, filter, {
        limit,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(runs.length).toBeLessThanOrEqual(limit);
      seen.push(...runs.map((run) => run.runId));
      if (nextCursor === null) return seen;
      expect(runs).toHaveLength(limit);
      cursor = nextCursor;
    }
    throw new Error("pages without an end");
  }

  describe.each(["same", "near"])("of runs that began at the %s moment", (tenant) => {
    test.each([1, 7, 50, 249, 250, 251])(
      "of %d shows each once, without a gap or one twice",
      async (limit) => {
        const seen = await all(tenant, {}, limit);
        expect(seen).toHaveLength(250);
        expect(new Set(seen)).toEqual(new Set(ids.get(tenant)));
      },
    );

    test.each<[string, RunPageFilter, string]>([
      ["status", { status: ["RUNNING"] }, "status = 'RUNNING'"],
      ["two statuses", { status: ["RUNNING", "DONE"] }, "status in ('RUNNING', 'DONE')"],
      ["a status twice", { status: ["DONE", "DONE"] }, "status = 'DONE'"],
      ["no status at all", { status: [] }, "false"],
      ["a status that does not exist", { status: ["PAUSED"] }, "false"],
      ["workflow", { workflow: "even" }, "workflow_name = 'even'"],
      [
        "both",
        { status: ["DONE", "QUEUED"], workflow: "odd" },
        "status in ('DONE', 'QUEUED') and workflow_name = 'odd'",
      ],
      ["attention", { attention: true }, "attention_at is not null"],
      [
        "attention and status",
        { attention: true, status: ["DONE"] },
        "attention_at is not null and status = 'DONE'",
      ],
      ["a label", { labels: { parity: "even" } }, "workflow_name = 'even'"],
      [
        "two labels and a status",
        { labels: { parity: "even", third: "0" }, status: ["DONE"] },
        "workflow_name = 'even' and status = 'DONE'",
      ],
      ["two labels that no run has together", { labels: { parity: "odd", third: "0" } }, "false"],
      ["a label that is not there", { labels: { parity: "none" } }, "false"],
      [
        "time",
        { after: new Date("2026-01-01T00:00:00.200Z"), before: new Date("2026-01-01T00:00:00.300Z") },
        "created_at >= '2026-01-01T00:00:00.200Z' and created_at < '2026-01-01T00:00:00.300Z'",
      ],
      [
        "time and a label",
        { labels: { parity: "even" }, before: new Date("2026-01-01T00:00:00.124Z") },
        "workflow_name = 'even' and created_at < '2026-01-01T00:00:00.124Z'",
      ],
      [
        "years that PostgreSQL does not know",
        { after: new Date("0000-01-01T00:00:00Z"), before: new Date("9999-12-31T23:59:59Z") },
        "true",
      ],
      ["a parent without children", { parentRunId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c" }, "false"],
    ])("and filtered by %s shows exactly those, in one order", async (_what, filter, where) => {
      const wanted = await own.admin<{ run_id: string }>(
        `select run_id from ghouls.runs where tenant_id = $1 and ${where} order by created_at desc, run_id desc`,
        [tenant],
      );
      expect(await all(tenant, filter, 7)).toEqual(wanted.map((row) => row.run_id));
    });
  });

  test("shows runs that need a person, by attention or by quarantine", async () => {
    const raised = await makeRun(own, { tenantId: "attended", status: "RUNNING" });
    await ledger.runs.raiseAttention(raised, "unclaimed: look");
    const quarantined = await makeRun(own, { tenantId: "attended", quarantined: true });
    await makeRun(own, { tenantId: "attended" });
    expect(new Set(await all("attended", { attention: true }, 1))).toEqual(
      new Set([raised.runId, quarantined.runId]),
    );
  });

  test("does not move under runs that are admitted meanwhile", async () => {
    const first = await ledger.runs.page("near", {}, { limit: 100 });
    await ledger.runs.admit([newRun({ tenantId: "near" })], ADMIT);
    const second = await ledger.runs.page("near", {}, { limit: 250, cursor: first.nextCursor ?? "" });
    expect(second.runs).toHaveLength(150);
    const seen = [...first.runs, ...second.runs].map((run) => run.runId);
    expect(new Set(seen)).toEqual(new Set(ids.get("near")));
  });

  test("after a cursor of another tenant shows nothing of that tenant", async () => {
    const { nextCursor } = await ledger.runs.page("same", {}, { limit: 1 });
    const { runs } = await ledger.runs.page("other", {}, { limit: 10, cursor: nextCursor ?? "" });
    expect(runs.every((run) => run.tenantId === "other")).toBe(true);
  });

  test.each([
    "",
    "x",
    "1",
    "1.",
    ".00000000-0000-0000-0000-000000000000",
    "1.00000000-0000-0000-0000-00000000000g",
    "1.00000000-0000-0000-0000-000000000000 ",
    "-1.00000000-0000-0000-0000-000000000000",
    "123456789012345678.00000000-0000-0000-0000-000000000000",
    "1.00000000-0000-0000-0000-000000000000'; --",
    "1.FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
  ])("refuses the cursor %j, and says what to pass", async (cursor) => {
    await expect(ledger.runs.page("same", {}, { limit: 1, cursor })).rejects.toMatchObject({
      code: "invalid_request",
      fix: expect.stringContaining("nextCursor"),
    });
  });
});
