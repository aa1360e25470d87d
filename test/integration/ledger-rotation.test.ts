import { describe, expect, test } from "vitest";
import type { ConnectionSource } from "@ghouls/ledger";
import { STATEMENTS, type Statement } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { ADMIT, newRun } from "../support/new-run.ts";
import { cannotHold } from "../support/servers.ts";
import { blocked, until } from "../support/wait.ts";

/** A secret is fetched once, and again when the server refuses it: a warm process survives its rotation. */

const db = await testDatabase();
const statement = (name: string) => STATEMENTS.get(name) as Statement;
const { host, port } = new URL(db.adminUrl);

/** A role with the application's rights, whose password a test may change, and the store that holds it. */
async function rotating(name: string) {
  const role = `rotating_${name}_${process.pid}`;
  await db.admin(`create role ${role} login password 'first' in role test_app`);
  let secret = "first";
  let reads = 0;
  const url = () => `postgres://${role}:${secret}@127.0.0.1:${port}/${db.name}`;
  const source: ConnectionSource = () => {
    reads += 1;
    return Promise.resolve(url());
  };
  return {
    role,
    source,
    url,
    reads: () => reads,
    store: (next: string) => {
      secret = next;
    },
    rotate: async (next: string) => {
      await db.admin(`alter role ${role} password '${next}'`);
      secret = next;
    },
    /** Ends the connections that still have the old password, as their idle timeout does. */
    endIdle: async () => {
      await db.admin(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and state = 'idle'",
        [role],
      );
      await until("no idle connection", async () => {
        const left = await db.admin("select from pg_stat_activity where usename = $1 and state = 'idle'", [
          role,
        ]);
        return left.length === 0;
      });
    },
  };
}

const pooled = cannotHold({ pgbouncer: "the pooler knows its users from a file, and signs in for them" });

