import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { LedgerError, type NewRun } from "@ghouls/ledger";
import { STATEMENTS, type Statement } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf, type MadeRun } from "../support/factories.ts";
import { ADMIT, CLAIM, newRun } from "../support/new-run.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { ENTRY } from "../support/whole-life.ts";

const db = await testDatabase();
const proxy = await tcpProxy(db.address);
const ledger = db.ledger({
  connectionString: proxy.through(db.applicationUrl),
  maxConnections: 1,
});
const BEGIN = "begin isolation level read committed";
const statement = (name: string) => STATEMENTS.get(name) as Statement;

async function countOf(table: "runs" | "deliveries" | "journal", runId: string): Promise<number> {
  const [row] = await db.admin<{ count: number }>(
    `select count(*)::integer as count from ghouls.${table} where run_id = $1`,
    [runId],
  );
  return row?.count ?? -1;
}

/** One kind of write, what it answers when nothing is lost, and what the ledger must hold after it. */
interface Write {
  readonly statement: string;
  readonly prepare: () => Promise<MadeRun | NewRun>;
  readonly write: (run: MadeRun & NewRun) => Promise<unknown>;
  /** When the answer was lost, and a second try has met the first. */
  readonly answer: (run: MadeRun & NewRun) => unknown;
  readonly holds: (run: MadeRun & NewRun) => Promise<void>;
}

const admitted = async (run: NewRun) => {
  const created = await ledger.runs.admit([run], ADMIT);
  if (created.has(run.runId)) return run.runId;
  const [found] =
    run.idempotencyKey === null
      ? await ledger.runs.byId([run])
      : await ledger.runs.byKey([{ ...run, idempotencyKey: run.idempotencyKey }]);
  return found?.runId;
};

