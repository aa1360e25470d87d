import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Claim, RunStatus } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf } from "../support/factories.ts";
import { movableClock } from "../support/world.ts";
import { RELEASE, RESERVE, ask, reservationsOf } from "../support/reservations.ts";

const db = await testDatabase();
await movableClock(db);
const ledger = db.ledger();
const { takeIfClaimed: take, releaseIfClaimed: release, withdrawIfClaimed: withdraw } = ledger.reservations;
beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.capacities cascade");
  await ledger.capacities.say({ gpu: 1, licences: 5 });
});

const carried = () => makeRun(db, { status: "RUNNING" });
const statusOf = async (run: Claim) => (await statusesOf(db, run)).run;
const later = (seconds: number) =>
  db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);
const broken = async () => (await ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity");
const kindOf = async (run: Claim, options: Parameters<typeof ask>[0] = {}) =>
  (await take(run, ask(options)))?.kind;
const licences = (units: number, more: Parameters<typeof ask>[0] = {}) => ({
  capacity: "licences",
  units,
  ...more,
});

describe("asking for units", () => {
  test("what is free is held with its journal entry, in one commit; the release is journaled too, and frees it", async () => {
    const [one, two] = [await carried(), await carried()];
    expect(await take(one, ask())).toMatchObject({ kind: "held", entry: { ordinal: 1 } });
    expect(await statusOf(one)).toBe("RUNNING");
    expect((await ledger.journal.read(one)).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "reserve gpu",
    ]);
    expect(await kindOf(two)).toBe("waits");
    expect([await statusOf(two), await reservationsOf(db, two)]).toEqual(["AWAITING_HARDWARE", ["WAITING"]]);
    expect(await broken()).toEqual([]);
    expect(await release(one, RESERVE, RELEASE)).toMatchObject({ ordinal: 2 });
    expect(await kindOf(two)).toBe("held");
    expect([await statusOf(two), await reservationsOf(db, two)]).toEqual(["RUNNING", ["HELD"]]);
    expect(await broken()).toEqual([]);
  });

  test("whoever asked first is served first: a large ask is not starved by small ones", async () => {
    const [small, large, late] = [await carried(), await carried(), await carried()];
    await take(small, ask(licences(2)));
    expect(await kindOf(large, licences(5))).toBe("waits");
    // Three are free, and one would fit.
    expect(await kindOf(late, licences(1))).toBe("waits");
    await release(small, RESERVE, RELEASE);
    expect(await kindOf(late, licences(1))).toBe("waits");
    expect(await kindOf(large, licences(5))).toBe("held");
    await release(large, RESERVE, RELEASE);
    expect(await kindOf(late, licences(1))).toBe("held");
  });

  test("whoever asked first and is silent, so that its claim may be lost, keeps nobody waiting", async () => {
    const [silent, late] = [await carried(), await carried()];
    const holder = await carried();
    await take(holder, ask(licences(3)));
    await take(silent, ask(licences(5)));
    expect(await kindOf(late, licences(1))).toBe("waits");
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1",
      [silent.runId],
    );
    expect(await kindOf(late, licences(1))).toBe("held");
  });

  test("asks of one run do not wait for each other, and its status says whether any waits", async () => {
    const [holder, run] = [await carried(), await carried()];
    await take(holder, ask(licences(4)));
    expect(await kindOf(run, licences(5))).toBe("waits");
    const small = { ...RESERVE, name: "small" };
    expect(await kindOf(run, licences(1, { call: small }))).toBe("held");
    expect(await statusOf(run)).toBe("AWAITING_HARDWARE");
    expect(await release(run, small, { ...RELEASE, name: "small", scope: "small{}" })).not.toBeNull();
    expect(await withdraw(run)).toBe(true);
    expect([await statusOf(run), await reservationsOf(db, run)]).toEqual(["RUNNING", ["AWAY", "RELEASED"]]);
    expect(await broken()).toEqual([]);
  });

  test("its time is counted by the ledger's clock from the first ask, over every hop; then it is unavailable, for good", async () => {
    const holder = await carried();
    await take(holder, ask());
    const run = await carried();
    expect(await kindOf(run, { waitSeconds: 60 })).toBe("waits");
    await later(59);
    expect(await kindOf(run, { waitSeconds: 60 })).toBe("waits");
    // It is handed over: whoever goes on with it has waited for as long, and keeps the place.
    expect(await withdraw(run)).toBe(true);
    const after = await carried();
    expect(await kindOf(after)).toBe("waits");
    await later(1);
    expect(await take(run, ask({ waitSeconds: 60 }))).toMatchObject({
      kind: "unavailable",
      entry: { ordinal: 1 },
    });
    expect([await statusOf(run), await reservationsOf(db, run)]).toEqual(["RUNNING", ["RELEASED"]]);
    expect(await ledger.reservations.ofRun(run)).toEqual([]);
    await release(holder, RESERVE, RELEASE);
    // The answer was lost, and the same question comes again.
    expect(await kindOf(run, { waitSeconds: 60 })).toBe("unavailable");
    expect(await broken()).toEqual([]);
  });

  test("its place is kept between two hops, for a minute: nobody who asked later has it meanwhile", async () => {
    const [holder, first, second] = [await carried(), await carried(), await carried()];
    await take(holder, ask());
    await take(first, ask());
    expect(await withdraw(first)).toBe(true);
    expect(await ledger.reservations.ofRun(first)).toMatchObject([{ capacity: "gpu", status: "AWAY" }]);
    await take(second, ask());
    await release(holder, RESERVE, RELEASE);
    await later(59);
    expect(await kindOf(second)).toBe("waits");
    expect(await kindOf(first)).toBe("held");
    expect(await reservationsOf(db, first)).toEqual(["RELEASED", "HELD"]);
    await release(first, RESERVE, RELEASE);
    expect(await kindOf(second)).toBe("held");
    expect(await broken()).toEqual([]);
  });

  test("a place that nobody comes back to within a minute holds nobody up, and its time goes on", async () => {
    const [holder, first, second] = [await carried(), await carried(), await carried()];
    await take(holder, ask());
    await take(first, ask({ waitSeconds: 70 }));
    await withdraw(first);
    await take(second, ask());
    await release(holder, RESERVE, RELEASE);
    await later(61);
    expect(await kindOf(second)).toBe("held");
    expect(await kindOf(first, { waitSeconds: 70 })).toBe("waits");
    await later(9);
    expect(await kindOf(first, { waitSeconds: 70 })).toBe("unavailable");
  });

  test("whoever asks for more than there is holds nobody up, and waits until there is more", async () => {
    const [large, small] = [await carried(), await carried()];
    expect(await take(large, ask(licences(6)))).toMatchObject({ kind: "waits", allUnits: 5 });
    expect(await kindOf(small, licences(5))).toBe("held");
    await release(small, RESERVE, RELEASE);
    await ledger.capacities.say({ licences: 6 });
    expect(await kindOf(small, licences(1, { call: { ...RESERVE, nth: 2 } }))).toBe("waits");
    expect(await kindOf(large, licences(6))).toBe("held");
  });

  test("nor does who asks for more than there is beside what it stands in", async () => {
    const [large, small] = [await carried(), await carried()];
    await take(large, ask(licences(1)));
    const inside = { ...RESERVE, scope: "gpu{}" };
    expect(await kindOf(large, licences(5, { call: inside, inside: 1 }))).toBe("waits");
    expect(await kindOf(small, licences(4))).toBe("held");
  });

  test("what was had before and is taken again writes no entry, and is never unavailable", async () => {
    const [run, other] = [await carried(), await carried()];
    await take(other, ask());
    expect(await kindOf(run, { retake: true, waitSeconds: 0 })).toBe("waits");
    await later(10);
    await withdraw(run);
    // Over all hops: whoever waits for long is to be seen.
    expect(await take(run, ask({ retake: true, waitSeconds: 0 }))).toMatchObject({
      kind: "waits",
      waitedSeconds: expect.closeTo(10, 0),
    });
    await release(other, RESERVE, RELEASE);
    expect(await take(run, ask({ retake: true }))).toEqual({ kind: "held", entry: null });
    expect(await take(run, ask({ retake: true }))).toEqual({ kind: "held", entry: null });
    expect(await ledger.journal.read(run)).toEqual([]);
  });

  test("a capacity that no configuration has said is told from a claim that is gone", async () => {
    const run = await carried();
    expect(await take(run, ask({ capacity: "unheard-of" }))).toEqual({ kind: "unknown_capacity" });
    expect(await take({ ...run, token: randomUUID() }, ask())).toBeNull();
    expect(await release({ ...run, token: randomUUID() }, RESERVE, RELEASE)).toBeNull();
    expect(await withdraw({ ...run, token: randomUUID() })).toBe(false);
    expect(await reservationsOf(db, run)).toEqual([]);
  });
});