describe.skipIf(pooled)("a secret", () => {
  test("is fetched once, by any number of callers at once", async () => {
    const store = await rotating("once");
    const ledger = db.ledger({ connectionString: store.source });
    await Promise.all(Array.from({ length: 20 }, () => ledger.schemaVersion()));
    await ledger.schemaVersion();
    expect(store.reads()).toBe(1);
  });

  test("that was rotated is fetched anew once, by all who were refused, and none of them notices", async () => {
    const store = await rotating("warm");
    const ledger = db.ledger({ connectionString: store.source });
    await ledger.schemaVersion();
    await store.rotate("second");
    await store.endIdle();
    const runs = Array.from({ length: 12 }, () => newRun());
    const created = await Promise.all(runs.map((run) => ledger.runs.admit([run], ADMIT)));
    expect(created.flatMap((one) => [...one.keys()])).toEqual(runs.map((run) => run.runId));
    expect(store.reads()).toBe(2);
    await store.rotate("third");
    await store.endIdle();
    await ledger.schemaVersion();
    expect(store.reads()).toBe(3);
  });

  test("that was rotated leaves a transaction in flight alone: it commits on the connection that it has", async () => {
    const store = await rotating("flight");
    const ledger = db.ledger({ connectionString: store.source, maxConnections: 2 });
    const run = await makeRun(db);
    const holder = await db.client("admin");
    await holder.query("begin");
    await holder.query("select from ghouls.runs where run_id = $1 for update", [run.runId]);
    const held = ledger.transaction("a test", (executor) =>
      executor.run(statement("runs.raise-attention"), ["acme", run.runId, "by a test"]),
    );
    await blocked(db);
    await store.rotate("second");
    const before = await db.admin<{ pid: number }>("select pid from pg_stat_activity where usename = $1", [
      store.role,
    ]);
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
    expect(store.reads()).toBe(2);
    await holder.query("commit");
    await held;
    expect((await ledger.runs.get(run))?.attention?.reason).toBe("by a test");
    await until("the connections of the old password gone", async () => {
      const left = await db.admin("select from pg_stat_activity where pid = any($1)", [
        before.map(({ pid }) => pid),
      ]);
      return left.length === 0;
    });
    await ledger.close();
    await until("no connection at all", async () => {
      const left = await db.admin("select from pg_stat_activity where usename = $1", [store.role]);
      return left.length === 0;
    });
  });

  test("that is refused and stays so is asked for with pauses until the patience ends, and says what the server said", async () => {
    const store = await rotating("stale");
    store.store("wrong");
    const ledger = db.ledger({ connectionString: store.source, connectPatienceMs: 2_000, chance: () => 0 });
    const refused = await ledger.schemaVersion().catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "unavailable", code: "ledger_unavailable", sqlState: "28P01" });
    expect(JSON.stringify(refused) + String(refused)).not.toContain("wrong");
    // Pauses of 25, 50, 100, 200 and then 400 ms are as many as go into it.
    expect(store.reads()).toBeGreaterThan(2);
    expect(store.reads()).toBeLessThan(12);
    store.store("first");
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  });

  test.each([
    ["the server has the new password before its store has it", "server"],
    ["its store has the new password before the server takes it", "store"],
  ])("is waited for in the middle of its rotation: %s", async (_which, first) => {
    const store = await rotating(`between_${first}`);
    const setPassword = () => db.admin(`alter role ${store.role} password 'second'`);
    let later = false;
    const ledger = db.ledger({
      connectionString: async () => {
        // Of the refused call: the fetch after its first refusal, and one that finds nothing new.
        if (later && store.reads() === 3) await (first === "server" ? store.store("second") : setPassword());
        return store.source();
      },
      chance: () => 0,
    });
    await ledger.schemaVersion();
    await (first === "server" ? setPassword() : store.store("second"));
    // Where the store is first, connections that stand are good until the server takes the new one.
    if (first === "store") await db.admin(`alter role ${store.role} password 'neither'`);
    await store.endIdle();
    later = true;
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
    expect(store.reads()).toBe(4);
  });

  test.each([
    ["at first", 1],
    ["after its rotation", 2],
  ])(
    "whose store never answers, %s, costs a call one patience, and the next call asks it anew",
    async (_when, silent) => {
      const store = await rotating(`silent_${silent}`);
      let reads = 0;
      const ledger = db.ledger({
        connectionString: () =>
          (reads += 1) === silent ? new Promise(() => undefined) : Promise.resolve(store.url()),
        connectPatienceMs: 1_500,
      });
      if (silent === 2) {
        await ledger.schemaVersion();
        await store.rotate("second");
        await store.endIdle();
      }
      await expect(ledger.schemaVersion()).rejects.toMatchObject({
        kind: "unavailable",
        code: "ledger_unavailable",
        cause: { message: "the connection string was not fetched in time" },
      });
      await until("the store asked anew", () => ledger.schemaVersion().catch(() => undefined));
      expect(reads).toBe(silent + 1);
    },
  );

  test("that cannot be read is out of reach without a connection, and is asked for again by the next call", async () => {
    const store = await rotating("unread");
    let refusals = 2;
    const ledger = db.ledger({
      connectionString: () => {
        if (refusals-- > 0) return Promise.reject(new Error("access denied"));
        return Promise.resolve(store.url());
      },
    });
    const refused = await Promise.all(
      [1, 2].map(() => ledger.schemaVersion().catch((error: unknown) => error)),
    );
    for (const error of refused) {
      expect(error).toMatchObject({
        kind: "unavailable",
        code: "ledger_unavailable",
        cause: { message: "access denied" },
      });
    }
    expect(refusals).toBe(1);
    await expect(ledger.schemaVersion()).rejects.toMatchObject({ kind: "unavailable" });
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  });

  test("that cannot be read anew after its rotation says so, and not that the password is wrong", async () => {
    const store = await rotating("lost");
    let reads = 0;
    const ledger = db.ledger({
      connectionString: () => {
        reads += 1;
        return reads === 2 ? Promise.reject(new Error("throttled")) : Promise.resolve(store.url());
      },
    });
    await ledger.schemaVersion();
    await store.rotate("second");
    await store.endIdle();
    await expect(ledger.schemaVersion()).rejects.toMatchObject({ cause: { message: "throttled" } });
    expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  });

  test("that is being fetched anew while the ledger closes leaves no pool behind, and nothing waits for its store", async () => {
    const store = await rotating("closing");
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let reads = 0;
    const ledger = db.ledger({
      connectionString: async () => {
        reads += 1;
        if (reads === 2) {
          asked.resolve();
          await gate.promise;
        }
        return store.url();
      },
    });
    await ledger.schemaVersion();
    await store.rotate("second");
    await store.endIdle();
    const call = ledger.schemaVersion().catch((error: unknown) => error);
    await asked.promise;
    await ledger.close();
    gate.resolve();
    expect(await call).toMatchObject({
      kind: "unavailable",
      cause: { message: "the ledger has been closed" },
    });
    expect(await db.admin("select from pg_stat_activity where usename = $1", [store.role])).toEqual([]);
  });

  test("that is fetched for the first time while the ledger closes opens no pool either", async () => {
    const store = await rotating("closed_early");
    const gate = Promise.withResolvers<string>();
    const ledger = db.ledger({ connectionString: () => gate.promise });
    const call = ledger.schemaVersion().catch((error: unknown) => error);
    await ledger.close();
    gate.resolve(store.url());
    const closed = { kind: "unavailable", cause: { message: "the ledger has been closed" } };
    expect(await call).toMatchObject(closed);
    await expect(ledger.schemaVersion()).rejects.toMatchObject(closed);
  });

  test("given as plain text is not asked for anew: the server's word is the answer", async () => {
    const store = await rotating("plain");
    const ledger = db.ledger({ connectionString: store.url() });
    await store.rotate("second");
    await expect(ledger.schemaVersion()).rejects.toMatchObject({ kind: "unavailable", sqlState: "28P01" });
  });
});

