import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { statesOf } from "@ghouls/core";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { explain, type PlanValue } from "../support/plans.ts";

const db = await testDatabase();
const application = await db.client("application");
const FINISHED = 30_000;
const WAITING = 20_000;
const DUE = 40;
const COLUMNS = `tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name, workflow_version,
  workflow_digest, queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at`;
const VALUES = `'acme', made.id, made.id, 'key-' || made.n, 'r', case when made.n % 100 = 0 then 'rare' else 'hello' end, 1, 'hello@1',
  'runs', made.n % 10, 'user:ada', '{operator}'`;

/** Before every row of a pass. */
const NOTHING_BEFORE = ["0", "00000000-0000-0000-0000-000000000000"] as const;

/** It has started nine thousand of those that wait. */
const PARENT = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";

let running: MadeRun;
let pending: MadeRun;
let ended: MadeRun;
let held: MadeRun;
let known: { run_id: string; idempotency_key: string }[];
let halfWay: { micros: string; run_id: string };

beforeAll(async () => {
  await db.admin(
    `with made as (select gen_random_uuid() as id, n from generate_series(1, ${FINISHED}) as n), run as (
       insert into ghouls.runs (${COLUMNS}, started_at, finished_at, journal_length)
       select ${VALUES}, case when made.n % 50 = 0 then 'CANCELLED' else 'DONE' end, 1, '1', 'd', ghouls.clock() - made.n * interval '1 second',
         ghouls.clock(), ghouls.clock(), 1
       from made returning tenant_id, run_id, queue, priority
     ), delivery as (
       insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at, token, claimed_by,
         claimed_at, lease_until, created_at, settled_at)
       select tenant_id, run_id, 1, 'admitted', 'SETTLED', 'done', queue, priority, ghouls.clock(), gen_random_uuid(), 'worker-0',
         ghouls.clock(), ghouls.clock(), ghouls.clock(), ghouls.clock()
       from run returning tenant_id, run_id, seq, token
     )
     insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at,
       completed_at)
     select tenant_id, run_id, 1, 0, '', 'step', 'a', 1, 'ok', 1, seq, token, ghouls.clock(), ghouls.clock() from delivery`,
  );
  const waiting = (from: number, count: number, nextPublication: string) =>
    db.admin(
      `with made as (select gen_random_uuid() as id, n from generate_series(${from}, ${from + count - 1}) as n), run as (
       insert into ghouls.runs (${COLUMNS}, parent_run_id, parent_arm_id, parent_close)
       select ${VALUES}, 'QUEUED', 1, '1', 'd', ghouls.clock() - (made.n - ${FINISHED}) * interval '1 second',
         case when made.n between 40001 and 49000 then '${PARENT}'::uuid end,
         case when made.n between 40001 and 49000 then made.id end, case when made.n between 40001 and 49000 then 'abandon' end
       from made returning tenant_id, run_id, queue, priority
     )
     insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
     select tenant_id, run_id, 1, 'admitted', 'PENDING', queue, priority, ghouls.clock(), ${nextPublication}, ghouls.clock() from run`,
    );
  await waiting(FINISHED + 1, WAITING, "ghouls.clock() + interval '1 day'");
  await waiting(FINISHED + WAITING + 1, DUE, "ghouls.clock() - interval '1 second'");
  running = await makeRun(db, { status: "RUNNING" });
  pending = await makeRun(db, { nextPublicationIn: 86_400 });
  ended = await makeRun(db, { status: "FAILED" });
  held = await makeRun(db, { deliveryStatus: "HELD" });
  await db.admin(
    `update ghouls.runs set attention_reason = 'x', attention_at = ghouls.clock() where idempotency_key = 'key-29999'`,
  );
  await db.admin(
    `insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
     select run.tenant_id, run.run_id, 'team', 'payments', run.created_at from ghouls.runs run
     union all
     select run.tenant_id, run.run_id, 'customer', '17', run.created_at from ghouls.runs run where run.idempotency_key = 'key-15000'`,
  );
  await db.admin("analyze ghouls.labels");
  known = await db.admin("select run_id, idempotency_key from ghouls.runs where idempotency_key = any($1)", [
    Array.from({ length: 10 }, (_, index) => `key-${index * 4_000 + 1}`),
  ]);
  [halfWay] = (await db.admin(
    `select (extract(epoch from created_at) * 1000000)::bigint::text as micros, run_id from ghouls.runs
     where idempotency_key = 'key-15000'`,
  )) as [typeof halfWay];
  // A project keeps one row for every digest that it ever deployed.
  await db.admin(
    `insert into ghouls.workflows select 'workflow-' || n, 1, 'd', 'b', ghouls.clock(), ghouls.clock() from generate_series(1, 2000) as n`,
  );
  await db.admin(
    `insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at)
     select 'tenant-' || n % 7, 'key-' || n, repeat('0', 64), 's' || n / 2, '{}', '{}', 'x', ghouls.clock() from generate_series(1, 20000) as n`,
  );
  await db.admin(
    `insert into ghouls.grants (tenant_id, grant_id, name, holder, created_by, created_at)
     select 'tenant-' || n % 7, 'grant-' || n, 'name-' || n % 50, 'user:' || n / 2, 'x', ghouls.clock() from generate_series(1, 20000) as n`,
  );
  // What was lifted stays; two are set.
  await db.admin(
    `insert into ghouls.pauses (pause_id, scope, tenant_id, workflow, actor, reason, at, lifted_at, lifted_by, lift_reason)
     select gen_random_uuid(), 'workflow', 'tenant-' || n % 7, 'workflow-' || n, 'x', 'y', ghouls.clock(), ghouls.clock(), 'x', 'z'
     from generate_series(1, 5000) as n`,
  );
  await db.admin(
    `insert into ghouls.pauses (pause_id, scope, tenant_id, workflow, actor, reason, at)
     values ('${PAUSE_ID}', 'tenant', 'umbrella', null, 'x', 'y', ghouls.clock()), (gen_random_uuid(), 'workflow', 'acme', 'none', 'x', 'y', ghouls.clock())`,
  );
  await db.admin("analyze ghouls.pauses");
  await db.admin(
    "analyze ghouls.runs, ghouls.deliveries, ghouls.journal, ghouls.workflows, ghouls.api_keys, ghouls.grants",
  );
  // What was given back stays, as the history of its capacity.
  await db.admin("insert into ghouls.capacities values ('gpu', 1, ghouls.clock())");
  await db.admin(
    `insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, seq, token, status,
       asked_at, held_at, released_at)
     select tenant_id, run_id, gen_random_uuid(), 0, '', 'gpu', 1, 'gpu', 1, seq, token, 'RELEASED', ghouls.clock(), ghouls.clock(),
       ghouls.clock()
     from ghouls.deliveries where status = 'SETTLED'`,
  );
  await db.admin("analyze ghouls.reservations");
});

