import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { LedgerError, type Ledger } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { ENTRY } from "../support/whole-life.ts";

const db = await testDatabase();
await db.admin("create table public.effects (run_id uuid not null)");
await db.admin("grant all on public.effects to public");
const proxy = await tcpProxy(db.address);
const ledger = db.ledger();
const far = db.ledger({ connectionString: proxy.through(db.applicationUrl) });

const BOOKED = { ...ENTRY, kind: "transaction", name: "book" } as const;

async function begin(on: Ledger, limitMs = 5_000) {
  const begun = await on.transactions.begin(limitMs, 5_000);
  if (begun === null) throw new Error("nobody else has a turn");
  return begun;
}

async function book(on: Ledger, run: MadeRun, limitMs?: number) {
  const begun = await begin(on, limitMs);
  await on.transactions.ask(begun, "insert into public.effects values ($1)", [run.runId]);
  return begun;
}

async function found(run: MadeRun): Promise<readonly number[]> {
  const count = async (table: string) =>
    (await db.admin(`select 1 from ${table} where run_id = $1`, [run.runId])).length;
  return [await count("public.effects"), await count("ghouls.journal")];
}

test("limits hold for the transaction alone, and a connection goes back as it was", async () => {
  const one = db.ledger({ maxConnections: 1 });
  const shown = async (limitMs: number | undefined) => {
    const begun = await begin(one, limitMs);
    const { rows } = await one.transactions.ask(
      begun,
      "select current_setting('statement_timeout') as s, current_setting('idle_in_transaction_session_timeout') as i, current_setting('lock_timeout') as l",
      [],
    );
    await begun.rollback(1_000);
    return rows[0];
  };
  expect(await shown(700)).toEqual({ s: "700ms", i: "700ms", l: "700ms" });
  const after = await one.transaction("test", (executor) =>
    executor.run(
      { name: "test.shown", text: "select current_setting('lock_timeout') as l", writes: false },
      [],
    ),
  );
  expect(after).toEqual([{ l: "5s" }]);
});

test("a connection is left to what is short; whoever gets no turn in time is told, and the next one gets it", async () => {
  const two = db.ledger({ maxConnections: 2 });
  const first = await begin(two);
  expect(await two.transactions.begin(5_000, 10)).toBeNull();
  // The other connection is free.
  expect(await two.runs.get({ tenantId: "acme", runId: randomUUID() })).toBeNull();
  const waiting = two.transactions.begin(5_000, 60_000);
  await first.rollback(1_000);
  const second = await waiting;
  expect(second).not.toBeNull();
  await second?.rollback(1_000);
  // Once more does nothing: the turn is given back once.
  await second?.rollback(1_000);
  const third = await begin(two);
  expect(await two.transactions.begin(5_000, 10)).toBeNull();
  await third.rollback(1_000);
});

test("one that cannot begin gives its turn back", async () => {
  let fails = true;
  const one = db.ledger({
    maxConnections: 1,
    faults: (point, detail) => {
      if (fails && point === "ledger.before-statement" && detail === "transactions.limit")
        throw new Error("Connection terminated unexpectedly");
    },
  });
  for (let times = 1; times <= 3; times += 1)
    await expect(one.transactions.begin(5_000, 10)).rejects.toBeInstanceOf(LedgerError);
  fails = false;
  await (await begin(one)).rollback(1_000);
});

test("after its end nothing is sent", async () => {
  const begun = await begin(ledger);
  await begun.rollback(1_000);
  await expect(ledger.transactions.ask(begun, "select 1", [])).rejects.toThrow("the transaction is over");
  const run = await makeRun(db, { status: "RUNNING" });
  expect(await ledger.transactions.commitIfClaimed(begun, run, BOOKED, 1_000)).toMatchObject({
    kind: "rolled_back",
    at: "limit",
  });
});

test("an entry that another claim has written is no success of this one: nothing is committed with it", async () => {
  const run = await makeRun(db, { status: "RUNNING" });
  const first = await book(ledger, run);
  expect((await ledger.transactions.commitIfClaimed(first, run, BOOKED, 5_000)).kind).toBe("committed");
  // The same once more, as by a worker that has forgotten: its rows would be there twice.
  const second = await book(ledger, run);
  expect((await ledger.transactions.commitIfClaimed(second, run, BOOKED, 5_000)).kind).toBe("fenced");
  expect(await found(run)).toEqual([1, 1]);
});

test.each([
  ["its entry", "journal.append", "entry"],
  // PostgreSQL has ended it while it waited for the next statement, and says so.
  ["COMMIT", "commit\0", "commit"],
])(
  "a network that swallows %s: known within its limit, and whoever looks then finds neither rows nor entry",
  async (_what, text, at) => {
    const run = await makeRun(db, { status: "RUNNING" });
    const begun = await book(far, run, 500);
    const swallowed = proxy.blackHoleOnce(text);
    expect(await far.transactions.commitIfClaimed(begun, run, BOOKED, 500)).toMatchObject({
      kind: "rolled_back",
      at,
    });
    await swallowed;
    expect(await ledger.transactions.readBack(run, BOOKED)).toBeNull();
    expect(await found(run)).toEqual([0, 0]);
  },
);

test.each([
  ["its entry", "journal.append", { kind: "rolled_back", at: "entry" }, [0, 0]],
  ["COMMIT", "commit\0", { kind: "unknown" }, [1, 1]],
])(
  "a network that swallows the answer to %s: within its limit it is what it can be, and the journal tells",
  async (_what, text, answer, rows) => {
    const run = await makeRun(db, { status: "RUNNING" });
    const begun = await book(far, run, 300);
    const muted = proxy.muteOnce(text);
    expect(await far.transactions.commitIfClaimed(begun, run, BOOKED, 300)).toMatchObject(answer);
    await muted;
    const entry = await ledger.transactions.readBack(run, BOOKED);
    expect([entry === null ? 0 : 1, await found(run)]).toEqual([rows[1], rows]);
  },
);
