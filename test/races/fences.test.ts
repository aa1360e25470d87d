import { randomUUID } from "node:crypto";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Ledger } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeRun, type MadeRun, type RunOptions } from "../support/factories.ts";
import { heldInTheMiddle } from "../support/races.ts";

const db = await testDatabase();
const ledger = db.ledger();
await db.admin("create table public.effects (run_id uuid not null)");
await db.admin("grant all on public.effects to public");

const lockRun = (run: MadeRun) => (holder: pg.Client) =>
  holder.query("select 1 from ghouls.runs where tenant_id = $1 and run_id = $2 for update", [
    run.tenantId,
    run.runId,
  ]);
const lockDelivery = (run: MadeRun) => (holder: pg.Client) =>
  holder.query(
    "select 1 from ghouls.deliveries where tenant_id = $1 and run_id = $2 and seq = $3 for update",
    [run.tenantId, run.runId, run.seq],
  );

const FENCE =
  "update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1 and status <> 'SETTLED'";

/** What may move the fence while a statement waits for the run. */
const moversOfRun: readonly [string, (run: MadeRun) => (holder: pg.Client) => Promise<unknown>][] = [
  [
    "a cancel fences it",
    (run) => async (holder) => {
      await holder.query("update ghouls.runs set status = 'CANCELLING' where run_id = $1", [run.runId]);
      await holder.query(FENCE, [run.runId]);
    },
  ],
  [
    "it is settled as lost and delivered anew",
    (run) => async (holder) => {
      await holder.query(
        `update ghouls.deliveries set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock(), token = coalesce(token, $2),
           claimed_by = coalesce(claimed_by, 'w'), claimed_at = coalesce(claimed_at, ghouls.clock()),
           lease_until = coalesce(lease_until, ghouls.clock()) where run_id = $1`,
        [run.runId, randomUUID()],
      );
      await holder.query("update ghouls.runs set status = 'QUEUED', enqueue_seq = 2 where run_id = $1", [
        run.runId,
      ]);
      await holder.query(
        `insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
         values ($1, $2, 2, 'recovered', 'PENDING', 'runs', 5, ghouls.clock(), ghouls.clock(), ghouls.clock())`,
        [run.tenantId, run.runId],
      );
    },
  ],
  [
    "the run is quarantined",
    (run) => (holder) =>
      holder.query(
        "update ghouls.runs set quarantine_reason = 'x', quarantined_at = ghouls.clock() where run_id = $1",
        [run.runId],
      ),
  ],
];

/** What may move it while a statement holds the run and waits for the delivery: a writer of deliveries alone. */
const moversOfDelivery: readonly [string, (run: MadeRun) => (holder: pg.Client) => Promise<unknown>][] = [
  ["the delivery is fenced", (run) => (holder) => holder.query(FENCE, [run.runId])],
  [
    "another token takes it",
    (run) => (holder) =>
      holder.query(
        `update ghouls.deliveries set status = 'CLAIMED', token = $2, claimed_by = 'thief', claimed_at = ghouls.clock(),
           lease_until = ghouls.clock(), hold_expires_at = null where run_id = $1`,
        [run.runId, randomUUID()],
      ),
  ],
];

const FIRST_CALL = { epoch: 0, scope: "", kind: "step", name: "a", nth: 1 } as const;

interface Move {
  readonly name: string;
  readonly from: RunOptions;
  readonly move: (on: Ledger, run: MadeRun) => Promise<boolean>;
}

const moves: readonly Move[] = [
  {
    name: "claim",
    from: {},
    move: async (on, run) =>
      (
        await on.deliveries.claimIfDue([{ runId: run.runId, enqueueSeq: 1, token: randomUUID() }], {
          worker: "w",
          leaseSeconds: 120,
          actsForSeconds: null,
        })
      ).length === 1,
  },
  {
    name: "step",
    from: { status: "RUNNING" },
    move: async (on, run) =>
      (await on.journal.appendIfClaimed(run, {
        ...FIRST_CALL,
        outcome: "ok",
        resultText: "1",
        resultDigest: "d",
        resultBytes: 1,
        tries: 1,
        tookMs: 1,
      })) !== null,
  },
  {
    name: "transaction",
    from: { status: "RUNNING" },
    move: async (on, run) => {
      const begun = await on.transactions.begin(5_000, 5_000);
      if (begun === null) throw new Error("there is a turn for each");
      await on.transactions.ask(begun, "insert into public.effects values ($1)", [run.runId]);
      const entry = {
        ...FIRST_CALL,
        kind: "transaction",
        outcome: "ok",
        resultText: "1",
        resultDigest: "d",
        resultBytes: 1,
        tries: 1,
        tookMs: 1,
      } as const;
      const { kind } = await on.transactions.commitIfClaimed(begun, run, entry, 5_000);
      const effects = await db.admin("select 1 from public.effects where run_id = $1", [run.runId]);
      // Both, or neither.
      expect([kind, effects.length]).toEqual(kind === "committed" ? ["committed", 1] : ["fenced", 0]);
      return kind === "committed";
    },
  },
  {
    name: "settle",
    from: { status: "RUNNING" },
    move: async (on, run) =>
      (await on.deliveries.settleIfClaimed(run, { status: "DONE", outputText: "1", outputDigest: "d" }))
        .settled,
  },
  {
    name: "quarantine",
    from: { status: "RUNNING" },
    move: (on, run) => on.runs.quarantineIfClaimed(run, "disagrees"),
  },
  {
    name: "yield",
    from: { status: "RUNNING" },
    move: async (on, run) =>
      (await on.deliveries.yieldIfClaimed(
        run,
        { workflowDigest: "d", journalLength: 0, journalDigest: "j" },
        { idle: false, publisherGraceSeconds: 15 },
      )) !== null,
  },
  {
    name: "give back",
    from: { status: "RUNNING" },
    move: async (on, run) => (await on.deliveries.giveBackIfClaimed(run, new Date())) !== null,
  },
  {
    name: "give back for want of the workflow",
    from: { status: "RUNNING" },
    move: async (on, run) => (await on.deliveries.giveBackIfClaimed(run, new Date(), true)) !== null,
  },
  {
    name: "clear absence",
    from: { status: "RUNNING" },
    move: (on, run) => on.runs.clearAbsenceIfClaimed(run),
  },
  {
    name: "intent",
    from: { status: "RUNNING" },
    move: (on, run) => on.intents.openIfClaimed(run, FIRST_CALL, 1),
  },
  {
    name: "start of what can be undone",
    from: { status: "RUNNING" },
    move: async (on, run) => (await on.undos.startIfClaimed(run, FIRST_CALL, false)) !== null,
  },
  {
    name: "denial of what can be undone",
    from: { status: "RUNNING" },
    move: async (on, run) => {
      await db.admin(
        `insert into ghouls.undos (tenant_id, run_id, epoch, scope, kind, name, nth, once, seq, token, started_at)
         values ($1, $2, 0, '', 'step', 'a', 1, false, $3, $4, ghouls.clock()) on conflict do nothing`,
        [run.tenantId, run.runId, run.seq, run.token],
      );
      return on.undos.clearIfClaimed(run, FIRST_CALL);
    },
  },
  {
    name: "release",
    from: { deliveryStatus: "HELD" },
    move: (on, run) => on.deliveries.releaseIfHeld(run, 15),
  },
];

