import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerError, executorOn, type Ledger } from "@ghouls/ledger";
import { STATEMENTS, type Statement } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase, type TestDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { cannotHold } from "../support/servers.ts";
import { APPLICATION } from "../support/template.ts";
import { ADMIT, newRun } from "../support/new-run.ts";
import { blocked, until } from "../support/wait.ts";

const db = await testDatabase();
const statement = (name: string) => STATEMENTS.get(name) as Statement;
const SECRET = "a-secret-of-the-row";

const thrown = async (promise: Promise<unknown>): Promise<LedgerError> => {
  const error = await promise.then(
    (value) => new Error(`nothing was thrown, the answer was ${JSON.stringify(value)}`),
    (refused: unknown) => refused,
  );
  expect(error).toBeInstanceOf(LedgerError);
  return error as LedgerError;
};

/** Whether the application's connections are a pooler's, which outlive those who use them. */
const pooled = inject("way") === "pgbouncer";

/** A setting of the application's role in this database alone; connections made after it have it. */
async function setForApplication(on: TestDatabase, setting: string): Promise<void> {
  await on.admin(`alter role ${APPLICATION.name} in database ${on.name} ${setting}`);
  if (!pooled) return;
  const idle = (await backends(on)).filter(({ state }) => state === "idle");
  await kill(
    on,
    idle.map(({ pid }) => pid),
  );
}

async function backends(on: TestDatabase): Promise<{ pid: number; state: string }[]> {
  return on.admin(
    `select pid, state from pg_stat_activity where datname = current_database() and usename = $1`,
    [APPLICATION.name],
  );
}

async function kill(on: TestDatabase, pids: readonly number[]): Promise<void> {
  await on.admin("select pg_terminate_backend(pid) from unnest($1::integer[]) as pid", [pids]);
  await until("the killed backends gone", async () => {
    const left = await on.admin("select from pg_stat_activity where pid = any($1)", [pids]);
    return left.length === 0;
  });
}

describe("an SQLSTATE that a statement meets", () => {
  let ledger: Ledger;
  beforeAll(async () => {
    await db.admin("create table ghouls.test_fault (code text, times integer)");
    await db.admin("create sequence ghouls.test_tries");
    await db.admin("grant select on ghouls.test_fault to public");
    await db.admin("grant usage on sequence ghouls.test_tries to public");
    // A sequence is not rolled back, so it counts the tries.
    await db.admin(`create function ghouls.test_fault() returns trigger language plpgsql as $$
      declare fault ghouls.test_fault%rowtype;
      begin
        select * into fault from ghouls.test_fault;
        if found and nextval('ghouls.test_tries') <= fault.times then
          raise exception 'by a test: %', new.input_text using errcode = fault.code, detail = new.input_text;
        end if;
        return new;
      end $$`);
    await db.admin(
      "create trigger test_fault before insert on ghouls.runs for each row execute function ghouls.test_fault()",
    );
    ledger = db.ledger({ maxConnections: 1 });
  });
  afterEach(async () => {
    await db.admin("delete from ghouls.test_fault");
  });

  const admitUnder = async (code: string, times: number) => {
    await db.admin("select setval('ghouls.test_tries', 1, false)");
    await db.admin("insert into ghouls.test_fault values ($1, $2)", [code, times]);
    const run = newRun({ inputText: JSON.stringify(SECRET) });
    return { run, admitted: ledger.runs.admit([run], ADMIT) };
  };
  const tries = async () => {
    const [row] = await db.admin<{ tries: number }>(
      "select last_value::integer as tries from ghouls.test_tries",
    );
    return row?.tries;
  };

  test.each(["40001", "40P01", "53300", "57P03", "08006", "57014", "25006"])(
    "%s is met by a second try, which then stands alone",
    async (code) => {
      const { run, admitted } = await admitUnder(code, 1);
      expect([...(await admitted).keys()]).toEqual([run.runId]);
      expect(await tries()).toBe(2);
    },
  );

  test.each([
    ["40001", "retry", "ledger_unavailable", 4],
    ["40P01", "retry", "ledger_unavailable", 4],
    ["53300", "unavailable", "ledger_unavailable", 4],
    ["08006", "unknown", "outcome_unknown", 4],
    ["55P03", "busy", "admission_busy", 1],
    ["23514", "defect", "internal", 1],
    ["42P01", "schema", "schema_outdated", 1],
  ])(
    "%s that stays is typed as %s, after a bounded number of tries, without the row's values",
    async (code, kind, said, times) => {
      const { run, admitted } = await admitUnder(code, 99);
      const error = await thrown(admitted);
      expect(error).toMatchObject({ kind, code: said, sqlState: code, statement: "runs.admit" });
      expect(`${error.message} ${error.fix ?? ""} ${JSON.stringify(error.issues ?? null)}`).not.toContain(
        SECRET,
      );
      expect(await tries()).toBe(times);
      expect(await ledger.runs.get(run)).toBeNull();
    },
  );
});