const writes: readonly Write[] = [
  {
    statement: "runs.admit",
    prepare: async () => newRun(),
    write: admitted,
    answer: (run) => run.runId,
    holds: async (run) => {
      expect(await countOf("runs", run.runId)).toBe(1);
      expect(await countOf("deliveries", run.runId)).toBe(1);
    },
  },
  {
    statement: "runs.admit",
    prepare: async () => newRun({ idempotencyKey: null }),
    write: admitted,
    answer: (run) => run.runId,
    holds: async (run) => {
      expect(await countOf("runs", run.runId)).toBe(1);
      expect(await countOf("deliveries", run.runId)).toBe(1);
    },
  },
  {
    statement: "deliveries.claim",
    prepare: () => makeRun(db),
    write: async (run) => {
      const claimed = await ledger.deliveries.claimIfDue([{ ...run, enqueueSeq: run.seq }], CLAIM);
      return claimed.map(({ runId, token }) => [runId, token]);
    },
    answer: (run) => [[run.runId, run.token]],
    holds: async (run) => {
      expect(await statusesOf(db, run)).toEqual({ run: "RUNNING", delivery: "CLAIMED", seq: 1 });
    },
  },
  {
    statement: "journal.append",
    prepare: () => makeRun(db, { status: "RUNNING" }),
    write: async (run) => (await ledger.journal.appendIfClaimed(run, ENTRY))?.ordinal,
    answer: () => 1,
    holds: async (run) => {
      expect(await countOf("journal", run.runId)).toBe(1);
      expect((await ledger.runs.get(run))?.journalLength).toBe(1);
    },
  },
  {
    statement: "deliveries.settle",
    prepare: () => makeRun(db, { status: "RUNNING" }),
    write: (run) =>
      ledger.deliveries.settleIfClaimed(run, { status: "DONE", outputText: "1", outputDigest: "d" }),
    answer: () => ({ settled: true, runStatus: "DONE" }),
    holds: async (run) => {
      expect(await statusesOf(db, run)).toEqual({ run: "DONE", delivery: "SETTLED", seq: 1 });
    },
  },
  {
    statement: "runs.quarantine",
    prepare: () => makeRun(db, { status: "RUNNING" }),
    write: (run) => ledger.runs.quarantineIfClaimed(run, "by a test"),
    answer: () => true,
    holds: async (run) => {
      expect(await statusesOf(db, run)).toEqual({ run: "QUEUED", delivery: "SETTLED", seq: 2 });
      expect(await countOf("deliveries", run.runId)).toBe(2);
    },
  },
  {
    statement: "deliveries.give-back",
    prepare: () => makeRun(db, { status: "RUNNING" }),
    write: (run) => ledger.deliveries.giveBackIfClaimed(run, new Date(), true),
    answer: () => ({ enqueueSeq: 2, queue: "runs" }),
    holds: async (run) => {
      expect(await statusesOf(db, run)).toEqual({ run: "QUEUED", delivery: "SETTLED", seq: 2 });
      expect(await countOf("deliveries", run.runId)).toBe(2);
    },
  },
  {
    statement: "runs.clear-absence",
    prepare: () => makeRun(db, { status: "RUNNING" }),
    write: (run) => ledger.runs.clearAbsenceIfClaimed(run),
    answer: () => true,
    holds: async (run) => {
      expect(await statusesOf(db, run)).toEqual({ run: "RUNNING", delivery: "CLAIMED", seq: 1 });
    },
  },
  {
    statement: "runs.adopt",
    prepare: () => makeRun(db, { status: "RUNNING" }),
    write: (run) =>
      ledger.runs.adoptIfClaimed(
        { ...run, workflow: { name: "hello", version: 1, digest: "hello@1" }, checkpointGeneration: null },
        { name: "hello", version: 2, digest: "hello@2" },
        { workflowDigest: "hello@2", journalLength: 0, journalDigest: "j" },
      ),
    answer: () => true,
    holds: async (run) => {
      const [row] = await db.admin(
        "select workflow_version as version, workflow_digest as digest from ghouls.runs where run_id = $1",
        [run.runId],
      );
      expect(row).toEqual({ version: 2, digest: "hello@2" });
    },
  },
  {
    statement: "deliveries.release",
    prepare: () => makeRun(db, { deliveryStatus: "HELD" }),
    // Whoever releases reads the run afterwards; "nothing to release" is then no contradiction.
    write: async (run) => {
      await ledger.deliveries.releaseIfHeld(run, 15);
      return (await ledger.runs.byId([run])).map((one) => one.unpublished);
    },
    answer: () => [true],
    holds: async (run) => {
      expect(await statusesOf(db, run)).toEqual({ run: "QUEUED", delivery: "PENDING", seq: 1 });
    },
  },
];
const described = writes.map((one) => ({
  ...one,
  name: `${one.statement}${writes.find((other) => other.statement === one.statement) === one ? "" : " without a key"}`,
}));

describe.each(described)("$name", ({ statement: name, prepare, write, answer, holds }) => {
  test.each(["before", "after"] as const)(
    "whose connection is cut %s PostgreSQL has carried it out is done once, and answers as done",
    async (when) => {
      const run = (await prepare()) as MadeRun & NewRun;
      const cut = proxy.cutOnce(when, name);
      const answered = await write(run);
      await cut;
      expect(answered).toEqual(answer(run));
      await holds(run);
    },
  );

  test("whose answer is lost four times says that its outcome is unknown, and is done once", async () => {
    const run = (await prepare()) as MadeRun & NewRun;
    const cuts = Promise.all([1, 2, 3, 4].map(() => proxy.cutOnce("after", name)));
    const refused = await write(run).catch((error: unknown) => error);
    await cuts;
    expect(refused).toBeInstanceOf(LedgerError);
    expect(refused).toMatchObject({ kind: "unknown", code: "outcome_unknown", retryAfterSeconds: 2 });
    expect((refused as LedgerError).fix).toContain("same idempotency key");
    await holds(run);
    expect(await write(run)).toEqual(answer(run));
  });
});