describe.skipIf(pooled)("a token in the place of a password", () => {
  test("is asked for each new connection, and a statement on one that stands needs none", async () => {
    const store = await rotating("token");
    const given: string[] = [];
    const url = new URL(store.url());
    url.password = "";
    const ledger = db.ledger({
      connectionString: url.href,
      maxConnections: 1,
      password: () => {
        const token = given.length === 0 ? "first" : "second";
        given.push(token);
        return Promise.resolve(token);
      },
    });
    await ledger.schemaVersion();
    await ledger.schemaVersion();
    expect(given).toEqual(["first"]);
    await store.rotate("second");
    await store.endIdle();
    await ledger.schemaVersion();
    expect(given).toEqual(["first", "second"]);
  });

  test("that cannot be made is out of reach, with the reason as its cause", async () => {
    const store = await rotating("untoken");
    const ledger = db.ledger({
      connectionString: store.url(),
      password: () => Promise.reject(new Error("no credentials")),
    });
    await expect(ledger.schemaVersion()).rejects.toMatchObject({
      kind: "unavailable",
      cause: { message: "no credentials" },
    });
  });
});

/** On every way: a pooler's word for a wrong password is another than the server's. */
test("a secret whose password is refused, by a server or by a pooler, is fetched anew", async () => {
  const stale = new URL(db.applicationUrl);
  stale.password = "stale";
  let reads = 0;
  const ledger = db.ledger({
    connectionString: () => Promise.resolve((reads += 1) === 1 ? stale.href : db.applicationUrl),
  });
  expect((await ledger.schemaVersion()).applied).toBeGreaterThan(0);
  expect(reads).toBe(2);
});

test("a connection string that is none is out of reach, and is not repeated in the answer", async () => {
  const ledger = db.ledger({ connectionString: `postgres://user:secret@${host}:port-is-no-number/x` });
  const refused = await ledger.schemaVersion().catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind: "unavailable", code: "ledger_unavailable" });
  expect(String(refused)).not.toContain("secret");
});
