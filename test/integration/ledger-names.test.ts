import { describe, expect, inject, test } from "vitest";
import { migrate, type DatabaseOptions, type Ledger } from "@ghouls/ledger";
import { Database } from "../../packages/ledger/src/connection/database.ts";
import type { Statement } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { ADMIT, newRun } from "../support/new-run.ts";
import { cannotHold } from "../support/servers.ts";
import { APPLICATION, MIGRATOR } from "../support/template.ts";
import { wholeLife } from "../support/whole-life.ts";

/** Names of prepared statements: they must never bring one's values to another's text, and a pooler may not keep them. */

const db = await testDatabase();
const named = (options: Partial<DatabaseOptions> = {}) => db.ledger({ preparedStatements: true, ...options });

/** The names on the connection that a transaction gets. */
async function namesOn(ledger: Ledger): Promise<string[]> {
  const count: Statement = {
    name: "test.prepared",
    text: "select coalesce(array_agg(name order by name), '{}') as names from pg_prepared_statements",
    writes: false,
  };
  const rows = await ledger.transaction("a test", (executor) => executor.run(count, []));
  const names = (rows[0]?.["names"] ?? []) as string[];
  return names.filter((name) => !name.startsWith("test."));
}

const shared = cannotHold({
  pgbouncer: "its clients find on a server's connection what others have left there",
});

describe.skipIf(shared)("the name of a prepared statement", () => {
  test("carries a digest of its text: two schemas have two names", async () => {
    await db.admin(`create schema tavern authorization ${MIGRATOR.name}`);
    await migrate({
      connectionString: db.migratorUrl,
      schema: "tavern",
      applicationRole: APPLICATION.name,
    });
    const names = await Promise.all(
      ["ghouls", "tavern"].map(async (schema) => {
        const ledger = named({ schema, maxConnections: 1 });
        await ledger.schemaVersion();
        return namesOn(ledger);
      }),
    );
    expect(names.flat()).toEqual([
      expect.stringMatching(/^doctor\.schema-version:[0-9a-f]{12}$/),
      expect.stringMatching(/^doctor\.schema-version:[0-9a-f]{12}$/),
    ]);
    expect(names[0]).not.toEqual(names[1]);
  });

  test("is used by default with the driver pg, and not with neon, whose pooler lies between", async () => {
    const ledger = db.ledger({ maxConnections: 1 });
    await ledger.schemaVersion();
    expect(await namesOn(ledger)).toHaveLength(inject("way") === "neon" ? 0 : 1);
  });

  test("that the server's connection has from somebody else is given up: the statement is repeated without", async () => {
    const ledger = named({ maxConnections: 1 });
    await ledger.schemaVersion();
    const [name] = await namesOn(ledger);
    const other = named({ maxConnections: 1 });
    const taken: Statement = { name: "test.take", text: `prepare "${name}" as select 1`, writes: false };
    // A PREPARE of SQL's own, as another client of a pooler leaves it.
    await other.transaction("a test", (executor) => executor.run(taken, []));
    expect((await other.schemaVersion()).applied).toBeGreaterThan(0);
    await other.runs.admit([newRun()], ADMIT);
    expect(await namesOn(other)).toEqual([name]);
  });

  test("that the server's connection has lost is given up too: 26000, and the write is carried out once", async () => {
    const ledger = named({ maxConnections: 1 });
    const first = newRun();
    await ledger.runs.admit([first], ADMIT);
    const forget: Statement = { name: "test.forget", text: "deallocate all", writes: false };
    await ledger.transaction("a test", (executor) => executor.run(forget, []));
    const run = newRun();
    expect([...(await ledger.runs.admit([run], ADMIT)).keys()]).toEqual([run.runId]);
    expect(await namesOn(ledger)).toEqual([]);
  });

  test("that is lost inside of a transaction fails it as one to try again, with nothing written", async () => {
    const ledger = named({ maxConnections: 1 });
    const text = "select ghouls.clock()";
    const clock: Statement = { name: "test.clock", text, writes: true };
    await ledger.transaction("a test", (executor) => executor.run(clock, []));
    const forget: Statement = { name: "test.forget", text: "deallocate all", writes: false };
    await ledger.transaction("a test", (executor) => executor.run(forget, []));
    const inside = () => ledger.transaction("a test", (executor) => executor.run(clock, []));
    await expect(inside()).rejects.toMatchObject({
      kind: "retry",
      sqlState: "26000",
      code: "ledger_unavailable",
    });
    expect(await inside()).toHaveLength(1);
  });
});