describe("a lost answer of another's", () => {
  test("append of the same call is not taken for mine: token, outcome and digest decide", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    expect(await ledger.journal.appendIfClaimed(run, ENTRY)).toMatchObject({ ordinal: 1 });
    expect(await ledger.journal.appendIfClaimed(run, { ...ENTRY, resultDigest: "other" })).toBeNull();
    expect(await ledger.journal.appendIfClaimed({ ...run, token: randomUUID() }, ENTRY)).toBeNull();
    expect(await countOf("journal", run.runId)).toBe(1);
  });

  test("claim of the same delivery is not taken for mine", async () => {
    const run = await makeRun(db);
    const ask = (token: string) =>
      ledger.deliveries.claimIfDue([{ runId: run.runId, enqueueSeq: 1, token }], CLAIM);
    expect(await ask(run.token)).toHaveLength(1);
    expect(await ask(randomUUID())).toEqual([]);
    expect(await ask(run.token)).toHaveLength(1);
  });
});

describe("a transaction", () => {
  const get = statement("runs.get");
  const raise = statement("runs.raise-attention");

  test.each([
    ["before", null],
    ["after", "by a test"],
  ] as const)(
    "whose COMMIT is cut %s PostgreSQL has it throws that the outcome is unknown, and is not repeated",
    async (when, attention) => {
      const run = await makeRun(db);
      let bodies = 0;
      const cut = proxy.cutOnce(when, "commit\0");
      const refused = await ledger
        .transaction("a test", async (executor) => {
          bodies += 1;
          await executor.run(raise, ["acme", run.runId, "by a test"]);
        })
        .catch((error: unknown) => error);
      await cut;
      expect(refused).toMatchObject({
        name: "LedgerError",
        kind: "unknown",
        code: "outcome_unknown",
        statement: "a test: commit",
      });
      expect(bodies).toBe(1);
      expect((await ledger.runs.get(run))?.attention?.reason ?? null).toBe(attention);
    },
  );

  test.each(["before", "after"] as const)(
    "whose BEGIN is cut %s PostgreSQL has it, as by a connection that died while it idled, is begun on another one",
    async (when) => {
      const run = await makeRun(db);
      let bodies = 0;
      const cut = proxy.cutOnce(when, BEGIN);
      await ledger.transaction("a test", async (executor) => {
        bodies += 1;
        await executor.run(raise, ["acme", run.runId, "by a test"]);
      });
      await cut;
      expect(bodies).toBe(1);
      expect((await ledger.runs.get(run))?.attention?.reason).toBe("by a test");
    },
  );

  test("whose BEGIN is cut again and again is typed as not written, its body has not run, and the next one works", async () => {
    const cuts = Promise.all([1, 2, 3, 4].map(() => proxy.cutOnce("before", BEGIN)));
    let bodies = 0;
    const body = () => Promise.resolve((bodies += 1));
    const refused = await ledger.transaction("a test", body).catch((error: unknown) => error);
    await cuts;
    expect(refused).toMatchObject({ name: "LedgerError", kind: "unavailable", code: "ledger_unavailable" });
    expect(bodies).toBe(0);
    expect(await ledger.transaction("a test", body)).toBe(1);
  });

  test("whose statement is cut throws at that statement, and leaves nothing", async () => {
    const run = await makeRun(db);
    const cut = proxy.cutOnce("after", raise.name);
    const refused = await ledger
      .transaction("a test", (executor) => executor.run(raise, ["acme", run.runId, "by a test"]))
      .catch((error: unknown) => error);
    await cut;
    expect(refused).toMatchObject({ name: "LedgerError", statement: raise.name });
    expect((await ledger.runs.get(run))?.attention).toBeNull();
  });

  test("that swallows a failed statement does not commit, and says so: COMMIT answered ROLLBACK", async () => {
    const run = await makeRun(db);
    const refused = await ledger
      .transaction("a test", async (executor) => {
        await executor.run(raise, ["acme", run.runId, "by a test"]);
        await executor.run(get, ["acme", "no uuid"]).catch(() => undefined);
        return "done";
      })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      name: "LedgerError",
      kind: "defect",
      message: expect.stringContaining("commit answered ROLLBACK"),
    });
    expect((await ledger.runs.get(run))?.attention).toBeNull();
  });
});