describe("a backend that is killed", () => {
  test("while it idles in the pool is not noticed by the next call", async () => {
    const ledger = db.ledger({ maxConnections: 2 });
    await Promise.all([ledger.schemaVersion(), ledger.schemaVersion()]);
    const idle = await backends(db);
    expect(idle.length).toBeGreaterThanOrEqual(pooled ? 1 : 2);
    await kill(
      db,
      idle.map(({ pid }) => pid),
    );
    const run = newRun();
    expect([...(await ledger.runs.admit([run], ADMIT)).keys()]).toEqual([run.runId]);
  });

  test("while its statement waits is met by a second try, and the run is admitted once", async () => {
    const ledger = db.ledger({ maxConnections: 2 });
    const run = newRun();
    const holder = await db.client("admin");
    await holder.query("begin");
    await holder.query("lock table ghouls.runs in share mode");
    const admitted = ledger.runs.admit([run], { ...ADMIT, lockTimeoutMs: 20_000 });
    const first = await blocked(db);
    await kill(db, first);
    const second = await blocked(db);
    expect(second).not.toEqual(first);
    await holder.query("commit");
    const created = await admitted;
    expect([...created.keys()]).toEqual([run.runId]);
  });

  test("in the middle of a transaction ends that transaction alone, and the process lives", async () => {
    const ledger = db.ledger({ maxConnections: 1 });
    const run = await makeRun(db);
    const error = await thrown(
      ledger.transaction("a test", async (executor) => {
        await executor.run(statement("runs.raise-attention"), ["acme", run.runId, "by a test"]);
        const open = (await backends(db)).filter(({ state }) => state === "idle in transaction");
        expect(open).toHaveLength(1);
        await kill(
          db,
          open.map(({ pid }) => pid),
        );
      }),
    );
    expect(error).toMatchObject({ kind: "unknown", statement: "a test: commit" });
    expect((await ledger.runs.get(run))?.attention).toBeNull();
  });
});

describe("an admission whose key another transaction holds", () => {
  test("is bounded, answers busy with a time to come again, and leaves the connection's lock_timeout", async () => {
    const ledger = db.ledger({ maxConnections: 1 });
    const first = newRun();
    const run = newRun({ idempotencyKey: first.idempotencyKey });
    // So that nothing but the statement's own bound ends the wait.
    await setForApplication(db, "set idle_in_transaction_session_timeout = 0");
    await setForApplication(db, "set lock_timeout = '4min'");
    await setForApplication(db, "set statement_timeout = 0");
    const patient = await db.client("application");
    await patient.query("begin");
    await ledger.runs.admitIn(executorOn(patient, "ghouls"), [first], ADMIT);
    const error = await thrown(ledger.runs.admit([run], { ...ADMIT, lockTimeoutMs: 50 }));
    expect(error).toMatchObject({
      kind: "busy",
      code: "admission_busy",
      retryAfterSeconds: 2,
      sqlState: "55P03",
    });

    const waiting = ledger.runs.admit([run], ADMIT);
    await blocked(db);
    await patient.query("commit");
    expect([...(await waiting).keys()]).toEqual([]);
    expect(await ledger.runs.get(run)).toBeNull();
    expect(await ledger.runs.get(first)).not.toBeNull();
    const after = await ledger.transaction("a test", (executor) =>
      executor.run(statement("caller.state"), []),
    );
    expect(after).toMatchObject([{ lock_timeout: "4min" }]);
    await setForApplication(db, "reset all");
  });

  test("whose other transaction rolls back is admitted", async () => {
    const ledger = db.ledger({ maxConnections: 1 });
    const other = await db.client("application");
    const first = newRun();
    const run = newRun({ idempotencyKey: first.idempotencyKey });
    await other.query("begin");
    await ledger.runs.admitIn(executorOn(other, "ghouls"), [first], ADMIT);
    const waiting = ledger.runs.admit([run], ADMIT);
    await blocked(db);
    await other.query("rollback");
    expect([...(await waiting).keys()]).toEqual([run.runId]);
  });
});

