import { describe, expect, it } from "vitest";
// Its index registers every statement.
import "../../packages/ledger/src/index.ts";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { folderOf, productionSources, readSources } from "./sources.ts";
import { boundToTenant, namesTenant, sqlOutside, tablesWithoutSchema, touchesTenants } from "./sql.ts";

/** Statements that no caller's tenant bounds, and why. Each still joins the rows of a tenant by it. */
const SYSTEM_STATEMENTS: Readonly<Record<string, string>> = {
  "integrity.quarantine": "a judgement is of the whole ledger",
  "integrity.states": "a judgement is of the whole ledger",
  "deliveries.claim": "a message carries no tenant: it comes from the row",
  "deliveries.claimed-by-token": "reads what a claim with a lost answer has claimed",
  "deliveries.taken-by-token": "a message carries no tenant: it comes from the row",
  "deliveries.unclaimed": "says why a message could not be claimed, and the message carries no tenant",
  "deliveries.beat-of-worker": "a worker carries deliveries of any tenant",
  "deliveries.record-worker-end": "a worker carries deliveries of any tenant",
  "deliveries.holders": "a worker carries deliveries of any tenant",
  "deliveries.mark-skipped-as-paused": "a message carries no tenant: it comes from the row",
  "skips.note": "a message carries no tenant: it comes from the row",
  "deliveries.due-publications-named": "the same, of owners by name",
  "deliveries.due-publications": "the relay serves every tenant",
  "deliveries.lapsed-named": "the same, of owners by name",
  "deliveries.lapsed": "reanimation serves every tenant",
  "deliveries.expired-holds-named": "the same, of owners by name",
  "deliveries.expired-holds": "hold expiry serves every tenant",
  "arms.due-named": "the same, of owners by name",
  "arms.due": "timers serve every tenant",
  "attempts.due-named": "the same, of owners by name",
  "attempts.due": "delegate repair serves every tenant",
  "attempts.read-for-callback": "a service that calls back has a token, and no tenant",
  "consents.to-look-up-named": "the same, of owners by name",
  "consents.to-look-up": "consent re-admission serves every tenant",
  "runs.overdue-named": "the same, of owners by name",
  "runs.overdue": "deadlines serve every tenant",
  "ledger.next-look": "the reconciler's hint is one for all tenants",
  "keys.by-id": "a token carries no tenant: it comes from the row",
  "keys.page": "whoever owns the schema sees the keys of every tenant",
  "keys.revoke": "by the id alone, as the lookup",
  "items.due-named": "the same, of owners by name",
  "deadletters.lock": "a dead letter carries no tenant",
  "ledger.health": "whoever watches over a deployment watches over every tenant",
  "evidence.due-acts-of": "what follows an end is done for every tenant",
  "evidence.verify-journal": "whoever verifies all evidence goes through every tenant",
  "evidence.tenant-after": "whoever verifies all evidence goes from tenant to tenant",
  "evidence.verify-runs": "whoever verifies all evidence goes through every tenant",
  "retention.due": "retention serves every tenant",
  "retention.due-of": "retention serves every tenant",
  "items.due": "containment serves every tenant",
  "releases.all": "code is pinned by runs of whichever tenant",
  "releases.remove": "code is pinned by runs of whichever tenant",
};
/** Those that name none at all: what they write belongs to the deployment. */
const OF_THE_DEPLOYMENT = ["releases.all", "releases.remove"];
/** The checks of `ghouls doctor` span tenants: they are run by whoever operates the whole. */
const CHECKS = /^(?:doctor\.|integrity\.judge-)/;

const statements = [...STATEMENTS.values()];
const touching = statements.filter(({ text }) => touchesTenants(text));

describe("SQL", () => {
  it("stands in the ledger only", () => {
    const others = productionSources(readSources()).filter(({ path }) => folderOf(path) !== "ledger");
    expect(others.length).toBeGreaterThan(0);
    expect(sqlOutside(others)).toEqual([]);
  });

  it("names the schema of every table", () => {
    expect(statements.length).toBeGreaterThan(0);
    for (const { name, text } of statements) expect(tablesWithoutSchema(text), name).toEqual([]);
  });

  it("says the tenant wherever it touches runs, deliveries, the journal or keys", () => {
    expect(touching.length).toBeGreaterThan(0);
    const silent = touching.filter(({ text }) => !namesTenant(text)).map(({ name }) => name);
    expect(silent.toSorted()).toEqual(OF_THE_DEPLOYMENT);
  });

  it("is bound to the caller's tenant, other than the statements of the system", () => {
    const unbound = touching.filter(({ text }) => !boundToTenant(text)).map(({ name }) => name);
    expect(unbound.filter((name) => !CHECKS.test(name)).toSorted()).toEqual(
      Object.keys(SYSTEM_STATEMENTS).toSorted(),
    );
  });
});

