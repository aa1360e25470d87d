import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, expect, test } from "vitest";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const called: string[] = [];
let flaky = 0;
const trains = workflow({
  name: "trains",
  version: 1,
  onWorkerLoss: "resume",
  input: z.string(),
  run: (ctx, who) =>
    ctx.reserve("gpu", {}, async () => {
      await ctx.step("load", () => called.push(`${who} loads`));
      await ctx.step(
        "train",
        () => {
          called.push(`${who} trains`);
          if ((flaky -= 1) >= 0) throw new Error("not yet");
        },
        { tries: 2, backoff: { initial: "1h", max: "1h" } },
      );
      return who;
    }),
});

await databaseOfTheRun();
const ghouls = await startGhouls({ config: defineConfig({ workflows: [trains], capacities: { gpu: 1 } }) });
afterAll(() => ghouls.stop());
afterEach(async () => {
  called.length = 0;
  flaky = 0;
  await ghouls.reset();
});
const passedSince = async (before: Date) => (await ghouls.clock.now()).getTime() - before.getTime();

test("a test has the units of its configuration, and runs have them one after another", async () => {
  const [ada, bob] = [await ghouls.submit(trains, "ada"), await ghouls.submit(trains, "bob")];
  expect(await bob.result()).toEqual({ outcome: "RESERVED", value: "bob" });
  expect(await ada.result()).toEqual({ outcome: "RESERVED", value: "ada" });
  expect((await ada.steps()).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    "reserve gpu",
    "step load",
    "step train",
    "release gpu",
  ]);
});

test("units of a worker that is lost come back as time moves on, to the run itself and to others: nothing waits in real time", async () => {
  const run = await ghouls.submit(trains, "ada");
  run.crashAfter("load");
  const before = await ghouls.clock.now();
  expect(await run.result()).toMatchObject({ outcome: "RESERVED" });
  expect(called).toEqual(["ada loads", "ada loads", "ada trains"]);
  expect(await passedSince(before)).toBeGreaterThanOrEqual(15 * 60_000);
  const next = await ghouls.submit(trains, "bob");
  expect(await next.result()).toMatchObject({ outcome: "RESERVED" });
});

test("the next try of a step comes much later, by the clock of the test, with the units taken again", async () => {
  flaky = 1;
  const run = await ghouls.submit(trains, "ada");
  const before = await ghouls.clock.now();
  expect(await run.result()).toMatchObject({ outcome: "RESERVED" });
  expect(called).toEqual(["ada loads", "ada trains", "ada trains"]);
  expect(await passedSince(before)).toBeGreaterThanOrEqual(1_800_000);
});
