import { createServer, type AddressInfo } from "node:net";
import { afterAll, afterEach, describe, expect, inject, test } from "vitest";
import { migrate, type LedgerError, type DatabaseOptions } from "@ghouls/ledger";
import { STATEMENTS, type Statement } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { emptyDatabase } from "../support/empty-database.ts";
import { makeRun } from "../support/factories.ts";
import { freePort } from "../support/free-port.ts";
import { ADMIT, newRun } from "../support/new-run.ts";
import { cannotHold } from "../support/servers.ts";
import { APPLICATION } from "../support/template.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/wait.ts";

/** Compute that was suspended takes the first connections in slowly, drops them, or is not there at all. */

const db = await testDatabase();
const proxy = await tcpProxy(db.address);
const statement = (name: string) => STATEMENTS.get(name) as Statement;
const through = (options: Partial<DatabaseOptions> = {}) =>
  db.ledger({
    connectionString: proxy.through(db.applicationUrl),
    connectTimeoutMs: 150,
    connectPatienceMs: 20_000,
    chance: () => 0,
    ...options,
  });

afterEach(() => proxy.restore());

/** Lets `asking` meet a few connections that fail, and then restores the way. */
async function wakes<T>(how: "refuse" | "silence", asking: () => Promise<T>): Promise<T> {
  const before = proxy.accepted;
  proxy[how]();
  const asked = asking();
  // A rejection is looked at by whoever awaits it below.
  asked.catch(() => undefined);
  await until("three connections that came to nothing", () => proxy.accepted >= before + 3);
  proxy.restore();
  return asked;
}

describe.each(["refuse", "silence"] as const)("compute that wakes up (first connections: %s)", (how) => {
  test("carries out a write that was asked for meanwhile, once", async () => {
    const ledger = through();
    const run = newRun();
    expect([...(await wakes(how, () => ledger.runs.admit([run], ADMIT))).keys()]).toEqual([run.runId]);
    expect(await db.admin("select from ghouls.deliveries where run_id = $1", [run.runId])).toHaveLength(1);
  });

  test("carries out a transaction, whose body runs once", async () => {
    const ledger = through();
    const run = await makeRun(db);
    let bodies = 0;
    await wakes(how, () =>
      ledger.transaction("a test", async (executor) => {
        bodies += 1;
        await executor.run(statement("runs.raise-attention"), ["acme", run.runId, "by a test"]);
      }),
    );
    expect(bodies).toBe(1);
    expect((await ledger.runs.get(run))?.attention?.reason).toBe("by a test");
  });

  test("is found by callers that wait for a connection that is being made for another", async () => {
    const ledger = through({ maxConnections: 1 });
    const asked = () => Promise.all([1, 2, 3].map(() => ledger.schemaVersion()));
    const versions = await wakes(how, asked);
    expect(versions.every((version) => version.applied === version.known)).toBe(true);
  });

  test("is migrated", async () => {
    const empty = await emptyDatabase();
    const url = new URL(empty.migratorUrl);
    const direct = await tcpProxy({ host: url.hostname, port: Number(url.port) });
    direct[how]();
    const migrating = migrate({
      connectionString: direct.through(empty.migratorUrl),
      applicationRole: APPLICATION.name,
      chance: () => 0,
      connectTimeoutMs: 150,
      connectPatienceMs: 20_000,
    });
    await until("a connection that came to nothing", () => direct.accepted >= 1);
    direct.restore();
    expect((await migrating).applied).not.toEqual([]);
  });
});

test("a port where nobody listens yet is asked again until somebody does", async () => {
  const port = await freePort();
  const url = new URL(db.applicationUrl);
  url.host = `127.0.0.1:${port}`;
  const ledger = db.ledger({ connectionString: url.href, connectPatienceMs: 20_000, chance: () => 0 });
  const asked = ledger.schemaVersion();
  const late = await tcpProxy(db.address, port);
  expect((await asked).applied).toBeGreaterThan(0);
  expect(late.accepted).toBeGreaterThan(0);
});