describe("a capacity", () => {
  const capacities = () => db.admin("select name, units from ghouls.capacities order by name");

  test("that a deploy changes has the new units, one that it names no more stays, and no process changes it", async () => {
    await ledger.capacities.say({ gpu: 2 });
    // As a process of before a deploy does at its start, and where it is asked for a capacity that nobody has said.
    await db.admin("update ghouls.capacities set units = 1, updated_at = ghouls.clock() where name = 'gpu'");
    await ledger.capacities.add({ gpu: 1, licences: 7 });
    await ledger.capacities.add({});
    await ledger.capacities.say({});
    expect(await capacities()).toEqual([
      { name: "gpu", units: 2 },
      { name: "licences", units: 5 },
    ]);
  });

  test("that was lowered below what is in use is no fault, until more is granted than there is", async () => {
    const [one, two] = [await carried(), await carried()];
    await take(one, ask(licences(3)));
    await later(1);
    await ledger.capacities.say({ licences: 1 });
    expect(await broken()).toEqual([]);
    expect(await kindOf(two, licences(1))).toBe("waits");
    await later(1);
    await db.admin(
      "update ghouls.reservations set status = 'HELD', held_at = ghouls.clock() where run_id = $1",
      [two.runId],
    );
    await db.admin("update ghouls.runs set status = 'RUNNING' where run_id = $1", [two.runId]);
    expect(await broken()).toMatchObject([
      { check: "units are held by carried runs only, and no more than there are", rows: [{}, {}] },
    ]);
  });

  test.each([
    [
      "a run that waits for nothing and says it does",
      "update ghouls.runs set status = 'AWAITING_HARDWARE' where run_id = $1",
    ],
    [
      "a holder under another claim",
      "update ghouls.deliveries set token = gen_random_uuid() where run_id = $1",
    ],
  ])("doctor names %s", async (_, damage) => {
    const run = await carried();
    await take(run, ask());
    expect(await broken()).toEqual([]);
    await db.admin(damage, [run.runId]);
    expect((await broken()).map(({ check }) => check)).toEqual([
      "units are held by carried runs only, and no more than there are",
    ]);
  });
});