describe("a database that", () => {
  let own: TestDatabase;
  beforeAll(async () => {
    own = await testDatabase();
  });
  afterAll(async () => {
    await setForApplication(own, "reset all");
  });
  afterEach(async () => {
    await own.admin(`alter database ${own.name} connection limit -1`);
    await setForApplication(own, "reset all");
  });

  test("is read-only, as after a failover, is out of reach for writes, and answers reads", async () => {
    await setForApplication(own, "set default_transaction_read_only = on");
    const ledger = own.ledger({ maxConnections: 1 });
    const run = newRun();
    const error = await thrown(ledger.runs.admit([run], ADMIT));
    expect(error).toMatchObject({ kind: "unavailable", code: "ledger_unavailable", sqlState: "25006" });
    expect(await ledger.runs.get(run)).toBeNull();
  });

  test("ends a statement that takes too long is out of reach", async () => {
    await setForApplication(own, "set statement_timeout = '100ms'");
    const ledger = own.ledger({ maxConnections: 1 });
    const holder = await own.client("admin");
    await holder.query("begin");
    await holder.query("lock table ghouls.runs in share mode");
    const error = await thrown(ledger.runs.admit([newRun()], { ...ADMIT, lockTimeoutMs: 20_000 }));
    await holder.query("rollback");
    expect(error).toMatchObject({ kind: "unavailable", sqlState: "57014", retryAfterSeconds: 2 });
  });

  const none = cannotHold({ pgbouncer: "the pooler's clients share what connections the server has" });
  test.skipIf(none)("has no connection left is out of reach, and is back when one is free", async () => {
    const taken = await own.client("application");
    await own.admin(`alter database ${own.name} connection limit 1`);
    const ledger = own.ledger({ maxConnections: 1, connectPatienceMs: 2_000 });
    const error = await thrown(ledger.runs.get({ tenantId: "acme", runId: randomUUID() }));
    expect(error).toMatchObject({ kind: "unavailable", code: "ledger_unavailable", sqlState: "53300" });
    expect(error.fix).toContain("DATABASE_URL");
    await own.admin(`alter database ${own.name} connection limit -1`);
    expect((await taken.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  });

  test.each([
    ["schema", { schema: "absent" }],
    ["column", {}],
  ])("has no such %s says that the schema is outdated, and how to mend it", async (what, options) => {
    if (what === "column") await own.admin("alter table ghouls.runs rename column agent to was_agent");
    const ledger = own.ledger({ maxConnections: 1, ...options });
    const error = await thrown(ledger.runs.get({ tenantId: "acme", runId: randomUUID() }));
    expect(error).toMatchObject({ kind: "schema", code: "schema_outdated" });
    expect(error.fix).toContain("ghouls migrate");
    expect(error.retryAfterSeconds).toBeUndefined();
  });
});

test("an error of the driver's own, before anything was sent, is typed too", async () => {
  const ledger = db.ledger({ connectionString: "postgres://a:b@127.0.0.1:1/none", connectPatienceMs: 300 });
  const error = await thrown(ledger.schemaVersion());
  expect(error).toMatchObject({ kind: "unavailable", code: "ledger_unavailable", retryAfterSeconds: 2 });
  expect(`${error.message} ${error.fix}`).not.toContain("a:b");
});
