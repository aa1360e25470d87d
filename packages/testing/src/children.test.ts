import { afterAll, beforeEach, expect, test } from "vitest";
import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const sleeps = workflow({ ...base, name: "sleeps", run: (ctx) => ctx.sleep("2d").then(() => "slept") });
const middle = workflow({
  ...base,
  name: "middle",
  run: async (ctx) => (await ctx.child(sleeps, null)).outcome,
});
const parent = workflow({
  ...base,
  name: "parent",
  run: (ctx) => ctx.map("parts", [1, 2], () => ctx.child(middle, null).then(({ outcome }) => outcome)),
});

await databaseOfTheRun();
const ghouls = await startGhouls({ config: defineConfig({ workflows: [sleeps, middle, parent] }) });
afterAll(() => ghouls.stop());
beforeEach(() => ghouls.reset());

test("a run carries on what it has started, and what that has, and their timers move the clock", async () => {
  const run = await ghouls.submit(parent, null);
  expect(await run.result()).toEqual(["DONE", "DONE"]);
});
