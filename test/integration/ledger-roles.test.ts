import { randomUUID } from "node:crypto";
import { describe, expect, inject, test } from "vitest";
import pg from "pg";
import { createRoles, migrate, openLedger, rolesSql } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { emptyDatabase } from "../support/empty-database.ts";
import { makeJournal, makeRun } from "../support/factories.ts";
import { APPLICATION, MIGRATOR } from "../support/template.ts";
import { CLAIM } from "../support/new-run.ts";
import { blocked, until } from "../support/wait.ts";
import { admitDue, wholeLife } from "../support/whole-life.ts";

const db = await testDatabase();
const application = await db.client("application");

describe("the application's role", () => {
  test("owns nothing, is a member of nothing, and has no attribute that would give it more", async () => {
    const owned = await db.admin(
      `select classid::regclass, objid from pg_shdepend
       where refobjid = $1::text::regrole and deptype = 'o'`,
      [APPLICATION.name],
    );
    expect(owned).toEqual([]);
    const [role] = await db.admin(
      `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls,
         (select count(*)::integer from pg_auth_members where member = pg_roles.oid) as memberships
       from pg_roles where rolname = $1`,
      [APPLICATION.name],
    );
    expect(role).toEqual({
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
      memberships: 0,
    });
  });

  test.each([
    ["create a table", "create table ghouls.mine (x text)"],
    ["create a function", "create function ghouls.mine() returns text language sql as 'select 1::text'"],
    ["create a schema", "create schema mine"],
    [
      "replace the clock",
      "create or replace function ghouls.clock() returns timestamptz language sql as 'select now()'",
    ],
    ["replace the guard of terminal runs", "alter function ghouls.keep_terminal_run() rename to mine"],
    ["drop the guard of terminal runs", "drop trigger keep_terminal_run on ghouls.runs"],
    ["switch the guard of terminal runs off", "alter table ghouls.runs disable trigger all"],
    ["switch all triggers off", "set session_replication_role = replica"],
    ["alter a table", "alter table ghouls.runs add column x text"],
    ["index a table", "create index mine on ghouls.runs (queue)"],
    ["drop a table", "drop table ghouls.journal"],
    ["drop the schema", "drop schema ghouls cascade"],
    ["empty a table", "truncate ghouls.journal"],
    ["delete a run", "delete from ghouls.runs"],
    ["delete a delivery", "delete from ghouls.deliveries"],
    ["delete an entry", "delete from ghouls.journal"],
    ["delete a workflow", "delete from ghouls.workflows"],
    ["rewrite an entry", "update ghouls.journal set result_text = '2'"],
    ["lock an entry", "select from ghouls.journal for update"],
    ["say that a migration was applied", "insert into ghouls.migrations (number, name) values (9, 'x')"],
    ["rewrite a migration", "update ghouls.migrations set name = 'x'"],
    ["forget a migration", "delete from ghouls.migrations"],
    [
      "make itself a key",
      "insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at) values ('acme', 'x', repeat('0', 64), 's', '{admin}', '{}', 'x', now())",
    ],
    ["give a key more", "update ghouls.api_keys set roles = '{admin}'"],
    ["put its own secret into a key", "update ghouls.api_keys set digest = repeat('0', 64)"],
    ["let a revoked key live again", "update ghouls.api_keys set revoked_at = null"],
    ["let an expired key live longer", "update ghouls.api_keys set expires_at = null"],
    ["forget a key", "delete from ghouls.api_keys"],
    [
      "give itself a capability",
      "insert into ghouls.grants (tenant_id, grant_id, name, holder, created_by, created_at) values ('acme', 'x', 'n', 'role:admin', 'x', now())",
    ],
    ["give a grant to somebody else", "update ghouls.grants set holder = 'user:eve'"],
    ["let a revoked grant live again", "update ghouls.grants set revoked_at = null"],
    ["forget a grant", "delete from ghouls.grants"],
    ["rewrite an audited word", "update ghouls.audit set actor = 'user:eve'"],
    ["forget an audited word", "delete from ghouls.audit"],
    ["rewrite a decision", "update ghouls.consent_decisions set verdict = 'grant'"],
    ["forget a decision", "delete from ghouls.consent_decisions"],
    ["rewrite evidence", "update ghouls.evidence set body_text = '2'"],
    ["forget evidence", "delete from ghouls.evidence"],
    ["rewrite a terminal record", "update ghouls.terminal_records set record_text = '{}'"],
    ["forget a terminal record", "delete from ghouls.terminal_records"],
    ["rewrite a seal", "update ghouls.seals set members_text = ''"],
    ["forget a seal", "delete from ghouls.seals"],
    ["rewrite a label", "update ghouls.labels set value = 'x'"],
    ["forget what was skipped", "delete from ghouls.skips"],
    ["become the migrator", `set role ${MIGRATOR.name}`],
    ["read passwords", "select rolpassword from pg_authid"],
  ])("cannot %s", async (_what, statement) => {
    await makeJournal(db, await makeRun(db, { status: "RUNNING" }), ["a"]);
    await application.query("begin");
    const refused = await application.query(statement).catch((error: unknown) => error);
    await application.query("rollback");
    expect(refused).toMatchObject({ code: "42501" });
  });

  test("cannot give rights away: its GRANT succeeds with a warning, and grants nothing", async () => {
    const granted = () => db.admin("select relacl::text from pg_class where oid = 'ghouls.runs'::regclass");
    const before = await granted();
    await application.query("grant select on ghouls.runs to public");
    expect(await granted()).toEqual(before);
  });

  test("has its time limits from the role, so that a pooler cannot drop them", async () => {
    const { rows } = await application.query(
      `select name, setting, source from pg_settings
       where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name`,
    );
    expect(rows).toEqual([
      { name: "idle_in_transaction_session_timeout", setting: "2000", source: "user" },
      { name: "lock_timeout", setting: "5000", source: "user" },
      { name: "statement_timeout", setting: "15000", source: "user" },
    ]);
  });

  test("frozen in a transaction that holds a run lets another through after two seconds", async () => {
    const run = await makeRun(db);
    const frozen = await db.client("application");
    const ended = new Promise<unknown>((resolve) => frozen.once("error", resolve));
    await frozen.query("begin");
    await frozen.query("select from ghouls.runs where run_id = $1 for update", [run.runId]);
    const claim = db
      .ledger()
      .deliveries.claimIfDue([{ runId: run.runId, enqueueSeq: 1, token: randomUUID() }], CLAIM);
    await blocked(db);
    expect(await claim).toHaveLength(1);
    expect(await ended).toMatchObject({ code: "25P03" });
  });
});

