import { expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { testQueue } from "../support/queue.ts";
import { NEWEST, frozenEngine } from "./engines.ts";
import { advance, databaseAt, inhabit } from "./world.ts";

/** The engine before children carries runs that are some, and runs that have some: it must leave the new one nothing undone. */

const queue = (await testQueue()).open();
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const child = workflow({ ...base, name: "child", run: () => Promise.resolve("done") });
const stands = workflow({ ...base, name: "stands", run: (ctx) => ctx.sleep("30d") });
const parent = workflow({
  ...base,
  name: "parent",
  run: async (ctx, input) => (await ctx.child(input === "stands" ? stands : child, null)).outcome,
});
const workflows = [child, stands, parent];

async function beside() {
  const db = await databaseAt(NEWEST.number);
  const old = inhabit(await frozenEngine(9), db, queue, workflows);
  const now = inhabit(NEWEST, db, queue, workflows);
  const childOf = async (runId: string) =>
    (
      await db.admin<{ run_id: string }>("select run_id from ghouls.runs where parent_run_id = $1", [runId])
    )[0]?.run_id ?? "";
  return { db, old, now, childOf };
}

test("a child that engine 9 ends brings its parent back", async () => {
  const { old, now, childOf, db } = await beside();
  const runId = await now.submit("parent");
  await now.deliver(runId, 1);
  expect(await now.view(runId)).toMatchObject({ status: "AWAITING_CHILD" });
  expect(await old.deliver(await childOf(runId), 1)).toMatchObject({ reason: "DONE" });
  expect(await now.view(runId)).toMatchObject({ status: "AWAITING_CHILD" });
  await now.reconcile();
  await now.deliver(runId, 2);
  expect(await now.view(runId)).toMatchObject({ status: "DONE", output: "DONE" });
  expect((await now.ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
  expect(await db.admin("select from ghouls.child_ends")).toEqual([]);
  await old.close();
  await now.close();
});

test("a parent that engine 9 cancels contains its child, which the new one cancels", async () => {
  const { old, now, childOf, db } = await beside();
  const runId = await now.submit("parent", { input: "stands" });
  await now.deliver(runId, 1);
  const childRunId = await childOf(runId);
  await now.deliver(childRunId, 1);
  const key = { tenantId: "acme", runId };
  const word = { actor: "user:ada", reason: "enough" };
  expect(await old.ledger.runs.cancel(key, word, 60)).toMatchObject({ status: "CANCELLING" });
  // It knows of no such item, and ends nothing that has one.
  await old.reconcile();
  expect(await now.view(runId)).toMatchObject({ status: "CANCELLING" });
  await advance(db, 60);
  await now.reconcile();
  await advance(db, 60);
  await now.reconcile();
  expect(await now.view(childRunId)).toMatchObject({ status: "CANCELLED" });
  expect(await now.view(runId)).toMatchObject({ status: "CANCELLED" });
  expect((await now.ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
  await old.close();
  await now.close();
});