/** The end of a round that has begun a while ago. */
const UNTIL = new Date(Date.now() - 1_000).toISOString();
const PAUSE_ID = "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1";
const START = ["100000000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];
const EVERY = [...statesOf("run")];
/** What a page looks at that a filter may mean few of. */
const LOOKED = 2_000;
const BETWEEN = ["9999-01-01T00:00:00Z", "1970-01-01T00:00:00Z"] as const;
const first = (limit: number, ...filter: PlanValue[]) => ["acme", ...START, limit, ...filter];
const later = (limit: number, ...filter: PlanValue[]) => [
  "acme",
  halfWay.micros,
  halfWay.run_id,
  limit,
  ...filter,
];
/** A page of runs with all that its filter may say. */
const filtered = (
  page: readonly PlanValue[],
  {
    status = null,
    workflow = null,
    parent = null,
    attention = false,
    labels = [],
    looked,
  }: {
    readonly status?: string[] | null;
    readonly workflow?: string | null;
    readonly parent?: string | null;
    readonly attention?: boolean;
    readonly labels?: readonly (readonly [string, string])[];
    readonly looked?: number;
  } = {},
): PlanValue[] => [
  ...page,
  BETWEEN[1],
  BETWEEN[0],
  status,
  workflow,
  parent,
  attention,
  labels.map(([key]) => key),
  labels.map(([, value]) => value),
  ...(looked === undefined ? [] : [looked]),
];
const claimOf = (run: MadeRun) => [run.tenantId, run.runId, run.seq, run.token];
const firstId = () => known[0]?.run_id ?? "";
const ids = () => known.map((run) => run.run_id);

interface Case {
  readonly name: string;
  readonly values: () => PlanValue[];
  /** The most rows that a node may look at. */
  readonly rows: number;
  readonly when?: string;
}

const cases: readonly Case[] = [
  {
    name: "runs.admit",
    rows: 10,
    values: () => {
      const one = ["acme", randomUUID(), "new-key", "r", "hello", 1, "hello@1", "runs", 5, "", "user:ada"];
      const arrays = [...one, "[]", "1", "d", 1_000, false, 1_000].map((value) => [value]);
      return ["2000", ...arrays, 15, ["resume"], [1_000], ["2030-01-01T00:00:00Z"], 900];
    },
  },
  {
    name: "runs.admit-labeled",
    rows: 10,
    values: () => {
      const one = ["acme", randomUUID(), "new-key", "r", "hello", 1, "hello@1", "runs", 5, "", "user:ada"];
      const arrays = [...one, "[]", "1", "d", 1_000, false, 1_000].map((value) => [value]);
      return [
        "2000",
        ...arrays,
        15,
        ["resume"],
        [1_000],
        ["2030-01-01T00:00:00Z"],
        900,
        ['{"team":"payments"}'],
      ];
    },
  },
  {
    name: "runs.by-key",
    rows: 10,
    values: () => [ids().map(() => "acme"), known.map((run) => run.idempotency_key)],
  },
  { name: "runs.by-id", rows: 10, values: () => [ids().map(() => "acme"), ids()] },
  {
    name: "reservations.take",
    rows: 10,
    values: () => [
      ...claimOf(running),
      0,
      "",
      "gpu",
      1,
      "gpu",
      1,
      600,
      randomUUID(),
      false,
      "{}",
      "d",
      "{}",
      "d",
      0,
    ],
  },
  {
    name: "reservations.release",
    rows: 10,
    values: () => [...claimOf(running), 0, "", "gpu", 1, "gpu{}", 1],
  },
  { name: "reservations.of-run", rows: 10, values: () => ["acme", running.runId] },
  { name: "runs.get", rows: 1, values: () => ["acme", running.runId] },
  {
    name: "deliveries.claim",
    // Before 18 the server rounds the rows of each of eleven loops.
    rows: 33,
    values: () => [
      [pending.runId, ...ids()],
      [1, ...ids().map(() => 1)],
      [randomUUID(), ...ids().map(() => randomUUID())],
      "worker-0",
      120,
      180,
    ],
  },
  {
    name: "deliveries.claimed-by-token",
    rows: 10,
    values: () => [[running.runId], [1], [running.token]],
  },
  { name: "deliveries.unclaimed", rows: 10, values: () => [ids(), ids().map(() => 1)] },
  { name: "skips.note", rows: 20, values: () => [ids(), ids().map(() => 1), ids().map(() => "early")] },
  { name: "skips.of-run", rows: 20, values: () => ["acme", firstId()] },
  { name: "deliveries.mark-skipped-as-paused", rows: 10, values: () => [ids(), ids().map(() => 1)] },
  { name: "runs.pause", rows: 1, values: () => ["acme", running.runId, "user:ada", "why"] },
  { name: "runs.unpause", rows: 2, values: () => ["acme", running.runId] },
  {
    name: "pauses.set",
    rows: 1,
    values: () => [["acme"], ["hello"], ["workflow"], [randomUUID()], ["user:ada"], ["why"]],
  },
  { name: "pauses.of-target", rows: 2, values: () => ["umbrella", null] },
  { name: "pauses.of-tenant", rows: 2, values: () => ["acme"] },
  { name: "pauses.all", rows: 2, values: () => [100] },
  { name: "pauses.by-id", rows: 1, values: () => [PAUSE_ID] },
  { name: "pauses.lift", rows: 1, values: () => [PAUSE_ID, "user:ada", "why"] },
  { name: "deliveries.release", rows: 1, values: () => ["acme", pending.runId, 15, 900] },
  {
    name: "deliveries.settle",
    rows: 1,
    values: () => [...claimOf(running), "DONE", "done", "1", "d", null, null, null],
  },
  { name: "deliveries.state-of-claim", rows: 1, values: () => claimOf(running) },
  { name: "deliveries.of-run", rows: 1, values: () => ["acme", running.runId] },
  { name: "runs.quarantine", rows: 1, values: () => [...claimOf(running), "by a test"] },
  { name: "runs.raise-attention", rows: 1, values: () => ["acme", running.runId, "by a test"] },
  {
    name: "journal.append",
    rows: 1,
    values: () => [...claimOf(running), 0, "", "step", "a", 1, "ok", "1", "d", 1, 5, 1, true],
  },
  {
    name: "journal.entry-of-call",
    rows: 1,
    values: () => ["acme", firstId(), 0, "", "step", "a", 1],
  },
  { name: "journal.read", rows: 1, values: () => ["acme", firstId(), 0] },
  {
    name: "deliveries.beat",
    rows: 2,
    values: () => [["acme"], [running.runId], [1], [running.token], 120],
  },
  { name: "deliveries.lapsed", rows: 10, values: () => [10, ...NOTHING_BEFORE, null] },
  {
    name: "deliveries.lapsed",
    when: ", of a round,",
    rows: 10,
    values: () => [10, ...NOTHING_BEFORE, UNTIL],
  },
  { name: "deliveries.lapsed-named", rows: 10, values: () => [10, [running.runId]] },
  {
    name: "deliveries.settle-lost",
    rows: 2,
    values: () => [["acme"], [running.runId], [1], [running.token], ["{}"], ["d"], 3, 60, 15],
  },
  {
    name: "deliveries.yield",
    rows: 2,
    values: () => [...claimOf(running), "hello@1", 0, "d", true, 15, "continued", null],
  },
  {
    name: "deliveries.give-back",
    rows: 2,
    values: () => [...claimOf(running), "2026-12-01T00:00:00Z", true],
  },
  { name: "runs.clear-absence", rows: 1, values: () => claimOf(running) },
  {
    name: "runs.adopt",
    rows: 2,
    values: () => [...claimOf(running), ["hello@1", "d"], 2, "d", true, 0, "j"],
  },
  { name: "workflows.build-of", rows: 1, values: () => ["workflow-7", "d"] },
  { name: "runs.cancel", rows: 2, values: () => ["acme", running.runId, "user:ada", "why", 60] },
  { name: "runs.end-if-contained", rows: 2, values: () => ["acme", running.runId] },
  { name: "items.due", rows: 100, values: () => [100, ...NOTHING_BEFORE, null] },
  { name: "items.due", when: ", of a round,", rows: 100, values: () => [100, ...NOTHING_BEFORE, UNTIL] },
  { name: "items.due-named", rows: 1, values: () => [100, [ended.runId]] },
  {
    name: "deliveries.expired-holds",
    when: ", of a round,",
    rows: 2,
    values: () => [100, ...NOTHING_BEFORE, UNTIL],
  },
  { name: "deliveries.expired-holds-named", rows: 2, values: () => [100, [held.runId]] },
  { name: "deliveries.due-publications-named", rows: 4, values: () => [100, [pending.runId, running.runId]] },
  { name: "deliveries.expired-holds", rows: 2, values: () => [100, ...NOTHING_BEFORE, null] },
  { name: "deliveries.expire-holds", rows: 2, values: () => [["acme"], [held.runId], ["{}"], ["d"]] },
  { name: "items.of-run", rows: 2, values: () => ["acme", running.runId] },
  {
    name: "intents.open",
    rows: 2,
    values: () => [...claimOf(running), 0, "", "step", "a", 1, 1],
  },
  { name: "intents.open-of-run", rows: 2, values: () => ["acme", running.runId] },
  { name: "deliveries.beat-of-worker", rows: 2, values: () => ["worker-0", 120] },
  { name: "deliveries.record-worker-end", rows: 1, values: () => ["worker-0", "exited"] },
  {
    name: "deliveries.mark-published",
    rows: 10,
    values: () => [ids().map(() => "acme"), ids(), ids().map(() => 1), [30, 60]],
  },
  {
    name: "deliveries.mark-publication-failed",
    rows: 10,
    values: () => [ids().map(() => "acme"), ids(), ids().map(() => 1), [30, 60], ids().map(() => "x")],
  },
  { name: "keys.by-id", rows: 1, values: () => ["key-7000"] },
  { name: "keys.by-id", when: ", of none,", rows: 1, values: () => ["key-x"] },
  { name: "keys.roles-of-subject", rows: 2, values: () => ["tenant-0", "s3500"] },
  {
    name: "grants.live",
    rows: 3,
    values: () => ["tenant-0", "name-0", ["user:3500", "role:operator"]],
  },
  { name: "grants.by-id", rows: 1, values: () => ["grant-7000"] },
  { name: "deliveries.given-back-before", rows: 1, values: () => ["acme", firstId(), 2, 10] },
  { name: "keys.mark-used", rows: 1, values: () => ["tenant-0", "key-7000"] },
  {
    name: "runs.count-all",
    when: ", bounded,",
    rows: 2_000,
    values: () => ["acme", 86_400, 300, 3_600, null, [], []],
  },
  {
    name: "runs.count-workflow",
    when: ", rare,",
    rows: 3_000,
    values: () => ["acme", 86_400, 50_000, 3_600, "rare", [], []],
  },
  {
    name: "runs.count-label",
    when: ", rare,",
    rows: 60,
    values: () => ["acme", 86_400, 50_000, 3_600, null, ["customer"], ["17"]],
  },
  { name: "runs.page-all", when: ", first,", rows: 102, values: () => filtered(first(51)) },
  { name: "runs.page-all", when: ", later,", rows: 102, values: () => filtered(later(51)) },
  {
    name: "runs.page-status",
    when: ", of a common status,",
    rows: 102,
    values: () => filtered(first(51), { status: ["DONE"] }),
  },
  {
    name: "runs.page-status",
    when: ", later,",
    rows: 102,
    values: () => filtered(later(51), { status: ["DONE"] }),
  },
  {
    name: "runs.page-status",
    when: ", of a rare status,",
    rows: 102,
    values: () => filtered(first(51), { status: ["RUNNING"] }),
  },
  {
    name: "runs.page-status",
    when: ", of an absent one,",
    rows: 102,
    values: () => filtered(first(51), { status: ["FAILING"] }),
  },
  {
    name: "runs.page-status",
    when: ", of every status,",
    rows: 14 * 102,
    values: () =>
      filtered(first(51), {
        status: ["QUEUED", "RUNNING", "AWAITING_HARDWARE", "AWAITING_SIGNAL", "DONE", "FAILED", "CANCELLED"],
      }),
  },
  {
    name: "runs.page-workflow",
    when: ", common,",
    rows: 14 * 102,
    values: () => filtered(first(51), { status: EVERY, workflow: "hello" }),
  },
  {
    name: "runs.page-workflow",
    when: ", rare,",
    rows: 14 * 102,
    values: () => filtered(first(51), { status: EVERY, workflow: "rare" }),
  },
  {
    name: "runs.page-workflow",
    when: ", absent,",
    rows: 102,
    values: () => filtered(first(51), { status: EVERY, workflow: "none" }),
  },
  {
    name: "runs.page-workflow",
    when: ", of a status,",
    rows: 102,
    values: () => filtered(first(51), { status: ["DONE"], workflow: "hello" }),
  },
  {
    name: "redrives.make",
    rows: 10,
    values: () => ["acme", ended.runId, randomUUID(), 2, 1, "hello@1", "user:ada", "[]", 1_000, "resume", 15],
  },
  {
    name: "runs.page-attention",
    when: ", alone,",
    rows: 102,
    values: () => filtered(first(51), { attention: true, looked: 51 }),
  },
  {
    name: "runs.page-attention",
    when: ", of a status,",
    rows: 2_002,
    values: () => filtered(first(51), { attention: true, status: ["DONE"], looked: LOOKED }),
  },
  {
    name: "runs.page-parent",
    when: ", alone,",
    rows: 102,
    values: () => filtered(first(51), { parent: PARENT, looked: 51 }),
  },
  {
    name: "runs.page-parent",
    when: ", of few among many,",
    rows: LOOKED + 2,
    values: () => filtered(first(51), { parent: PARENT, status: ["FAILED"], looked: LOOKED }),
  },
  {
    name: "runs.page-label",
    when: ", common,",
    rows: 102,
    values: () => filtered(first(51), { labels: [["team", "payments"]], looked: 51 }),
  },
  {
    name: "runs.page-label",
    when: ", later,",
    rows: 102,
    values: () => filtered(later(51), { labels: [["team", "payments"]], looked: 51 }),
  },
  ...[
    { status: ["FAILED"] },
    { workflow: "none" },
    { status: ["RUNNING"], workflow: "rare", attention: true },
  ].map((few) => ({
    name: "runs.page-label",
    when: `, common, with ${JSON.stringify(few)},`,
    rows: LOOKED + 2,
    values: () => filtered(first(51), { ...few, labels: [["team", "payments"]], looked: LOOKED }),
  })),
  {
    name: "runs.page-label",
    when: ", common, with a rare one,",
    rows: 2 * LOOKED + 2,
    values: () =>
      filtered(first(51), {
        labels: [
          ["team", "payments"],
          ["zone", "none"],
        ],
        looked: LOOKED,
      }),
  },
  {
    name: "runs.page-label",
    when: ", rare, with another,",
    rows: 10,
    values: () =>
      filtered(first(51), {
        labels: [
          ["customer", "17"],
          ["team", "payments"],
        ],
        looked: LOOKED,
      }),
  },
  {
    name: "runs.page-label",
    when: ", absent,",
    rows: 2,
    values: () => filtered(first(51), { labels: [["team", "none"]], looked: 51 }),
  },
];

describe.each(["force_generic_plan", "force_custom_plan"] as const)("with %s", (mode) => {
  test.each(cases.map((one) => ({ when: "", ...one })))(
    "$name $when reads by index, and no more than it has to",
    async ({ name, values, rows }) => {
      const plan = await explain(application, STATEMENTS.get(name)?.text ?? "", values(), mode);
      expect(plan.scans.filter((scan) => scan.endsWith("in full"))).toEqual([]);
      expect(plan.rows, plan.scans.join(", ")).toBeLessThanOrEqual(rows);
    },
  );

  test("the relay reads what is due, whatever the number of waiting and finished deliveries", async () => {
    const text = STATEMENTS.get("deliveries.due-publications")?.text ?? "";
    const plan = await explain(application, text, [100, ...NOTHING_BEFORE, null], mode);
    expect(plan.scans.filter((scan) => scan.endsWith("in full"))).toEqual([]);
    expect(plan.scans).toContain("deliveries by deliveries_publishable");
    // For each its tenant's only pause, which is another workflow's; a few more for what this file's rolled-back transactions
    // have left in the index.
    expect(plan.rows).toBeLessThanOrEqual(2 * DUE + 10);
    // Ten scans of two or three pages each; three or four pages for the run of each due delivery, and as many for its pauses.
    expect(plan.pages).toBeLessThan(50 + 12 * DUE);
  });
});

test("the next look reads one entry of each index, whatever the number of waiting and finished runs", async () => {
  const text = STATEMENTS.get("ledger.next-look")?.text ?? "";
  const plan = await explain(application, text, [["timers", "relay"]], "force_generic_plan");
  expect(new Set(plan.scans.filter((scan) => !/^runs by runs_(pkey|run_id_key)$/.test(scan)))).toEqual(
    new Set([
      "deliveries by deliveries_by_lease",
      "deliveries by deliveries_publishable",
      "deliveries by deliveries_by_hold",
      // Whether the run of the first deadline is held.
      "deliveries by deliveries_pkey",
      "containment_items by containment_items_due",
      "arms by arms_due",
      "consents by consents_to_look_up",
      "attempts by attempts_due",
      "child_ends by child_ends_due",
      "degraded_owners by degraded_owners_due",
      "end_acts by end_acts_due",
      "runs by runs_by_deadline",
      "runs by runs_endable",
      // Whether the run of the first publication is paused.
      "pauses by pauses_one_set",
    ]),
  );
  // Ten priorities; a few more for what this file's rolled-back transactions have left in the indexes.
  expect(plan.rows).toBeLessThanOrEqual(20);
  expect(plan.pages).toBeLessThan(160);
});

test("what runs are pinned to is counted by the index of each status, and no more of it than is asked for", async () => {
  const text = STATEMENTS.get("runs.pinned")?.text ?? "";
  for (const mode of ["force_generic_plan", "force_custom_plan"] as const) {
    const plan = await explain(application, text, ["acme", 300], mode);
    expect(plan.scans).toContain("runs by runs_by_status");
    expect(plan.scans).not.toContain("runs in full");
    expect(plan.rows).toBeLessThan(2_000);
  }
});

test("a plan test that meets a scan in full says so", async () => {
  const plan = await explain(
    application,
    "select count(*) from ghouls.runs where request_digest = $1",
    ["none"],
    "force_custom_plan",
  );
  expect(plan.scans).toEqual(["runs in full"]);
  expect(plan.rows).toBeGreaterThan(FINISHED);
});
