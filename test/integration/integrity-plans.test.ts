import { beforeAll, describe, expect, test } from "vitest";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { explain, type PlanValue } from "../support/plans.ts";

/** Among many faults of long ago, and many runs, what is read often looks at those that stand and at its own. */

const db = await testDatabase();
const application = await db.client("application");
const GONE = 20_000;

beforeAll(async () => {
  await db.admin(
    `insert into ghouls.integrity_faults (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at, gone_at, quarantine,
       acknowledged_at, acknowledged_by, acknowledgement)
     select gen_random_uuid(), 'c' || n % 13, 't' || n % 40, gen_random_uuid(), 's' || n, 'd', ghouls.clock(), 'doctor', ghouls.clock(),
       case when n % 10 > 0 then ghouls.clock() end, 'made', ghouls.clock(), 'user:ada', 'x'
     from generate_series(1, ${GONE}) as n`,
  );
  await db.admin(
    `insert into ghouls.integrity_faults (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at)
     select gen_random_uuid(), 'c', 't1', gen_random_uuid(), 'open' || n, 'd', ghouls.clock(), 'doctor', ghouls.clock() from generate_series(1, 3) as n`,
  );
  await db.admin("vacuum analyze ghouls.integrity_faults");
});

/** Of the closed ones, those of a tenant. */
const OF_A_TENANT = GONE / 40;

describe.each(["force_generic_plan", "force_custom_plan"] as const)("with %s", (mode) => {
  test.each<[string, PlanValue[], number]>([
    ["integrity.unacknowledged", [], 3],
    ["integrity.refused", [20, true], 3],
    ["integrity.to-quarantine", [100], 3],
    ["integrity.by-id", ["00000000-0000-4000-8000-000000000000"], 1],
    ["integrity.page-open", ["t1", true, 50, null, null], OF_A_TENANT + 3],
    ["integrity.page-others", ["t1", false, 50, null, null], OF_A_TENANT + 3],
  ])("%s reads by index, and no more than it must", async (name, values, most) => {
    const plan = await explain(application, STATEMENTS.get(name)?.text ?? "", values, mode);
    expect(plan.scans.filter((scan) => scan.endsWith("in full"))).toEqual([]);
    expect(plan.rows, plan.scans.join(", ")).toBeLessThanOrEqual(most);
  });
});
