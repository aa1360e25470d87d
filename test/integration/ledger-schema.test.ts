import { describe, expect, test } from "vitest";
import { GhoulsError } from "@ghouls/core";
import { migrate, migrationSql } from "@ghouls/ledger";
import { MIGRATIONS } from "../../packages/ledger/src/schema/migrations/index.ts";
import { testDatabase } from "../support/database.ts";
import { emptyDatabase, type EmptyDatabase } from "../support/empty-database.ts";
import { APPLICATION, MIGRATOR } from "../support/template.ts";
import { dumpSchema } from "../support/schema-dump.ts";
import { until } from "../support/wait.ts";

const db = await testDatabase();
const roles = { migrator: MIGRATOR.name, application: APPLICATION.name };
const dumpOf = (on: Pick<EmptyDatabase, "admin">, schema = "ghouls") => dumpSchema(on.admin, schema, roles);
const migrated = await dumpOf(db);
const ALL = MIGRATIONS.map(({ number, name }) => ({ number, name }));
const migrateOn = (on: EmptyDatabase, options: { schema?: string; applicationRole?: string } = {}) =>
  migrate({ connectionString: on.migratorUrl, applicationRole: APPLICATION.name, ...options });

async function objectsOf(on: EmptyDatabase): Promise<string[]> {
  const found = await on.admin<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'ghouls'::regnamespace
     union all select proname from pg_proc where pronamespace = 'ghouls'::regnamespace order by 1`,
  );
  return found.map((row) => row.name);
}

describe("the dumped schema", () => {
  test("is the committed one, so that a migration shows as a diff", async () => {
    await expect(migrated).toMatchFileSnapshot("../../packages/ledger/schema.sql");
  });

  test("names no role of a deployment", () => {
    expect(migrated).not.toMatch(/test_|postgres/);
    expect(migrated).toContain("to application;");
  });

  test("changes with a column, an index, a check, a function's body, a trigger and a grant", async () => {
    const copy = await testDatabase();
    let before = await dumpOf(copy);
    expect(before).toBe(migrated);
    for (const change of [
      "alter table ghouls.runs add column x text",
      "create index x on ghouls.journal (name)",
      "alter table ghouls.journal add constraint y check (nth > 0)",
      "create or replace function ghouls.clock() returns timestamptz language sql stable as 'select now()'",
      "drop trigger keep_terminal_run on ghouls.runs",
      "comment on column ghouls.runs.x is 'x'",
      `grant delete on ghouls.runs to ${APPLICATION.name}`,
      "revoke execute on function ghouls.clock() from public",
    ]) {
      await copy.admin(change);
      const after = await dumpOf(copy);
      expect(after, change).not.toBe(before);
      before = after;
    }
  });
});

describe("the printed script", () => {
  test("run by the migrator, who may not create schemas, gives the same schema as migrate", async () => {
    const empty = await emptyDatabase();
    await empty.migrator(migrationSql({ applicationRole: APPLICATION.name }));
    expect(await dumpOf(empty)).toBe(migrated);
    expect((await migrateOn(empty)).applied).toEqual([]);
  });

  test("makes a schema that is absent, under another name too", async () => {
    const empty = await emptyDatabase(null);
    await empty.admin(`grant create on database ${empty.name} to ${MIGRATOR.name}`);
    await empty.migrator(migrationSql({ schema: "tavern", applicationRole: APPLICATION.name }));
    expect(await dumpOf(empty, "tavern")).toBe(migrated);
  });

  test("that fails half way leaves nothing", async () => {
    const empty = await emptyDatabase();
    const script = migrationSql({ applicationRole: "nobody_of_this_name" });
    await expect(empty.migrator(script)).rejects.toMatchObject({ code: "42704" });
    await empty.migrator("rollback");
    expect(await objectsOf(empty)).toEqual([]);
  });
});

describe("migrate", () => {
  test("applies every step once, and nothing the second time", async () => {
    const empty = await emptyDatabase();
    expect(await migrateOn(empty)).toEqual({ applied: ALL, version: ALL.at(-1)?.number });
    const first = await empty.admin("select * from ghouls.migrations");
    expect(await migrateOn(empty)).toEqual({ applied: [], version: ALL.at(-1)?.number });
    expect(await empty.admin("select * from ghouls.migrations")).toEqual(first);
    expect(await dumpOf(empty)).toBe(migrated);
  });

  test("makes a schema that is absent", async () => {
    const empty = await emptyDatabase(null);
    await empty.admin(`grant create on database ${empty.name} to ${MIGRATOR.name}`);
    await migrateOn(empty, { schema: "tavern" });
    expect(await dumpOf(empty, "tavern")).toBe(migrated);
  });

  test("gives a role that is new its rights without a migration", async () => {
    const empty = await emptyDatabase();
    await migrateOn(empty);
    await empty.admin(`revoke all on all tables in schema ghouls from ${APPLICATION.name}`);
    expect(await dumpOf(empty)).not.toBe(migrated);
    await migrateOn(empty);
    expect(await dumpOf(empty)).toBe(migrated);
  });

  test("twice at once applies each step once: the second waits and finds nothing to do", async () => {
    const empty = await emptyDatabase();
    const key = "hashtextextended('ghouls-migrate:ghouls', 0)";
    await empty.admin(`select pg_advisory_lock(${key})`);
    const both = Promise.all([migrateOn(empty), migrateOn(empty)]);
    await until("two migrators before the advisory lock", async () => {
      const waiting = await empty.admin(
        `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
      );
      return waiting.length === 2;
    });
    await empty.admin(`select pg_advisory_unlock(${key})`);
    const applied = (await both).map((result) => result.applied);
    expect(applied.toSorted((a, b) => b.length - a.length)).toEqual([ALL, []]);
  });

  test("of a schema that is newer than this code is refused, and changes nothing", async () => {
    const empty = await emptyDatabase();
    await migrateOn(empty);
    await empty.admin("insert into ghouls.migrations (number, name) values (9999, 'later')");
    await empty.admin(`revoke all on ghouls.runs from ${APPLICATION.name}`);
    const before = await dumpOf(empty);
    const refused = await migrateOn(empty).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(GhoulsError);
    expect(refused).toMatchObject({
      code: "configuration_invalid",
      message: `the schema is at migration 9999, this code knows ${ALL.at(-1)?.number}`,
      fix: "Run the newer version of ghouls.",
    });
    expect(await dumpOf(empty)).toBe(before);
  });

  test.each([
    ["into the migrator's schema", "ghouls"],
    ["into a schema that it would have to create", null],
  ])("as the application's role %s says whose connection string it wants", async (_where, schema) => {
    const empty = await emptyDatabase(schema);
    const refused = await migrate({
      connectionString: empty.applicationUrl,
      applicationRole: APPLICATION.name,
    }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "configuration_invalid",
      message: "this role may not change the schema",
      fix: expect.stringContaining("migrator's connection string"),
      cause: { code: "42501" },
    });
  });

  test("for an application's role that is absent says how to make it, and leaves nothing", async () => {
    const empty = await emptyDatabase();
    const refused = await migrateOn(empty, { applicationRole: "nobody_of_this_name" }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      code: "configuration_invalid",
      message: `the application's role "nobody_of_this_name" does not exist`,
      fix: expect.stringContaining("create role nobody_of_this_name login"),
    });
    expect(await objectsOf(empty)).toEqual([]);
  });

  test("that meets a table of somebody else's fails with the server's own error, and leaves nothing", async () => {
    const empty = await emptyDatabase();
    await empty.migrator("create table ghouls.journal (theirs text)");
    await expect(migrateOn(empty)).rejects.toMatchObject({ code: "42P07" });
    expect(await objectsOf(empty)).toEqual(["journal"]);
  });

  test.each(["Ghouls", "x; drop schema ghouls", "1x", "", "a".repeat(41), 'a"b'])(
    "refuses %j as the name of a schema or of a role before it connects",
    async (name) => {
      const nowhere = { connectionString: "postgres://127.0.0.1:1/none" };
      await expect(migrate({ ...nowhere, schema: name })).rejects.toThrow(TypeError);
      await expect(migrate({ ...nowhere, applicationRole: name })).rejects.toThrow(TypeError);
      expect(() => migrationSql({ schema: name })).toThrow(TypeError);
    },
  );
});