async function stateOf(run: MadeRun): Promise<unknown> {
  return db.admin(
    `select run.status, run.enqueue_seq, run.journal_length, run.output_text, run.quarantine_reason, run.started_at,
       (select jsonb_agg(to_jsonb(d) order by d.seq) from ghouls.deliveries d where d.run_id = run.run_id) as deliveries,
       (select count(*) from ghouls.journal j where j.run_id = run.run_id) as entries
     from ghouls.runs run where run.run_id = $1`,
    [run.runId],
  );
}

describe.each(moves)("$name, held in its middle", ({ name, from, move }) => {
  // A release asks only for a HELD delivery of a QUEUED run: quarantine does not concern it.
  const concerned = moversOfRun.filter(([what]) => name !== "release" || !what.includes("quarantined"));

  test.each(concerned)("before its first lock, while %s: changes nothing", async (_what, mover) => {
    const run = await makeRun(db, from);
    let moved: unknown;
    const done = await heldInTheMiddle(
      db,
      lockRun(run),
      () => move(ledger, run),
      async (holder) => {
        await mover(run)(holder);
        moved = (await holder.query("select 1")).rowCount;
      },
    );
    expect([moved, done]).toEqual([1, false]);
    const [left] = (await stateOf(run)) as { status: string; entries: string; output_text: string | null }[];
    expect(left).toMatchObject({ entries: "0", output_text: null });
    expect(["CANCELLING", "QUEUED", from.status ?? "QUEUED"]).toContain(left?.status);
  });

  test.each(moversOfDelivery)(
    "between the run and its delivery, while %s: changes nothing",
    async (_what, mover) => {
      const run = await makeRun(db, from);
      let after: unknown;
      const done = await heldInTheMiddle(
        db,
        lockDelivery(run),
        () => move(ledger, run),
        async (holder) => {
          await mover(run)(holder);
          // What the mover will have committed, seen from inside its own transaction.
          after = (
            await holder.query(
              `select run.status, run.enqueue_seq, run.journal_length, run.output_text, run.quarantine_reason, run.started_at,
               (select jsonb_agg(to_jsonb(d) order by d.seq) from ghouls.deliveries d where d.run_id = run.run_id) as deliveries,
               (select count(*) from ghouls.journal j where j.run_id = run.run_id) as entries
             from ghouls.runs run where run.run_id = $1`,
              [run.runId],
            )
          ).rows;
        },
      );
      expect(done).toBe(false);
      expect(await stateOf(run)).toEqual(after);
    },
  );

  test("and nothing moved: does its work once the lock is free", async () => {
    const run = await makeRun(db, from);
    expect(
      await heldInTheMiddle(
        db,
        lockRun(run),
        () => move(ledger, run),
        () => Promise.resolve(),
      ),
    ).toBe(true);
  });
});

test("the mark of a failed publication waits for nobody: a delivery that is locked just now is being moved", async () => {
  const run = await makeRun(db);
  const holder = await db.client("admin");
  await holder.query("begin");
  await lockDelivery(run)(holder);
  const failure = { publication: { ...run, enqueueSeq: 1 }, reason: "throttled" };
  expect(await ledger.deliveries.markPublicationFailed([failure])).toBe(0);
  const marked = ledger.deliveries.markPublished([{ ...run, enqueueSeq: 1 }]);
  await holder.query("commit");
  expect(await marked).toBe(1);
});

test("the end of a worker and a settlement of its run, in either order, leave one truth", async () => {
  const first = await makeRun(db, { status: "RUNNING" });
  const recorded = await heldInTheMiddle(
    db,
    lockDelivery(first),
    () => ledger.deliveries.recordWorkerEnd({ worker: "worker-0", how: "signal SIGKILL" }),
    (holder) =>
      holder.query(
        "update ghouls.deliveries set status = 'SETTLED', outcome = 'done', settled_at = ghouls.clock() where run_id = $1",
        [first.runId],
      ),
  );
  const marked = await db.admin("select run_id from ghouls.deliveries where worker_ended_at is not null");
  expect(marked).toHaveLength(recorded);
  expect(marked).not.toContainEqual({ run_id: first.runId });
});