describe("a server that does not come", () => {
  test("costs a call one patience, not one for each of its tries, and says what was met last", async () => {
    const ledger = through({ connectPatienceMs: 1_000 });
    proxy.refuse();
    const began = performance.now();
    const refused = await ledger.runs.admit([newRun()], ADMIT).catch((error: unknown) => error);
    expect(performance.now() - began).toBeLessThan(4 * 1_000);
    expect(refused).toMatchObject({ kind: "unavailable", code: "ledger_unavailable" });
    expect((refused as LedgerError).cause).not.toBeUndefined();
  });

  test("ends the patience of a call in the middle of a try, and the late connection serves the next", async () => {
    const ledger = through({ connectTimeoutMs: 20_000, connectPatienceMs: 200, maxConnections: 1 });
    proxy.silence();
    const refused = await ledger.schemaVersion().catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "unavailable", sqlState: undefined });
    proxy.refuse();
    proxy.restore();
    await until("the ledger reached", () => ledger.schemaVersion().catch(() => undefined));
  });

  test("after a write whose answer was lost leaves that write's outcome unknown, not undone", async () => {
    const ledger = through({ connectPatienceMs: 1_500, maxConnections: 1 });
    const run = newRun();
    await ledger.schemaVersion();
    const cut = proxy.cutOnce("after", "runs.admit");
    const asked = ledger.runs.admit([run], ADMIT).catch((error: unknown) => error);
    await cut;
    proxy.refuse();
    expect(await asked).toMatchObject({ kind: "unknown", code: "outcome_unknown" });
    proxy.restore();
    expect(await ledger.runs.get(run)).not.toBeNull();
  });
});

const vague = cannotHold({ pgbouncer: "it says 08P01 of whatever keeps it from its server, which may pass" });
test.skipIf(vague)("what is wrong for good is not tried again: a database that is not there", async () => {
  const url = new URL(db.applicationUrl);
  url.pathname = `/absent_${process.pid}`;
  const way = await tcpProxy(db.address);
  const ledger = db.ledger({ connectionString: way.through(url.href), connectPatienceMs: 20_000 });
  const refused = await ledger.schemaVersion().catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind: "unavailable", sqlState: "3D000" });
  expect(way.accepted).toBe(1);
});

test.runIf(inject("way") === "neon")(
  "a WebSocket that is refused, which Neon's driver tells by no Error, is tried again",
  async () => {
    const port = await freePort();
    const ledger = db.ledger({
      neonProxy: `127.0.0.1:${port}/v2`,
      connectPatienceMs: 1_500,
      chance: () => 0,
    });
    const refused = await ledger.runs.admit([newRun()], ADMIT).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "unavailable", code: "ledger_unavailable", sqlState: undefined });
    expect((refused as LedgerError).cause).not.toBeInstanceOf(Error);
    // Where the proxy listens again, the same ledger finds it.
    const [host = "", path = ""] = (inject("postgres").neonProxy ?? "").split("/");
    await tcpProxy({ host: "127.0.0.1", port: Number(host.split(":")[1]) }, port);
    expect(path).toBe("v2");
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  },
);

describe("a starting server's 57P03", () => {
  /** Answers any startup packet with a FATAL error, as PostgreSQL does while it starts. */
  let met = 0;
  const starting = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      met += 1;
      const fields = Buffer.from("SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0");
      const head = Buffer.alloc(5);
      head.write("E");
      head.writeInt32BE(fields.length + 4, 1);
      socket.end(Buffer.concat([head, fields]));
    });
  });
  afterAll(() => void starting.close());

  test("is waited for within the patience", async () => {
    await new Promise<void>((resolve) => starting.listen(0, "127.0.0.1", resolve));
    const url = new URL(db.applicationUrl);
    url.host = `127.0.0.1:${(starting.address() as AddressInfo).port}`;
    const ledger = db.ledger({ connectionString: url.href, connectPatienceMs: 2_000, chance: () => 0 });
    const refused = await ledger.schemaVersion().catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "unavailable", sqlState: "57P03", code: "ledger_unavailable" });
    expect(met).toBeGreaterThan(2);
  });
});
