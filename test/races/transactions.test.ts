import { expect, test } from "vitest";
import type { Ledger } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf, type MadeRun } from "../support/factories.ts";
import { waiting } from "../support/races.ts";
import { ENTRY } from "../support/whole-life.ts";

const db = await testDatabase();
await db.admin("create table public.effects (run_id uuid not null)");
await db.admin("grant all on public.effects to public");
const other = db.ledger();

const BOOKED = { ...ENTRY, kind: "transaction", name: "book" } as const;

type Mover = (on: Ledger, run: MadeRun) => Promise<unknown>;
const movers: readonly [string, Mover, string][] = [
  [
    "a cancel",
    (on, run) => on.runs.cancel(run, { actor: "user:ada", reason: "by a test" }, 60),
    "CANCELLING",
  ],
  [
    "a loss",
    async (on, run) => {
      await db.admin(
        "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 s' where run_id = $1",
        [run.runId],
      );
      return on.deliveries.settleLost([{ ...run, errorText: "{}", errorDigest: "d" }], {
        maxLosses: 3,
        actsMarginSeconds: 60,
        publisherGraceSeconds: 15,
      });
    },
    "FAILING",
  ],
];

async function book(on: Ledger, run: MadeRun) {
  const begun = await on.transactions.begin(5_000, 5_000);
  if (begun === null) throw new Error("nobody else has a turn");
  await on.transactions.ask(begun, "insert into public.effects values ($1)", [run.runId]);
  const { rows } = await on.transactions.ask(begun, "select pg_backend_pid() as pid", []);
  const commit = () => on.transactions.commitIfClaimed(begun, run, BOOKED, 5_000);
  return { pid: Number(rows[0]?.["pid"]), commit };
}

async function found(run: MadeRun): Promise<readonly number[]> {
  const count = async (table: string) =>
    (await db.admin(`select 1 from ${table} where run_id = $1`, [run.runId])).length;
  return [await count("public.effects"), await count("ghouls.journal")];
}

test.each(movers)(
  "%s that comes while it commits waits, and finds rows and entry",
  async (_what, move, status) => {
    const gate = Promise.withResolvers<void>();
    const ledger = db.ledger({
      faults: (point, detail) =>
        point === "ledger.before-commit" && detail === "transactions" ? gate.promise : undefined,
    });
    const run = await makeRun(db, { status: "RUNNING" });
    const { pid, commit } = await book(ledger, run);
    const committing = commit();
    await expectEntryIsHeld(pid);
    const moving = move(other, run);
    await waiting(db, pid);
    gate.resolve();
    expect(await committing).toMatchObject({ kind: "committed", ordinal: 1 });
    await moving;
    expect([await found(run), (await statusesOf(db, run)).run]).toEqual([[1, 1], status]);
  },
);

test.each(movers)(
  "%s that comes between its statements and its end: neither",
  async (_what, move, status) => {
    const run = await makeRun(db, { status: "RUNNING" });
    const { commit } = await book(other, run);
    await move(other, run);
    expect(await commit()).toEqual({ kind: "fenced" });
    expect([await found(run), (await statusesOf(db, run)).run]).toEqual([[0, 0], status]);
  },
);

test("who asks what became of a COMMIT waits for it, and knows", async () => {
  const gate = Promise.withResolvers<void>();
  const ledger = db.ledger({
    faults: (point, detail) =>
      point === "ledger.before-commit" && detail === "transactions" ? gate.promise : undefined,
  });
  const run = await makeRun(db, { status: "RUNNING" });
  const { pid, commit } = await book(ledger, run);
  const committing = commit();
  await expectEntryIsHeld(pid);
  const asking = other.transactions.readBack(run, BOOKED);
  await waiting(db, pid);
  gate.resolve();
  expect((await committing).kind).toBe("committed");
  expect(await asking).toMatchObject({
    ordinal: 1,
    token: run.token,
    outcome: "ok",
    resultText: "1",
    tries: 1,
  });
});

/** Its last statement before COMMIT has been carried out: it holds the run. */
async function expectEntryIsHeld(pid: number): Promise<void> {
  await expect
    .poll(
      async () =>
        (
          await db.admin<{ state: string; query: string }>(
            "select state, query from pg_stat_activity where pid = $1",
            [pid],
          )
        )[0],
      { interval: 5 },
    )
    .toMatchObject({ state: "idle in transaction", query: expect.stringContaining("journal.append") });
}
