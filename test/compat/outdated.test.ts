import { describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "ghouls";
import { testQueue } from "../support/queue.ts";
import { NEWEST, frozenEngine, predecessorOf } from "./engines.ts";
import { workflows } from "./workflows.ts";
import { advance, databaseAt, inhabit, migrateOn } from "./world.ts";

const queue = (await testQueue()).open();

/** The oldest schema that the newest engine's statements of admission, of claims and of keys fit, and its views of doctor. */
const ADMITS_FROM = 8;
const CARRIES_FROM = 16;
const KNOWS_KEYS_FROM = 6;
const DOCTOR_FROM = 3;
const older = Array.from({ length: NEWEST.number - 1 }, (_, index) => index + 1);

describe.each(older)("the newest engine on schema %i, where the migrator was forgotten", (schema) => {
  test("says that the schema is outdated, refuses what it cannot do, and loses nothing", async () => {
    const db = await databaseAt(schema);
    const old = inhabit(await frozenEngine(predecessorOf(schema + 1)), db, queue, workflows);
    const now = inhabit(NEWEST, db, queue, workflows);
    const outdated = { code: "schema_outdated", kind: "schema" };
    const runId = await old.submit("resumes");
    expect(await now.ledger.schemaVersion()).toEqual({ applied: schema, known: NEWEST.number });
    if (schema < DOCTOR_FROM) await expect(now.ledger.doctor()).rejects.toMatchObject(outdated);
    const admits = schema >= ADMITS_FROM;
    const admitted = await now.submit("resumes").catch((error: unknown) => error);
    if (admits) expect(admitted).toEqual(expect.any(String));
    else expect(admitted).toMatchObject(outdated);
    // Nobody is let in, and nobody is told that a key is unknown.
    if (schema < KNOWS_KEYS_FROM) await expect(now.ledger.keys.byId("k")).rejects.toMatchObject(outdated);
    // Where it cannot claim, the message comes back, and its delivery is as it was.
    const carries = schema >= CARRIES_FROM;
    expect(await now.deliver(runId, 1)).toMatchObject({ done: carries });
    expect(await old.view(runId)).toMatchObject({ status: carries ? "DONE" : "QUEUED", enqueueSeq: 1 });

    await migrateOn(db, schema, NEWEST.number);
    const made = [runId, ...(admits ? [admitted as string] : [])];
    for (const one of made) {
      if (one !== runId || !carries) expect(await now.deliver(one, 1)).toMatchObject({ reason: "DONE" });
      expect(await now.view(one)).toMatchObject({ status: "DONE", output: "end" });
    }
    expect(await db.admin("select from ghouls.runs")).toHaveLength(made.length);
    expect((await now.ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
    await old.close();
    await now.close();
  });
});

test("engine 1 does not see an effect whose outcome nobody knows: it may end that run, and doctor names it", async () => {
  const pays = workflow({
    name: "pays",
    version: 1,
    onWorkerLoss: "resume",
    input: z.unknown(),
    run: (ctx) => ctx.step("pay", () => "paid", { effect: "once" }),
  });
  const db = await databaseAt(NEWEST.number);
  const old = inhabit(await frozenEngine(1), db, queue, [pays]);
  const now = inhabit(NEWEST, db, queue, [pays]);
  const lost = async () => {
    const runId = await now.submit("pays");
    const call = { epoch: 0, scope: "", kind: "step", name: "pay", nth: 1 } as const;
    await now.ledger.intents.openIfClaimed(await now.claim(runId), call, 1);
    await advance(db, 130);
    await now.reconcile();
    return runId;
  };
  // While the lost worker may act, its item keeps the run open for every engine.
  const held = await lost();
  expect(await old.deliver(held, 2)).toMatchObject({ done: false });
  expect(await now.view(held)).toMatchObject({ status: "RUNNING" });
  // Once the item is acknowledged, only the intent is left, which engine 1 does not look at. No run of a workflow that
  // says `effect` was admitted by a build of engine 1, which refuses the option: a deploy has both for its overlap only.
  const open = await lost();
  await advance(db, 1_000);
  await now.reconcile();
  expect(await old.deliver(open, 2)).toMatchObject({ done: true, reason: "FAILED" });
  const broken = (await now.ledger.doctor()).filter(
    (check) => !check.ok && check.check.startsWith("terminal"),
  );
  expect(broken).toMatchObject([{ rows: [{ run_id: open, status: "FAILED", effect: "pay" }] }]);
  await old.close();
  await now.close();
});