describe("createRoles", () => {
  const url = (database: string, user = "postgres", password = inject("postgres").adminPassword) =>
    `postgres://${user}:${password}@${inject("postgres").host}:${inject("postgres").port}/${database}`;
  const roles = {
    schema: "lair",
    migrator: { name: `lair_migrator_${process.pid}`, password: 'it\'s \\ a "secret"' },
    application: { name: `lair_app_${process.pid}`, password: "'; drop role postgres; --" },
  };

  test("makes both roles with passwords of any characters, twice, and migrate then needs no superuser", async () => {
    const empty = await emptyDatabase(null);
    await createRoles(url(empty.name), roles);
    await createRoles(url(empty.name), roles);
    const as = ({ name, password }: { name: string; password: string }) =>
      url(empty.name, name, encodeURIComponent(password));
    const { name: applicationRole } = roles.application;
    await migrate({ connectionString: as(roles.migrator), schema: "lair", applicationRole });
    const ledger = openLedger({ connectionString: as(roles.application), schema: "lair" });
    const version = await ledger.schemaVersion();
    await ledger.close();
    expect(version.applied).toBe(version.known);
    const settings = await empty.admin(
      "select unnest(setconfig) as setting from pg_db_role_setting where setrole = $1::text::regrole order by 1",
      [applicationRole],
    );
    expect(settings.map((row) => row["setting"])).toEqual([
      "idle_in_transaction_session_timeout=2s",
      "lock_timeout=5s",
      "statement_timeout=15s",
    ]);
    for (const { name } of [roles.application, roles.migrator]) {
      await empty.admin(`drop owned by ${name}`);
      await empty.admin(`drop role ${name}`);
    }
  });

  test("needs no superuser: CREATEROLE and the database are enough, as on RDS", async () => {
    const empty = await emptyDatabase(null);
    const admin = { name: `lair_admin_${process.pid}`, password: "x" };
    await empty.admin(`create role ${admin.name} login createrole password 'x'`);
    await empty.admin(`alter database ${empty.name} owner to ${admin.name}`);
    const own = {
      schema: "lair",
      migrator: { name: `lair_other_migrator_${process.pid}`, password: "m" },
      application: { name: `lair_other_app_${process.pid}`, password: "a" },
    };
    for (let time = 0; time < 2; time += 1) await createRoles(url(empty.name, admin.name, "x"), own);
    const { applied } = await migrate({
      connectionString: url(empty.name, own.migrator.name, "m"),
      schema: "lair",
      applicationRole: own.application.name,
    });
    expect(applied).not.toEqual([]);
  });

  test("takes from a role that was there what the application must not have", async () => {
    const empty = await emptyDatabase(null);
    const names = {
      migrator: `lair_was_migrator_${process.pid}`,
      application: `lair_was_app_${process.pid}`,
    };
    await empty.admin(`create role ${names.application} superuser createdb createrole`);
    await createRoles(url(empty.name), {
      schema: "lair",
      migrator: { name: names.migrator, password: "m" },
      application: { name: names.application, password: "a" },
    });
    const left = await empty.admin(
      "select rolcanlogin, rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = $1",
      [names.application],
    );
    expect(left).toEqual([{ rolcanlogin: true, rolsuper: false, rolcreatedb: false, rolcreaterole: false }]);
  });

  test.each(["schema", "migrator", "application"] as const)(
    "refuses a name of the %s that needs quotes",
    (what) => {
      const bad = 'x" superuser; --';
      const options =
        what === "schema" ? { ...roles, schema: bad } : { ...roles, [what]: { name: bad, password: "x" } };
      expect(() => rolesSql(options, "a")).toThrow(TypeError);
    },
  );
});

