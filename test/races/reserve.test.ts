import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Claim } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf } from "../support/factories.ts";
import { heldInTheMiddle } from "../support/races.ts";
import { RELEASE, RESERVE, ask, reservationsOf } from "../support/reservations.ts";

const db = await testDatabase();
const ledger = db.ledger({ maxConnections: 12 });
const { takeIfClaimed: take, releaseIfClaimed: release } = ledger.reservations;
beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.capacities cascade");
  await ledger.capacities.say({ gpu: 1, licences: 3 });
});

const carried = () => makeRun(db, { status: "RUNNING" });
const broken = async () => (await ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity");
const lockOf = ({ runId }: Claim) =>
  [`select from ghouls.runs where run_id = '${runId}' for update`, `'${runId}'`] as const;
const inserted = (run: Claim) =>
  `insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, seq, token, holder,
     status, asked_at, held_at)
   values ('acme', '${run.runId}', gen_random_uuid(), 0, '', 'gpu', 1, 'gpu', 1, 1, '${run.token}', '${run.runId}', 'HELD',
     ghouls.clock(), ghouls.clock())`;
const parked = (run: Claim) =>
  `update ghouls.runs set status = 'AWAITING_SIGNAL' where run_id = '${run.runId}'`;
const park = (run: Claim, journalLength: number) =>
  ledger.deliveries.parkIfClaimed(
    run,
    { workflowDigest: "hello@1", journalLength, journalDigest: "d" },
    [
      {
        call: { epoch: 0, scope: "", kind: "signal", name: "paid", nth: 1 },
        armId: randomUUID(),
        owner: "signal",
        dueAt: null,
        tries: null,
      },
    ],
    { publisherGraceSeconds: 15 },
  );
const told = (work: Promise<unknown>) => work.catch((error: unknown) => error);

describe("a parked holder cannot be committed", () => {
  test("by raw statements that lock nothing first, whichever of both comes first: 23503", async () => {
    const late = await carried();
    const parks = await heldInTheMiddle(
      db,
      (holder) => holder.query(inserted(late)),
      () => told(db.admin(parked(late))),
      () => Promise.resolve(),
    );
    expect(parks).toMatchObject({ code: "23503" });
    expect((await statusesOf(db, late)).run).toBe("RUNNING");

    const early = await carried();
    const takes = await heldInTheMiddle(
      db,
      (holder) => holder.query(parked(early)),
      () => told(db.admin(inserted(early))),
      () => Promise.resolve(),
    );
    expect(takes).toMatchObject({ code: "23503" });
    expect(await reservationsOf(db, early)).toEqual([]);
  });

  test("by the protocol: a take that waits for a park has lost its claim, and a park behind a take fails", async () => {
    const early = await carried();
    const takes = await heldInTheMiddle(
      db,
      async (holder) => {
        await holder.query(lockOf(early)[0]);
        await holder.query(`update ghouls.deliveries set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
          where run_id = ${lockOf(early)[1]}`);
        await holder.query(parked(early));
      },
      () => take(early, ask()),
      () => Promise.resolve(),
    );
    expect(takes).toBeNull();

    const late = await carried();
    const answer = await heldInTheMiddle(
      db,
      (holder) => holder.query("select from ghouls.capacities for update"),
      async () => {
        const taking = take(late, ask());
        return [await taking, await told(park(late, 1))];
      },
      () => Promise.resolve(),
    );
    expect(answer).toMatchObject([{ kind: "held" }, { sqlState: "23503" }]);
    expect([(await statusesOf(db, late)).run, await reservationsOf(db, late)]).toEqual(["RUNNING", ["HELD"]]);
  });

  test("by a park and a take of one claim that are sent at the same time, a hundred times", async () => {
    await ledger.capacities.say({ many: 1_000 });
    for (let round = 0; round < 100; round += 1) {
      const run = await carried();
      await Promise.all([told(take(run, ask({ capacity: "many" }))), told(park(run, 0))]);
    }
    const holders = await db.admin(
      `select x.run_id from ghouls.reservations x join ghouls.runs run using (run_id)
       where x.status in ('HELD', 'WAITING') and run.status <> 'RUNNING'`,
    );
    expect(holders).toEqual([]);
    expect((await broken()).filter(({ check }) => check.startsWith("units"))).toEqual([]);
  });
});

test("of those that ask for the last unit at the same time one has it, and the others wait", async () => {
  const runs = await Promise.all(Array.from({ length: 10 }, carried));
  const answers = await Promise.all(runs.map((run) => take(run, ask())));
  const those = (kind: string) => answers.filter((answer) => answer?.kind === kind);
  expect([those("held").length, those("waits").length]).toEqual([1, 9]);
  expect(await broken()).toEqual([]);
});

test("a beat does not wait for a run that waits for the lock of a capacity", async () => {
  const run = await carried();
  await heldInTheMiddle(
    db,
    (holder) => holder.query("select from ghouls.capacities for update"),
    () => take(run, ask()),
    async () => {
      expect(await ledger.deliveries.beatIfClaimed([run], 120)).toHaveLength(1);
    },
  );
});

test("asks, releases, losses and cancels of many runs at once never deadlock, and never grant more than there is", async () => {
  const errors: unknown[] = [];
  const one = async (nth: number) => {
    for (let round = 0; round < 12; round += 1) {
      const run = await carried();
      const units = 1 + ((nth + round) % 3);
      const held = (await take(run, ask({ capacity: "licences", units })))?.kind === "held";
      switch ((nth + round) % 4) {
        case 0:
          if (held) await release(run, RESERVE, RELEASE);
          await ledger.reservations.withdrawIfClaimed(run);
          await ledger.deliveries.settleIfClaimed(run, {
            status: "DONE",
            outputText: "1",
            outputDigest: "d",
          });
          break;
        case 1:
          await ledger.runs.cancel(run, { actor: "user:ada", reason: "by a test" }, 60);
          await ledger.items.acknowledgeWorker(run);
          break;
        default: {
          await db.admin(
            "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1",
            [run.runId],
          );
          const lapsed = (await ledger.deliveries.lapsed({ limit: 5 })).found;
          await ledger.deliveries.settleLost(
            lapsed.map((claim) => ({ ...claim, errorText: "{}", errorDigest: "d" })),
            { maxLosses: 3, actsMarginSeconds: 60, publisherGraceSeconds: 15 },
          );
          for (const claim of lapsed) await ledger.items.acknowledgeWorker(claim);
        }
      }
      const [row] = await db.admin<{ n: number }>(
        "select coalesce(sum(units), 0)::integer as n from ghouls.units_in_use",
      );
      expect(row?.n).toBeLessThanOrEqual(3);
    }
  };
  await Promise.all(
    Array.from({ length: 10 }, (_, nth) => one(nth).catch((error: unknown) => errors.push(error))),
  );
  expect(errors).toEqual([]);
  expect(await db.admin("select from ghouls.units_in_use")).toEqual([]);
  expect(await broken()).toEqual([]);
});