test.each(["AWAITING_TIMER", "CANCELLING", "COMPLETING"])(
  "a run that is %s keeps no place, and doctor names one",
  async (status) => {
    const [holder, run] = [await carried(), await carried()];
    await take(holder, ask());
    await take(run, ask());
    await withdraw(run);
    expect(await reservationsOf(db, run)).toEqual(["AWAY"]);
    await db.admin("update ghouls.runs set status = $2 where run_id = $1", [run.runId, status]);
    expect(await reservationsOf(db, run)).toEqual(["RELEASED"]);
    const faults = async () => db.admin("select problem from ghouls.doctor_reservations");
    expect(await faults()).toEqual([]);
    await db.admin("update ghouls.reservations set status = 'AWAY', released_at = null where run_id = $1", [
      run.runId,
    ]);
    expect(await faults()).toEqual([{ problem: "its place is kept, and it is not on its way" }]);
  },
);

/** What takes the claim of a run away, and what the run is then. */
const TAKEN_AWAY = {
  "a loss, where it resumes": [
    async (run: Claim) => {
      await db.admin("update ghouls.runs set on_worker_loss = 'resume' where run_id = $1", [run.runId]);
      await lose(run);
    },
    "QUEUED",
  ],
  "a loss, where it fails": [(run: Claim) => lose(run), "FAILING"],
  "a cancel": [
    (run: Claim) => ledger.runs.cancel(run, { actor: "user:ada", reason: "by a test" }, 60),
    "CANCELLING",
  ],
  "its deadline": [
    async (run: Claim) => {
      await db.admin("update ghouls.runs set deadline_at = ghouls.clock() where run_id = $1", [run.runId]);
      await ledger.runs.failOverdue({ ...run, errorText: "{}", errorDigest: "d" }, 60);
    },
    "FAILING",
  ],
} as const satisfies Record<string, readonly [(run: Claim) => Promise<unknown>, RunStatus]>;

async function lose(run: Claim): Promise<void> {
  await db.admin(
    `update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second',
       acts_until = ghouls.clock() + interval '300 seconds' where run_id = $1 and seq = $2`,
    [run.runId, run.seq],
  );
  const settings = { maxLosses: 3, actsMarginSeconds: 60, publisherGraceSeconds: 15 };
  expect(
    await ledger.deliveries.settleLost([{ ...run, errorText: "{}", errorDigest: "d" }], settings),
  ).toHaveLength(1);
}

