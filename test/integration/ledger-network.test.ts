import { afterEach, describe, expect, test } from "vitest";
import { LedgerError, type DatabaseOptions, type Executor, type Ledger } from "@ghouls/ledger";
import { STATEMENTS, type Statement } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { cannotHold } from "../support/servers.ts";
import { APPLICATION } from "../support/template.ts";
import { ADMIT, newRun } from "../support/new-run.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { blocked, until } from "../support/wait.ts";

const db = await testDatabase();
const proxy = await tcpProxy(db.address);
// Here transactions stay open for as long as a test looks at others.
await db.admin(
  `alter role ${APPLICATION.name} in database ${db.name} set idle_in_transaction_session_timeout = 0`,
);
const statement = (name: string) => STATEMENTS.get(name) as Statement;

function open(options: Partial<DatabaseOptions> = {}): Ledger {
  return db.ledger({
    connectionString: proxy.through(db.applicationUrl),
    maxConnections: 1,
    connectTimeoutMs: 2_000,
    answerTimeoutMs: 2_000,
    chance: () => 0,
    ...options,
  });
}

afterEach(() => {
  proxy.restore();
});

const thrown = async (promise: Promise<unknown>): Promise<unknown> => {
  const error = await promise.then(
    () => "nothing was thrown",
    (refused: unknown) => refused,
  );
  expect(error).toBeInstanceOf(LedgerError);
  return error;
};

const OUT_OF_REACH = {
  kind: "unavailable",
  code: "ledger_unavailable",
  retryAfterSeconds: 2,
  fix: expect.stringContaining("DATABASE_URL"),
};

describe("a server that", () => {
  test("refuses connections is out of reach for reads and writes alike, and is found again", async () => {
    // Neon's driver is loaded by the first call of a process, for which so short a patience does not allow.
    await open().schemaVersion();
    const ledger = open({ connectPatienceMs: 1_500 });
    const run = newRun();
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
    proxy.refuse();
    expect(await thrown(ledger.schemaVersion())).toMatchObject(OUT_OF_REACH);
    // Nothing was sent, so nothing is unknown.
    expect(await thrown(ledger.runs.admit([run], ADMIT))).toMatchObject(OUT_OF_REACH);
    expect(await thrown(ledger.transaction("a test", async () => 1))).toMatchObject(OUT_OF_REACH);
    proxy.restore();
    expect([...(await ledger.runs.admit([run], ADMIT)).keys()]).toEqual([run.runId]);
  });

  test("takes connections in and says nothing does not hold a caller for ever", async () => {
    const ledger = open({ connectTimeoutMs: 500, connectPatienceMs: 1_500 });
    proxy.silence();
    expect(await thrown(ledger.schemaVersion())).toMatchObject(OUT_OF_REACH);
    proxy.restore();
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  });

  test.each(["runs.admit", "runs.by-key"])(
    "goes silent in the middle of %s does not hold it for ever: it is sent again on another connection",
    async (name) => {
      const ledger = open({ answerTimeoutMs: 500 });
      const run = newRun();
      const before = proxy.accepted;
      const swallowed = proxy.blackHoleOnce(name);
      expect([...(await ledger.runs.admit([run], ADMIT)).keys()]).toEqual([run.runId]);
      const key = { tenantId: "acme", idempotencyKey: run.idempotencyKey ?? "" };
      expect((await ledger.runs.byKey([key])).map((found) => found.runId)).toEqual([run.runId]);
      await swallowed;
      expect(proxy.accepted).toBe(before + 2);
    },
  );

  test("goes silent at a COMMIT leaves an unknown outcome, not a caller that waits for ever", async () => {
    const ledger = open({ answerTimeoutMs: 500 });
    const run = await makeRun(db);
    const swallowed = proxy.blackHoleOnce("commit\0");
    const error = await thrown(
      ledger.transaction("a test", (executor) =>
        executor.run(statement("runs.raise-attention"), ["acme", run.runId, "x"]),
      ),
    );
    await swallowed;
    expect(error).toMatchObject({ kind: "unknown", code: "outcome_unknown" });
    expect((await ledger.runs.get(run))?.attention).toBeNull();
  });

  test("carries out what its caller has given up on holds one run, and the caller was told: unknown", async () => {
    const ledger = open({ answerTimeoutMs: 100, maxConnections: 4 });
    const run = newRun();
    const holder = await db.client("admin");
    await holder.query("begin");
    await holder.query("lock table ghouls.runs in share mode");
    const refused = thrown(ledger.runs.admit([run], { ...ADMIT, lockTimeoutMs: 20_000 }));
    await blocked(db);
    expect(await refused).toMatchObject({ kind: "unknown", code: "outcome_unknown" });
    await holder.query("commit");
    await until("all the abandoned tries at their end", async () => {
      const left = await db.admin(
        "select from pg_stat_activity where datname = current_database() and usename = $1 and state = 'active'",
        [APPLICATION.name],
      );
      return left.length === 0;
    });
    const rows = await db.admin("select seq from ghouls.deliveries where run_id = $1", [run.runId]);
    expect(rows).toEqual([{ seq: 1 }]);
    const again = newRun({ idempotencyKey: run.idempotencyKey });
    // Asked by one that is more patient: a busy machine is not what is looked at here.
    expect((await open().runs.admit([again], ADMIT)).size).toBe(0);
  });
});

