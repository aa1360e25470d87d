import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";

const db = await testDatabase();
const ledger = db.ledger();

beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.end_acts cascade");
});

describe("the ledger says in how many seconds somebody must look:", () => {
  const seconds = async () => {
    const found = await ledger.nextLook();
    return found === null ? null : Math.round(found);
  };

  test("never, where nothing is open, whatever has ended, is paused or waits for a person", async () => {
    await makeRun(db, { status: "DONE" });
    await makeRun(db, { paused: true });
    await makeRun(db, { quarantined: true });
    await makeRun(db, { deliveryStatus: "HELD", quarantined: true });
    await makeRun(db, { status: "FAILING", quarantined: true });
    expect(await seconds()).toBeNull();
  });

  test.each([
    ["a claim", { status: "RUNNING" }, 0],
    ["a publication", { nextPublicationIn: 500 }, 500],
    ["a publication that is late", { nextPublicationIn: -5 }, -5],
    ["a hold", { deliveryStatus: "HELD" }, 3_600],
    ["an ending run with nothing left", { status: "FAILING" }, 0],
    ["a cancelled run's ending, also in quarantine", { status: "CANCELLING", quarantined: true }, 0],
    [
      "the publication of a contain delivery",
      { status: "FAILING", deliveryStatus: "PENDING", cause: "contain", nextPublicationIn: 700 },
      0,
    ],
  ] as const)("%s", async (_, options, expected) => {
    await makeRun(db, options);
    expect(await seconds()).toBe(expected);
  });

  test("a deadline, but not that of a run that is held: it has not begun, and its hold is looked after", async () => {
    const passes =
      "update ghouls.runs set deadline_at = ghouls.clock() - interval '9 seconds' where run_id = $1";
    const held = await makeRun(db, { deliveryStatus: "HELD" });
    await db.admin(passes, [held.runId]);
    expect(await seconds()).toBe(3_600);
    const due = await makeRun(db, { nextPublicationIn: 500 });
    await db.admin(passes, [due.runId]);
    expect(await seconds()).toBe(-9);
  });

  test("what follows the end of a run: its record at once, its seal after a while", async () => {
    const run = await makeRun(db, { status: "DONE" });
    await db.admin(
      `insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
       values ($1, $2, 'seal', ghouls.clock(), ghouls.clock() + interval '60 seconds')`,
      [run.tenantId, run.runId],
    );
    expect(await seconds()).toBe(60);
    await db.admin(
      "insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at) values ($1, $2, 'record', ghouls.clock(), ghouls.clock() - interval '5 seconds')",
      [run.tenantId, run.runId],
    );
    expect(await seconds()).toBe(-5);
  });

  test("an item, and the earliest of all of these, of any tenant and priority", async () => {
    const run = await makeRun(db, {
      status: "FAILING",
      deliveryStatus: "PENDING",
      cause: "contain",
      nextPublicationIn: 700,
    });
    await db.admin("update ghouls.runs set open_items = 1 where run_id = $1", [run.runId]);
    expect(await seconds()).toBe(700);
    await db.admin(
      `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
       values ($1, $2, 'worker', '1', 1, gen_random_uuid(), 'w', ghouls.clock(), ghouls.clock() + interval '600 seconds')`,
      [run.tenantId, run.runId],
    );
    expect(await seconds()).toBe(600);
    const other = await makeRun(db, { tenantId: "umbrella", nextPublicationIn: 400 });
    await db.admin("update ghouls.deliveries set priority = 0 where run_id = $1", [other.runId]);
    expect(await seconds()).toBe(400);
  });
});