describe.each(Object.entries(TAKEN_AWAY))(
  "a holder whose claim is taken away by %s",
  (_, [takeAway, status]) => {
    test("commits, and its units are in use until nothing of its worker acts: only then another has them", async () => {
      const [holder, waiter] = [await carried(), await carried()];
      await take(holder, ask());
      await take(waiter, ask());
      await takeAway(holder);
      expect([await statusOf(holder), await reservationsOf(db, holder)]).toEqual([status, ["LEFT"]]);
      expect(await kindOf(waiter)).toBe("waits");
      expect(await db.admin("select capacity, units, run_id, status from ghouls.units_in_use")).toEqual([
        { capacity: "gpu", units: 1, run_id: holder.runId, status: "LEFT" },
      ]);
      expect(await ledger.reservations.ofRun(holder)).toMatchObject([{ capacity: "gpu", status: "LEFT" }]);
      expect(await broken()).toEqual([]);
      // The worker's own word.
      await ledger.items.acknowledgeWorker(holder);
      expect(await db.admin("select from ghouls.units_in_use")).toEqual([]);
      expect(await ledger.reservations.ofRun(holder)).toEqual([]);
      expect(await kindOf(waiter)).toBe("held");
      // Nobody looks at it again.
      expect(await reservationsOf(db, holder)).toEqual(["RELEASED"]);
      expect(await broken()).toEqual([]);
    });

    test("and that waits for more commits as well, and waits no more", async () => {
      const [holder, waiter] = [await carried(), await carried()];
      await take(holder, ask());
      await take(waiter, ask());
      await takeAway(waiter);
      expect([await statusOf(waiter), await reservationsOf(db, waiter)]).toEqual([
        status,
        [status === "QUEUED" ? "AWAY" : "RELEASED"],
      ]);
      expect(await take(waiter, ask())).toBeNull();
      expect(await broken()).toEqual([]);
    });
  },
);

test.each([
  ["its supervisor's word and the margin", (run: Claim) => endOf(run), 61],
  ["the end of all that it may do", () => Promise.resolve(), 301],
])("units of a lost claim come back by %s", async (_, word, seconds) => {
  const [holder, waiter] = [await carried(), await carried()];
  await db.admin("update ghouls.deliveries set claimed_by = 'worker-' || run_id");
  await take(holder, ask());
  await lose(holder);
  await word(holder);
  const contain = async () => {
    for (const run of (await ledger.items.due({ limit: 10 })).found) await ledger.items.contain(run, 3);
  };
  await contain();
  expect(await kindOf(waiter)).toBe("waits");
  await later(seconds);
  await db.admin(
    "update ghouls.deliveries set lease_until = ghouls.clock() + interval '1 minute' where run_id = $1",
    [waiter.runId],
  );
  await contain();
  expect(await kindOf(waiter)).toBe("held");
});

async function endOf({ runId }: Claim): Promise<void> {
  await ledger.deliveries.recordWorkerEnd({
    worker: `worker-${runId}`,
    how: "SIGKILL",
    actsMarginSeconds: 60,
  });
}

describe("no statement can park a holder", () => {
  const DURABLE = [
    "AWAITING_CONSENT",
    "AWAITING_DELEGATE",
    "AWAITING_CHILD",
    "AWAITING_SIGNAL",
    "AWAITING_TIMER",
  ];

  test.each(DURABLE)("to %s by hand: 23503", async (status) => {
    const run = await carried();
    await take(run, ask());
    const parks = db.admin("update ghouls.runs set status = $2 where run_id = $1", [run.runId, status]);
    await expect(parks).rejects.toMatchObject({
      code: "23503",
      constraint: expect.stringContaining("holder"),
    });
    expect([await statusOf(run), await reservationsOf(db, run)]).toEqual(["RUNNING", ["HELD"]]);
  });

  test("nor one that waits, nor by the park of the protocol", async () => {
    const [holder, waiter] = [await carried(), await carried()];
    await take(holder, ask());
    await take(waiter, ask());
    const call = { epoch: 0, scope: "", kind: "sleep", name: "1h", nth: 1 } as const;
    const standing = () =>
      [
        { call, armId: randomUUID(), owner: "timer", dueAt: new Date(Date.now() + 3_600_000), tries: null },
      ] as const;
    const park = (run: Claim, journalLength: number) =>
      ledger.deliveries.parkIfClaimed(
        run,
        { workflowDigest: "hello@1", journalLength, journalDigest: "d" },
        standing(),
        { publisherGraceSeconds: 15 },
      );
    await expect(park(holder, 1)).rejects.toMatchObject({ kind: "defect" });
    await expect(park(waiter, 0)).rejects.toMatchObject({ kind: "defect" });
    expect([await statusOf(holder), await statusOf(waiter)]).toEqual(["RUNNING", "AWAITING_HARDWARE"]);
    await release(holder, RESERVE, RELEASE);
    expect(await park(holder, 2)).toMatchObject({ kind: "parked" });
  });
});