describe("a pool", () => {
  test("of one connection carries thirty callers one after the other, and loses none", async () => {
    const ledger = open();
    const runs = Array.from({ length: 30 }, () => newRun());
    const created = await Promise.all(runs.map((run) => ledger.runs.admit([run], ADMIT)));
    expect(created.flatMap((one) => [...one.keys()])).toEqual(runs.map((run) => run.runId));
  });

  test("that has no connection free in time is out of reach, and does not break who holds it", async () => {
    const ledger = open({ connectTimeoutMs: 200 });
    await ledger.schemaVersion();
    let refused: unknown;
    const held = await ledger.transaction("a test", async (executor) => {
      refused = await thrown(ledger.schemaVersion());
      return executor.run(statement("doctor.schema-version"), []);
    });
    expect(refused).toMatchObject(OUT_OF_REACH);
    expect(held).toHaveLength(1);
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  });

  test("hands no connection on whose backend has just been killed: who waits for it gets a new one", async () => {
    const ledger = open({ answerTimeoutMs: 20_000 });
    const run = await makeRun(db);
    const holder = await db.client("admin");
    await holder.query("begin");
    await holder.query("select from ghouls.runs where run_id = $1 for update", [run.runId]);
    const raise = (executor: Executor) =>
      executor.run(statement("runs.raise-attention"), ["acme", run.runId, "by a test"]);
    const killed = thrown(ledger.transaction("a test", raise));
    const [pid] = await blocked(db);
    const waiting = ledger.transaction("a test", raise);
    await db.admin("select pg_terminate_backend($1)", [pid]);
    expect(await killed).toMatchObject({ statement: "runs.raise-attention" });
    await blocked(db);
    await holder.query("commit");
    await waiting;
    expect((await ledger.runs.get(run))?.attention?.reason).toBe("by a test");
  });

  test("gives up no connection to a statement that failed: the next call has a clean one", async () => {
    const ledger = open();
    const before = proxy.accepted;
    for (let nth = 0; nth < 3; nth += 1) {
      const bad = ledger.runs.get({ tenantId: "acme", runId: "no uuid" });
      expect(await thrown(bad)).toMatchObject({ kind: "defect", sqlState: "22P02" });
      const body = ledger.transaction("a test", async () => {
        throw new RangeError("by a test");
      });
      await expect(body).rejects.toThrow(RangeError);
    }
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
    expect(proxy.accepted).toBe(before + 1);
  });
});

const shared = cannotHold({
  pgbouncer: "its clients find on a server's connection what others have left there",
});
test.skipIf(shared)(
  "statements that are not prepared, as behind some poolers, leave none on the connection",
  async () => {
    const ledger = open({ preparedStatements: false });
    const prepared = open({ preparedStatements: true });
    const countOn = (on: Ledger) =>
      on.transaction("a test", async (executor) => {
        const count: Statement = {
          name: "test.prepared",
          text: "select count(*)::integer as count from pg_prepared_statements where name like 'runs.%'",
          writes: false,
        };
        return (await executor.run(count, []))[0]?.["count"];
      });
    for (const on of [ledger, prepared]) {
      await on.runs.admit([newRun()], ADMIT);
      await on.runs.page("acme", {}, { limit: 1 });
    }
    expect(await countOn(ledger)).toBe(0);
    expect(await countOn(prepared)).toBe(2);
  },
);
