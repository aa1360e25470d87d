import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { noHint, type QueuePort } from "@ghouls/core";
import { hintWorld } from "../support/hint-world.ts";
import { makeRun } from "../support/factories.ts";
import { SOMEBODY, requestOf } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("hello"),
});
const world = await hintWorld({ workflows: [hello] });
const { db, dynamo, clock, ledger } = world;
const HOUR = 3_600_000;

beforeEach(async () => {
  await world.idle();
  world.logged.length = 0;
});

const warnings = () => world.logged.filter((line) => line.level === "warn").map((line) => line.message);
const callsIn = async (what: () => Promise<unknown>): Promise<readonly string[]> => {
  const before = dynamo.calls.length;
  await what();
  return dynamo.calls.slice(before);
};

/** Loses what SQS has confirmed; answers how many. */
async function dropMessages(): Promise<number> {
  const messages = await world.queue.receive("runs", { max: 10, waitSeconds: 0 });
  for (const { receiptHandle } of messages) await world.queue.delete("runs", receiptHandle);
  return messages.length;
}

/** Commits a run as a process does that dies before it publishes. */
async function admitAndDie(): Promise<void> {
  const client = await db.client("application");
  await client.query("begin");
  await world.admission.admitIn(client, SOMEBODY, requestOf({ workflow: "hello", input: null }));
  await client.query("commit");
}