describe("the check of SQL", () => {
  const outside = (text: string) => sqlOutside([{ path: "packages/engine/src/a.ts", text }]).length;

  it("finds a driver and a statement outside of the ledger", () => {
    expect(outside(`import pg from "pg";`)).toBe(1);
    expect(outside(`import type { Pool } from "pg";`)).toBe(1);
    expect(outside(`await import("pg");`)).toBe(1);
    expect(outside(`const s = "select 1 from ghouls.runs";`)).toBe(1);
    expect(outside("const s = `UPDATE\n ghouls.runs set ${x}`;")).toBe(1);
    expect(outside(`const s = 'insert into ghouls.runs values (1)';`)).toBe(1);
    expect(outside(`const s = "delete from ghouls.runs";`)).toBe(1);
  });

  it("takes words that are no statement", () => {
    expect(outside(`import { a } from "pg-protocol"; // select from ghouls.runs`)).toBe(0);
    expect(outside(`const s = "select a workflow"; const f = "ghouls.config.ts";`)).toBe(0);
  });

  it.each([
    ["select 1 from runs", ["runs"]],
    ["select 1 from public.runs r", ["public.runs"]],
    ["select 1 from ghouls.runs r, deliveries d where true", ["deliveries"]],
    ["select 1 from ghouls.runs r left join deliveries d on true", ["deliveries"]],
    ["select 1 from ghouls.runs r cross join lateral (select 1 from journal) j", ["journal"]],
    ["select 1 from ghouls.runs r join ghouls.journal j on f(r.a, j.a), deliveries", ["deliveries"]],
    ["insert into runs (a) select 1", ["runs"]],
    ["insert into ghouls.runs (a, b) select c, d from journal", ["journal"]],
    ["update ghouls.runs set a = 1, b = 2 from runs r where true", ["runs"]],
    ["update runs set a = 1", ["runs"]],
    ["delete from only runs", ["runs"]],
    ["delete from ghouls.runs r using deliveries d where true", ["deliveries"]],
    ["select (select count(*) from runs) from ghouls.runs", ["runs"]],
    ["with a as (select 1 from b) select 1 from a", ["b"]],
    ["with a as (update runs set b = 1 from a returning b) select 1 from a", ["runs"]],
  ])("finds the table without a schema in %s", (text, expected) => {
    expect(tablesWithoutSchema(text)).toEqual(expected);
  });

  it.each([
    "/* from nowhere */ select 'from runs' from ghouls.runs -- from runs",
    "with a as materialized (select 1), b (c, d) as (select 1, 2) select 1 from a, b join a x on true",
    "select 1 from unnest($1::text[], $2::uuid[]) as q(a, b) join generate_series(1, 2) g on true",
    "select extract(epoch from now()), a is distinct from b from ghouls.runs for update of runs",
    "select from ghouls.runs where exists (select from ghouls.deliveries d where d.a = 1)",
    "insert into ghouls.runs as r (a) select 1 on conflict (a) do update set a = 2",
    "select 1 from ghouls.runs for no key update skip locked",
    "select statement_timestamp()",
    "insert into ghouls.runs (a, b) select c, d from ghouls.journal on conflict (a) do update set a = 1, b = 2",
    "select 1 from ghouls.runs join ghouls.journal using (a, b) order by a, b",
  ])("takes %s", (text) => {
    expect(tablesWithoutSchema(text)).toEqual([]);
  });

  it("knows what touches tenants, and what binds a statement to one", () => {
    expect(touchesTenants("select 1 from ghouls.journal")).toBe(true);
    expect(touchesTenants("/* ghouls.runs */ select 1 from ghouls.migrations")).toBe(false);
    expect(namesTenant("select r.tenant_id from ghouls.runs r")).toBe(true);
    expect(namesTenant("/* tenant_id */ select 'tenant_id' from ghouls.runs")).toBe(false);
    expect(boundToTenant("select 1 from ghouls.runs r where r.tenant_id = $1 and true")).toBe(true);
    expect(boundToTenant("select 1 from unnest($1::text[]) as q(tenant_id) join ghouls.runs r on true")).toBe(
      true,
    );
    expect(
      boundToTenant("select 1 from ghouls.runs r join ghouls.journal j on j.tenant_id = r.tenant_id"),
    ).toBe(false);
    expect(boundToTenant("select r.tenant_id from unnest($1::uuid[]) as q(run_id)")).toBe(false);
  });
});
