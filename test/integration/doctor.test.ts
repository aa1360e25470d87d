import { beforeEach, describe, expect, test } from "vitest";
import type { RunStatus } from "@ghouls/core";
import { makeJournal, makeRun, type RunOptions } from "../support/factories.ts";
import { testDatabase } from "../support/database.ts";

const db = await testDatabase();
const ledger = db.ledger();
beforeEach(async () => {
  await db.admin("truncate ghouls.runs cascade");
});

const broken = async () => (await ledger.doctor()).filter((check) => !check.ok).map((check) => check.check);

test("a ledger with a run of every state and nothing wrong is clean", async () => {
  for (const status of [
    "QUEUED",
    "RUNNING",
    "AWAITING_HARDWARE",
    "DONE",
    "FAILED",
    "CANCELLED",
  ] as RunStatus[]) {
    const run = await makeRun(db, { status });
    if (status === "RUNNING") await makeJournal(db, run, ["one"]);
  }
  expect(await broken()).toEqual([]);
});

const item = `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  values ('acme', $1, 'worker', '1', 1, gen_random_uuid(), 'w', ghouls.clock(), ghouls.clock())`;

/** Each damage breaks exactly the invariants that it names. */
const damages: readonly [string, RunOptions, string | undefined, readonly string[]][] = [
  [
    "a claimed delivery of a queued run",
    { status: "QUEUED", deliveryStatus: "CLAIMED" },
    undefined,
    ["open deliveries agree with their run"],
  ],
  [
    "a pending delivery of a running run",
    { status: "RUNNING", deliveryStatus: "PENDING" },
    undefined,
    ["open deliveries agree with their run"],
  ],
  [
    "an open delivery of an older sequence",
    { status: "RUNNING" },
    "update ghouls.runs set enqueue_seq = 2 where run_id = $1",
    ["open deliveries agree with their run", "working runs have an open delivery"],
  ],
  [
    "a queued run whose delivery is settled",
    { status: "QUEUED", deliveryStatus: "SETTLED" },
    undefined,
    ["working runs have an open delivery"],
  ],
  [
    "a terminal run with an open delivery",
    { status: "DONE", deliveryStatus: "PENDING" },
    undefined,
    ["open deliveries agree with their run", "terminal runs have nothing open"],
  ],
  ["a terminal run with an open item", { status: "DONE" }, item, ["terminal runs have nothing open"]],
  [
    "a pending delivery that nobody will publish",
    {},
    "update ghouls.deliveries set next_publication_at = null where run_id = $1",
    ["pending deliveries have a next publication"],
  ],
  [
    "a journal that is shorter than its run says",
    {},
    "update ghouls.runs set journal_length = 2 where run_id = $1",
    ["journals are as long as their runs say"],
  ],
  ["an item that its run does not count", { status: "RUNNING" }, item, ["runs know how many items are open"]],
  [
    "an ending with nothing left to contain",
    { status: "CANCELLING" },
    undefined,
    ["ending runs have something left to contain"],
  ],
  [
    "a lapsed claim that nobody judges",
    { status: "RUNNING" },
    "update ghouls.deliveries set lease_until = ghouls.clock() - interval '6 minutes' where run_id = $1",
    ["no lost claim waits for its judgement"],
  ],
  ["a quarantined run", { quarantined: true }, undefined, ["no run is quarantined"]],
  [
    "attention",
    {},
    "update ghouls.runs set attention_reason = 'x', attention_at = ghouls.clock() where run_id = $1",
    ["no open run asks for a person"],
  ],
];

describe("doctor finds", () => {
  test.each(damages)("%s, and names its row", async (_name, options, damage, checks) => {
    const run = await makeRun(db, options);
    if (damage !== undefined) await db.admin(damage, [run.runId]);
    expect(await broken()).toEqual(checks);
    const rows = (await ledger.doctor()).flatMap((check) => check.rows);
    expect(new Set(rows.map((row) => row["run_id"]))).toEqual(new Set([run.runId]));
  });
});

test("a schema that is older than the code is the first thing it says", async () => {
  await db.admin("delete from ghouls.migrations where number = (select max(number) from ghouls.migrations)");
  const [first] = await ledger.doctor();
  expect(first).toMatchObject({ check: "the schema is up to date", ok: false });
});
