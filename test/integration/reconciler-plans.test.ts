import { beforeAll, describe, expect, test } from "vitest";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { explain, type PlanValue } from "../support/plans.ts";

/** A long history of repairs, many owners that stand aside and are not due, and a storm of publications of one moment. */
const MANY = 20_000;
const DUE = 10;

const db = await testDatabase();
const application = await db.client("application");
let tied: { run_id: string; micros: string };
let middle: { micros: string; id: string };

beforeAll(async () => {
  await db.admin(
    `insert into ghouls.repairs select 'tenant-' || n % 7, gen_random_uuid(), gen_random_uuid(), 'timers', 'r', 'b', 'a',
       ghouls.clock() - n * interval '1 second' from generate_series(1, ${MANY}) as n`,
  );
  await db.admin(
    `insert into ghouls.degraded_owners select (array['timers', 'relay', 'consents'])[1 + n % 3], 'owner-' || n, 'acme',
       gen_random_uuid(), gen_random_uuid(), ghouls.clock(), 1,
       ghouls.clock() + (n - ${3 * DUE}) * interval '1 minute' + interval '30 seconds', 'no key'
     from generate_series(1, ${MANY}) as n`,
  );
  await db.admin(
    `insert into ghouls.child_ends (tenant_id, run_id, parent_run_id, ended_at)
     select 'acme', gen_random_uuid(), gen_random_uuid(), ghouls.clock() - n * interval '1 second'
     from generate_series(1, ${MANY}) as n`,
  );
  await db.admin(
    `with made as (select gen_random_uuid() as id, n from generate_series(1, ${MANY}) as n), run as (
       insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
         workflow_version, workflow_digest, queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text,
         input_digest, created_at)
       select 'acme', id, id, 'key-' || n, 'r', 'asks', 1, 'asks@1', 'runs', 5, 'user:ada', '{operator}', 'QUEUED', 1, '1', 'd',
         ghouls.clock()
       from made returning tenant_id, run_id
     )
     insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
     select tenant_id, run_id, 1, 'admitted', 'PENDING', 'runs', 5, now(), now(), now() from run`,
  );
  await db.admin(
    "analyze ghouls.repairs, ghouls.degraded_owners, ghouls.child_ends, ghouls.runs, ghouls.deliveries",
  );
  [tied] = (await db.admin(
    `select run_id, (4 * 100000000000000000 + (extract(epoch from next_publication_at) * 1000000)::bigint)::text as micros
     from ghouls.deliveries order by run_id offset ${MANY / 2} limit 1`,
  )) as [typeof tied];
  [middle] = (await db.admin(
    `select (extract(epoch from at) * 1000000)::bigint::text as micros, repair_id as id from ghouls.repairs
     order by at desc offset ${MANY / 2} limit 1`,
  )) as [typeof middle];
});

const BEFORE = ["0", "00000000-0000-0000-0000-000000000000"] as const;
const FAR = "2999-01-01T00:00:00Z";
const owners = () => ["owner-3", "owner-6", "owner-9000"];

interface Case {
  readonly name: string;
  readonly when?: string;
  readonly values: () => PlanValue[];
  /** The most rows that a node may look at. */
  readonly rows: number;
}

const cases: readonly Case[] = [
  {
    name: "repairs.page",
    rows: 51,
    values: () => [51, "100000000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  },
  { name: "repairs.page", when: ", behind another,", rows: 52, values: () => [51, middle.micros, middle.id] },
  { name: "passes.read", rows: 3, values: () => [["timers", "relay", "seals"]] },
  { name: "degraded.among", rows: 3, values: () => ["timers", owners()] },
  { name: "degraded.take-turns", rows: DUE + 1, values: () => ["timers", 20] },
  { name: "degraded.clean", rows: 3, values: () => ["timers", owners(), [1, 1, 1]] },
  { name: "degraded.note-reason", rows: 1, values: () => ["timers", "owner-3", 1, "why"] },
  { name: "degraded.page", rows: 52, values: () => [51, "", ""] },
  { name: "degraded.page", when: ", behind another,", rows: 52, values: () => [51, "relay", "owner-5"] },
  { name: "children.due", rows: 101, values: () => [100, ...BEFORE, null] },
  { name: "children.due", when: ", of a round,", rows: 101, values: () => [100, ...BEFORE, FAR] },
  {
    name: "children.due-named",
    rows: 3,
    values: () => [20, [tied.run_id, tied.run_id]],
  },
  { name: "deliveries.due-publications", rows: 101, values: () => [100, ...BEFORE, FAR] },
  {
    name: "deliveries.due-publications",
    when: ", from among many of one moment,",
    rows: 102,
    values: () => [100, tied.micros, tied.run_id, FAR],
  },
  { name: "deliveries.due-publications-named", rows: 2, values: () => [100, [tied.run_id]] },
];

describe.each(["force_generic_plan", "force_custom_plan"] as const)("with %s,", (mode) => {
  test.each(cases)(
    "$name $when reads by index, and no more than it has to",
    async ({ name, values, rows }) => {
      const plan = await explain(application, STATEMENTS.get(name)?.text ?? "", values(), mode);
      // One row a pass: the table is smaller than its index.
      expect(plan.scans.filter((scan) => scan.endsWith("in full") && !scan.startsWith("passes "))).toEqual(
        [],
      );
      expect(plan.rows, plan.scans.join(", ")).toBeLessThanOrEqual(rows);
    },
  );
});
