import { beforeAll, describe, expect, test } from "vitest";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { explain, type PlanValue } from "../support/plans.ts";

/** Beside many ended runs, whatever is still to be done of them, each look of a pass reads what is due. */

const db = await testDatabase();
const application = await db.client("application");
const RUNS = 20_000;
const DUE = 5;
let runIds: string[] = [];

beforeAll(async () => {
  await db.admin(
    `with made as (select gen_random_uuid() as id, n, ghouls.clock() - n * interval '1 second' as t from generate_series(1, ${RUNS}) as n)
     insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest, queue,
       priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at,
       steps_emptied_at)
     select 'acme', id, id, 'r', 'hello', 1, 'hello@1', 'runs', 5, 'user:ada', '{operator}', 'DONE', 1, '1', 'd', t, t, t,
       case when n % 2 = 0 then t end
     from made`,
  );
  // Of the most something is still to be done, and not yet.
  await db.admin(
    `insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
     select tenant_id, run_id, act, finished_at, ghouls.clock() + interval '1 hour'
     from ghouls.runs, unnest(array['record', 'checkpoints', 'seal', 'doubt']) as act`,
  );
  runIds = (
    await db.admin<{ run_id: string }>(`select run_id from ghouls.runs order by finished_at limit ${DUE}`)
  ).map((row) => row.run_id);
  await db.admin(
    "update ghouls.end_acts set due_at = ghouls.clock() - interval '1 hour' where run_id = any($1::uuid[])",
    [runIds],
  );
  await db.admin(
    `insert into ghouls.terminal_records (tenant_id, run_id, record_text, record_digest, written_at)
     select tenant_id, run_id, '{}', ghouls.text_digest('{}'), finished_at from ghouls.runs`,
  );
  await db.admin(
    `insert into ghouls.seals (tenant_id, number, previous_digest, records, members_text, digest, sealed_at)
     select 'acme', n, case when n > 1 then 'p' end, 1, '', ghouls.text_digest(n::text), ghouls.clock() from generate_series(1, 5000) as n`,
  );
  await db.admin(
    `insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
     select tenant_id, run_id, gen_random_uuid(), 'timers', 'r', 'b', 'a', finished_at from ghouls.runs`,
  );
  await db.admin(
    `insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, recorded_at, ordinal, number, tries,
       started_at, completed_at, body_text)
     select run.tenant_id, run.run_id, gen_random_uuid(), case when n % 100 = 0 then 'rejected' else 'durable_best_effort' end, 1,
       run.run_id, '["emit","e"]', 'ok', run.created_at, case when n % 2 = 0 and n % 100 > 0 then n end,
       case when n % 2 = 1 then n end, 1, run.created_at, run.created_at + n * interval '1 millisecond', '1'
     from (select * from ghouls.runs order by finished_at limit 40) as run, generate_series(1, 1000) as n`,
  );
  await db.admin("vacuum analyze");
});

const ALL = ["0", "", null] as const;
/** Older than that are a hundred runs, and one more with every second. */
const LONG_AGO = 19_900_000;

const LOOKS: {
  name: string;
  values: () => readonly PlanValue[];
  scans: readonly RegExp[];
  rows: number;
  pages?: number;
}[] = [
  {
    name: "evidence.due-acts",
    values: () => [50, ...ALL],
    scans: [/^end_acts by end_acts_due$/],
    rows: 2 * DUE,
  },
  {
    name: "evidence.due-acts-of",
    values: () => [runIds, runIds.map(() => "record"), 50],
    // Either index of runs: one tenant is skipped over.
    scans: [/^end_acts by end_acts_pkey$/, /^runs by runs_(pkey|run_id_key)$/],
    rows: 4 * DUE,
  },
  {
    name: "seals.due",
    values: () => [50, ...ALL, null],
    scans: [
      /^end_acts by end_acts_(to_seal|due)$/,
      /^seal_checks in full$/,
      /^seals by seals_pkey$/,
      /^seals in full$/,
    ],
    rows: DUE + 3,
  },
  {
    name: "seals.due-runs",
    values: () => ["acme", 500],
    scans: [/^end_acts by end_acts_to_seal$/],
    rows: DUE,
  },
  { name: "seals.after", values: () => ["acme", 2_000], scans: [/^seals by seals_pkey$/], rows: 1 },
  {
    name: "evidence.copies",
    values: () => ["acme", runIds[0] ?? "", "0", "00000000-0000-0000-0000-000000000000", 51],
    scans: [/^evidence by evidence_in_time$/],
    rows: 51,
  },
  {
    name: "evidence.emitted",
    values: () => ["acme", runIds[0] ?? "", 1, 100, 2_147_483_647, 2_147_483_647, 100],
    scans: [/^evidence by evidence_of_event$/],
    rows: 100,
  },
  {
    name: "evidence.rejected",
    values: () => ["acme", runIds[0] ?? "", 100],
    // There are no deliveries here.
    scans: [
      /^evidence by evidence_rejected$/,
      /^runs by runs_(pkey|run_id_key)$/,
      /^deliveries (by|in full)/,
    ],
    rows: 100,
  },
  {
    name: "evidence.terminal",
    values: () => ["acme", runIds[0] ?? "", 1_000, 500],
    // None of these seals has it: the most are looked at.
    scans: [/^terminal_records by terminal_records_pkey$/, /^seals by seals_in_time$/],
    rows: 502,
    pages: 1_000,
  },
  {
    name: "retention.due",
    values: () => [10, ...ALL, LONG_AGO, LONG_AGO, LONG_AGO],
    scans: [/^runs by runs_with_(bodies|steps)$/, /^repairs by repairs_(newest|of_tenant)$/],
    // Of runs a page; of repairs as many as one turn forgets.
    rows: 1_000,
  },
  {
    name: "retention.due-of",
    values: () => [runIds, runIds.map(() => "bodies"), LONG_AGO, LONG_AGO],
    scans: [/^runs by runs_(pkey|run_id_key)$/],
    rows: DUE,
  },
];

describe.each(["force_generic_plan", "force_custom_plan"] as const)("with a %s", (mode) => {
  test.each(LOOKS)(
    "$name reads what is due, by an index",
    async ({ name, values, scans, rows, pages = 500 }) => {
      const text = STATEMENTS.get(name)?.text ?? "";
      const plan = await explain(application, text, values(), mode);
      for (const scan of plan.scans)
        expect(
          scans.some((one) => one.test(scan)),
          `${scan} of ${plan.scans.join(", ")}`,
        ).toBe(true);
      expect(plan.scans.length).toBeGreaterThan(0);
      expect(plan.rows).toBeLessThanOrEqual(rows);
      expect(plan.pages).toBeLessThan(pages);
    },
  );
});

test("where no age is configured, retention reads nothing", async () => {
  const text = STATEMENTS.get("retention.due")?.text ?? "";
  const plan = await explain(application, text, [50, ...ALL, null, null, null], "force_generic_plan");
  expect(plan.rows).toBe(0);
});

test("a page behind many that are passed over begins behind them", async () => {
  const text = STATEMENTS.get("retention.due")?.text ?? "";
  const [row] = await db.admin<{ micros: string; run_id: string }>(
    "select ghouls.micros(finished_at)::text as micros, run_id from ghouls.runs order by finished_at limit 1 offset 900",
  );
  const values = [50, row?.micros ?? "", `bodies ${row?.run_id}`, null, LONG_AGO, null, null];
  const plan = await explain(application, text, values, "force_generic_plan");
  expect(plan.rows).toBeLessThanOrEqual(60);
});
