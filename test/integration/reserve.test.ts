import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import { testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext, input: unknown) => Promise<unknown> = async () => null;
const free = workflow({
  name: "free",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx, input) => body(ctx, input),
});
const world = await testWorld({ workflows: [free], capacities: { gpu: 1, licences: 5 } });
const { db } = world;
beforeEach(() => world.reset());

test("smoke", async () => {
  body = (ctx) => ctx.reserve("gpu", {}, async () => ctx.step("one", () => 1));
  const { runId } = await world.submit("free");
  await world.drain();
  console.log(await world.view(runId));
  console.log(await world.reads.getTimeline("acme", runId));
  console.log(await db.admin("select * from ghouls.reservations"));
  expect(await world.broken()).toEqual([]);
});