describe("while nothing is open", () => {
  test("the ledger is looked at once in an hour, and is said to be left alone until then", async () => {
    expect((await world.state())?.dueAtMs).toBe(clock.wallMs() + HOUR);
    expect(await world.invoke()).toEqual({
      skipped: true,
      until: new Date(clock.wallMs() + HOUR).toISOString(),
    });
    expect(await world.minutes(180)).toEqual([60, 120, 180]);
    expect(warnings()).toEqual([]);
  });

  test("a message that is dropped is published again within two minutes", async () => {
    await world.minutes(7);
    await world.submit("hello");
    expect(await dropMessages()).toBe(1);
    expect(await world.minutes(2)).toEqual([1, 2]);
    expect(await dropMessages()).toBeGreaterThan(0);
  });

  test("a run whose process died before it published is published within two minutes", async () => {
    await world.minutes(7);
    await admitAndDie();
    await world.minutes(2);
    expect(await dropMessages()).toBeGreaterThan(0);
  });

  test("a claim is looked after every minute, and the hour comes back with its settlement", async () => {
    const { runId } = await world.submit("hello");
    const token = "00000000-0000-4000-8000-000000000001";
    await ledger.deliveries.claimIfDue([{ runId, enqueueSeq: 1, token }], {
      worker: "w",
      leaseSeconds: 86_400,
      actsForSeconds: 86_400,
    });
    expect(await world.minutes(20)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    await ledger.deliveries.settleIfClaimed(
      { tenantId: SOMEBODY.tenantId, runId, seq: 1, token },
      { status: "DONE", outputText: "1", outputDigest: "d" },
    );
    expect(await world.minutes(61)).toEqual([1, 61]);
  });
});

test("an item that waits for a person's word costs one look at each of its times, and the looks open nothing", async () => {
  const run = await makeRun(db, { status: "FAILING" });
  await db.admin("update ghouls.runs set open_items = 1 where run_id = $1", [run.runId]);
  await db.admin(
    `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, tries, created_at, next_look_at)
     values ($1, $2, 'worker', '1', 1, gen_random_uuid(), 'w', 8, ghouls.clock(), ghouls.clock())`,
    [run.tenantId, run.runId],
  );
  await world.pass(3_600);
  const before = await world.state();
  expect(await world.minutes(45)).toEqual([1, 11, 21, 31, 41]);
  expect((await world.state())?.version).toBe(before?.version);
  // The operator's word ends the run, and lowers the hint before its commit.
  await ledger.items.acknowledge(run, { kind: "worker", key: "1", by: "operator", words: "seen" });
  expect((await world.state())?.version).toBeGreaterThan(before?.version ?? 0);
});

describe("whatever opens work lowers the hint:", () => {
  const lowered = async (opening: () => Promise<unknown>): Promise<void> => {
    const before = await world.state();
    await opening();
    const after = await world.state();
    expect(after?.version).toBeGreaterThan(before?.version ?? 0);
    expect(after?.dueAtMs).toBeLessThanOrEqual(clock.wallMs());
    expect(await world.minutes(1)).toEqual([1]);
  };

  test("an admission, a batch, and one in a caller's transaction before its commit", async () => {
    await lowered(() => world.submit("hello"));
    await world.idle();
    await lowered(() =>
      world.admission.admitBatch(SOMEBODY, [requestOf({ workflow: "hello", input: null })]),
    );
    await world.idle();
    const client = await db.client("application");
    await client.query("begin");
    const request = requestOf({ workflow: "hello", input: null });
    await lowered(() => world.admission.admitIn(client, SOMEBODY, request));
    await client.query("rollback");
  });

  test("a receipt that is published long after it was made, also of a held run", async () => {
    const client = await db.client("application");
    for (const held of [false, true]) {
      await world.idle();
      await client.query("set idle_in_transaction_session_timeout = 0");
      await client.query("begin");
      const request = requestOf({ workflow: "hello", input: null, held });
      const receipt = await world.admission.admitIn(client, SOMEBODY, request);
      // Longer than any grace: the reconciler has seen nothing, and sleeps.
      await world.minutes(3);
      expect((await world.state())?.dueAtMs).toBeGreaterThan(clock.wallMs());
      await client.query("commit");
      await lowered(() => world.admission.publish(receipt));
    }
  });

  test("a release, a cancel and a worker's end", async () => {
    const { runId } = await world.submit("hello", null, { held: true, holdFor: "10h" });
    await world.minutes(3);
    await lowered(() => world.admission.release(SOMEBODY, runId));
    const key = { tenantId: SOMEBODY.tenantId, runId };
    await world.pass(300);
    await lowered(() => ledger.runs.cancel(key, { actor: "user:ada", reason: "by a test" }, 60));
    await world.pass(300);
    await lowered(() => ledger.deliveries.recordWorkerEnd({ worker: "w", how: "exit 1" }));
  });
});

describe("one process", () => {
  test("admits a hundred runs at once with one lowering, and goes on for half a minute without another", async () => {
    // The hint lies ahead: the first of the two conditional updates fails, the second lowers it.
    expect(
      await callsIn(() => Promise.all(Array.from({ length: 100 }, () => world.submit("hello")))),
    ).toEqual(["UpdateItem", "UpdateItem"]);
    await world.pass(29);
    expect(await callsIn(() => world.submit("hello"))).toEqual([]);
    await world.pass(2);
    expect(await callsIn(() => world.submit("hello"))).toEqual(["UpdateItem"]);
  });
});

describe("where DynamoDB", () => {
  test.each(["throttled", "silent"] as const)(
    "is %s when the hint is lowered, an admission goes on, and its dropped message costs at most the hour",
    async (mode) => {
      dynamo.be(mode, "UpdateItem");
      await world.submit("hello");
      expect(warnings()).toEqual([
        "the reconciler's hint could not be lowered; its hourly look stands in for it",
      ]);
      await dropMessages();
      dynamo.be("up");
      expect(await world.minutes(60)).toEqual([60]);
      expect(await dropMessages()).toBe(1);
    },
  );

  test.each(["throttled", "silent"] as const)(
    "is %s when the hint is read, the ledger is looked at, and no hint is raised that was not read",
    async (mode) => {
      const before = await world.state();
      dynamo.be(mode);
      const calls = await callsIn(async () => {
        expect(await world.minutes(2)).toEqual([1, 2]);
      });
      expect(calls).toEqual(["GetItem", "GetItem"]);
      expect(warnings()).toEqual([
        "the hint could not be read: the ledger is looked at",
        "the hint could not be read: the ledger is looked at",
      ]);
      dynamo.be("up");
      expect(await world.state()).toEqual(before);
      expect(await world.minutes(1)).toEqual([]);
    },
  );

  test.each(["throttled", "silent"] as const)(
    "is %s when the hint is raised, the look has been taken, and the next invocation looks again",
    async (mode) => {
      await world.pass(3_600);
      dynamo.be(mode, "UpdateItem");
      expect(await world.minutes(2)).toEqual([1, 2]);
      expect(warnings()).toEqual(["the hint could not be raised", "the hint could not be raised"]);
      dynamo.be("up");
      expect(await world.minutes(2)).toEqual([1]);
    },
  );

  test("has lost the hint, the next invocation looks and writes it again", async () => {
    await world.submit("hello");
    await dropMessages();
    await dynamo.forget();
    expect(await world.minutes(1)).toEqual([1]);
    expect(await dropMessages()).toBe(1);
  });

  test("has lost it behind the back of a process that relies on its lowering, it costs at most the hour", async () => {
    await world.submit("hello");
    await world.drain();
    // Its seal would be looked for after a minute.
    await world.db.admin("delete from ghouls.end_acts");
    await dynamo.forget();
    // Absent: the ledger is looked at, nothing is open, and the hint is written an hour ahead.
    await world.invoke();
    expect(await callsIn(() => world.submit("hello"))).toEqual([]);
    await dropMessages();
    expect(await world.minutes(60)).toEqual([60]);
    expect(await dropMessages()).toBe(1);
  });
});

test("where the hint is turned off, each invocation looks, and the ledger is not asked what is due next", async () => {
  const asked = { ...ledger, nextLook: () => Promise.reject(new Error("asked")) };
  const calls = await callsIn(async () => {
    for (let invocation = 0; invocation < 3; invocation += 1)
      expect(await world.invoke({ hint: noHint, ledger: asked })).toMatchObject({ relay: { pages: 1 } });
  });
  expect(calls).toEqual([]);
  expect(warnings()).toEqual([]);
});

describe("the hint is not raised", () => {
  const due = async () => {
    await world.pass(3_600);
    return world.state();
  };

  test("by a look in which a pass was interrupted", async () => {
    const before = await due();
    const broken = {
      ...ledger,
      deliveries: { ...ledger.deliveries, lapsed: () => Promise.reject(new Error("cut")) },
    };
    expect(await world.invoke({ ledger: broken })).toMatchObject({ reanimation: { error: "Error" } });
    expect(await world.state()).toEqual(before);
  });

  test("by one in which a part of a page failed, whatever the ledger says afterwards", async () => {
    await admitAndDie();
    await world.pass(180);
    const before = await world.state();
    const optimist = { ...ledger, nextLook: () => Promise.resolve(null) };
    const queue: Pick<QueuePort, "publish"> = {
      publish: (all) =>
        Promise.resolve({
          confirmed: [],
          failed: all.map((publication) => ({ publication, reason: "down" })),
        }),
    };
    expect(await world.invoke({ queue, ledger: optimist })).toMatchObject({ relay: { found: 1, failed: 1 } });
    expect(await world.state()).toEqual(before);
    await world.invoke({ ledger: optimist });
    expect((await world.state())?.dueAtMs).toBe(clock.wallMs() + HOUR);
  });

  test("by one that had no time for its passes", async () => {
    const before = await due();
    expect(await world.invoke({ remainingMs: () => 0 })).toMatchObject({ relay: { pages: 0 } });
    expect(await world.state()).toEqual(before);
  });

  test("where the ledger cannot say what is due next", async () => {
    const before = await due();
    const silent = { ...ledger, nextLook: () => Promise.reject(new Error("cut")) };
    expect(await world.invoke({ ledger: silent })).toMatchObject({ relay: { found: 0 } });
    expect(await world.state()).toEqual(before);
    expect(warnings()).toEqual(["the hint could not be raised"]);
  });
});