describe("a hostile search_path of the application's role", () => {
  test("changes nothing: no statement relies on it", async () => {
    const hostile = await testDatabase();
    await hostile.admin("create schema evil");
    for (const table of ["runs", "deliveries", "journal", "workflows", "migrations"]) {
      await hostile.admin(`create table evil.${table} (like ghouls.${table} including all)`);
    }
    await hostile.admin(
      `create function evil.clock() returns timestamptz language sql as 'select ''epoch''::timestamptz'`,
    );
    await hostile.admin(
      "create function evil.keep_terminal_run() returns trigger language plpgsql as 'begin return null; end'",
    );
    await hostile.admin("grant usage on schema evil to public");
    await hostile.admin("grant all on all tables in schema evil to public");
    await hostile.admin(`alter role ${APPLICATION.name} in database ${hostile.name} set search_path = evil`);
    const client = await hostile.client("application");
    expect((await client.query("show search_path")).rows).toEqual([{ search_path: "evil" }]);

    const ledger = hostile.ledger();
    const run = await wholeLife(ledger, "key-1");
    expect(await ledger.runs.get(run)).toMatchObject({ status: "DONE", outputText: "1" });
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
    expect((await ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
    // The trigger's function runs under the application's search_path too.
    const late = client.query("update ghouls.runs set journal_length = 9 where run_id = $1", [run.runId]);
    await expect(late).rejects.toMatchObject({ code: "GH001" });
    for (const table of ["runs", "deliveries", "journal", "workflows"]) {
      expect(await hostile.admin(`select from evil.${table}`)).toEqual([]);
    }
  });
});

describe("two schemas in one database", () => {
  test("do not see each other: admit, list, relay, claim, journal and settle under the same keys", async () => {
    const both = await testDatabase();
    await both.admin(`create schema tavern authorization ${MIGRATOR.name}`);
    await migrate({
      connectionString: both.migratorUrl,
      schema: "tavern",
      applicationRole: APPLICATION.name,
    });

    const ledgers = { ghouls: both.ledger(), tavern: both.ledger({ schema: "tavern" }) };
    const done = await wholeLife(ledgers.ghouls, "key-1");
    const waiting = await admitDue(ledgers.tavern, "key-1", { runId: done.runId });
    const key = [{ tenantId: "acme", idempotencyKey: "key-1" }];
    expect((await ledgers.ghouls.runs.byKey(key)).map((run) => run.status)).toEqual(["DONE"]);
    expect((await ledgers.tavern.runs.byKey(key)).map((run) => run.status)).toEqual(["QUEUED"]);
    expect(await ledgers.tavern.journal.read(waiting)).toEqual([]);
    expect((await ledgers.ghouls.deliveries.duePublications({ limit: 10 })).found).toEqual([]);
    expect((await ledgers.tavern.deliveries.duePublications({ limit: 10 })).found).toHaveLength(1);
    for (const [ledger, status] of [
      [ledgers.ghouls, "DONE"],
      [ledgers.tavern, "QUEUED"],
    ] as const) {
      const { runs } = await ledger.runs.page("acme", {}, { limit: 10 });
      expect(runs.map((run) => run.status)).toEqual([status]);
    }
    // The same run id in both: only the one that waits is claimed.
    const request = { runId: done.runId, enqueueSeq: 1, token: randomUUID() };
    expect(await ledgers.ghouls.deliveries.claimIfDue([request], CLAIM)).toEqual([]);
    expect(await ledgers.tavern.deliveries.claimIfDue([request], CLAIM)).toHaveLength(1);
    expect((await ledgers.ghouls.runs.get(done))?.status).toBe("DONE");
  });

  test("have a migrator each at once: they do not wait for one another", async () => {
    const empty = await emptyDatabase("ghouls");
    await empty.admin(`create schema tavern authorization ${MIGRATOR.name}`);
    const holder = new pg.Client({ connectionString: empty.adminUrl });
    holder.on("error", () => undefined);
    await holder.connect();
    await holder.query("select pg_advisory_lock(hashtextextended('ghouls-migrate:ghouls', 0))");
    const options = { connectionString: empty.migratorUrl, applicationRole: APPLICATION.name };
    const held = migrate(options);
    await until("the held migrator", async () => {
      const waiting = await empty.admin(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
      );
      return waiting.length === 1;
    });
    expect((await migrate({ ...options, schema: "tavern" })).applied).not.toEqual([]);
    await holder.end();
    expect((await held).applied).not.toEqual([]);
  });
});