describe.skipIf(shared)("a named statement whose result a migration gives another type", () => {
  /** A database with six connections that all have the statement's plan from before the migration. */
  async function migratedUnder(table: string) {
    await db.admin(`create table ghouls.${table} as select 0 as n`);
    await db.admin(`grant select, update on ghouls.${table} to ${APPLICATION.name}`);
    const connections = 6;
    const database = new Database({
      connectionString: db.applicationUrl,
      maxConnections: connections,
      chance: () => 0,
    });
    const text = `update ghouls.${table} set n = n + 1 returning n`;
    const count: Statement = { name: `test.${table}`, text, writes: true };
    const all = Promise.withResolvers<void>();
    let open = 0;
    await Promise.all(
      Array.from({ length: connections }, () =>
        database.transaction("a test", async (executor) => {
          if ((open += 1) === connections) all.resolve();
          await all.promise;
          await executor.run(count, []);
        }),
      ),
    );
    await db.admin(`alter table ghouls.${table} alter column n type bigint`);
    return { database, count };
  }

  test("is carried out once, though every connection has its plan from before", async () => {
    const { database, count } = await migratedUnder("probed");
    for (const n of ["7", "8", "9"]) expect(await database.run(count, [])).toEqual([{ n }]);
    await database.close();
  });

  test("fails a transaction as one to try again, on a connection that is thrown away", async () => {
    const { database, count } = await migratedUnder("probed_inside");
    const inside = () => database.transaction("a test", (executor) => executor.run(count, []));
    for (let nth = 0; nth < 6; nth += 1)
      await expect(inside()).rejects.toMatchObject({ kind: "retry", sqlState: "0A000" });
    expect(await inside()).toEqual([{ n: "7" }]);
    await database.close();
  });
});

test("named statements of many callers at once are all carried out, whatever lies between", async () => {
  const ledgers = Array.from({ length: 4 }, () => named({ maxConnections: 4 }));
  const runs = Array.from({ length: 80 }, () => newRun());
  const created = await Promise.all(
    runs.map((run, index) => (ledgers[index % 4] as Ledger).runs.admit([run], ADMIT)),
  );
  expect(created.flatMap((one) => [...one.keys()])).toEqual(runs.map((run) => run.runId));
  const known = await Promise.all(
    runs.map((run, index) => (ledgers[(index + 1) % 4] as Ledger).runs.get(run)),
  );
  expect(known.every((run) => run?.status === "QUEUED")).toBe(true);
});

test("a pooler that keeps no names is found out at the first one, and none is sent after it", async () => {
  const first = async () => {
    const sent: string[] = [];
    const ledger = named({ maxConnections: 1, faults: (_point, detail) => void sent.push(detail) });
    await ledger.schemaVersion();
    return { ledger, sent };
  };
  let { ledger, sent } = await first();
  // Behind the pooler a connection of the server has the name already, from one of those before: it gives one of a few.
  const tries = inject("way") === "pgbouncer" ? 2 : 1;
  for (let others = 0; sent.length < tries + 1 && others < 100; others += 1)
    ({ ledger, sent } = await first());
  // Before each try, and after the one that was answered.
  expect(sent).toHaveLength(tries + 1);
  expect((await ledger.runs.get(await wholeLife(ledger, "key-1")))?.status).toBe("DONE");
  sent.length = 0;
  await ledger.doctor();
  expect(new Set(sent).size * 2).toBe(sent.length);
});

test("a setting of one statement does not leak to the next user of the connection", async () => {
  const ledger = db.ledger({ maxConnections: 1 });
  const state: Statement = {
    name: "test.state",
    text: "select current_setting('lock_timeout') as lock_timeout, current_setting('search_path') as search_path",
    writes: false,
  };
  const read = async () => (await ledger.transaction("a test", (executor) => executor.run(state, [])))[0];
  const before = await read();
  await ledger.runs.admit([newRun()], { ...ADMIT, lockTimeoutMs: 1_234 });
  expect(await read()).toEqual(before);
  expect(before?.["lock_timeout"]).toBe("5s");
});
