import { workflow } from "ghouls";
import { afterAll, afterEach, expect, test } from "vitest";
import * as z from "zod";
import { startGhouls } from "./start.ts";

let tries = 0;
const talker = workflow({
  name: "talker",
  version: 1,
  onWorkerLoss: "resume",
  input: z.null(),
  async run(ctx) {
    ctx.stream("progress", "begins");
    await ctx.step("says", () => {
      for (const word of ["good ", "evening"]) ctx.stream("tokens", word);
    });
    await ctx.sleep("1h");
    ctx.stream("progress", "slept");
    const twice = () => {
      ctx.stream("tokens", `try ${(tries += 1)}`);
      if (tries === 1) throw new Error("once more");
    };
    await ctx.step("again", twice, { tries: 2, backoff: { initial: "1ms" } });
    ctx.stream("progress", "ends");
  },
});

const ghouls = await startGhouls({ workflows: [talker] });
afterAll(() => ghouls.stop());
afterEach(async () => {
  tries = 0;
  await ghouls.reset();
});

test("a run's live words are there in their order, each once for each time it was said, and by channel", async () => {
  const run = await ghouls.submit(talker, null);
  expect(run.streamed()).toEqual([]);
  await run.carryOn();
  const first = [
    { channel: "progress", chunk: "begins" },
    { channel: "tokens", chunk: "good " },
    { channel: "tokens", chunk: "evening" },
  ];
  expect(run.streamed()).toEqual(first);
  await run.result();
  expect(run.streamed("tokens").map(({ chunk }) => chunk)).toEqual(["good ", "evening", "try 1", "try 2"]);
  expect(run.streamed("progress").map(({ chunk }) => chunk)).toEqual(["begins", "slept", "ends"]);
  expect(run.streamed("nothing")).toEqual([]);
  // None of it is in the ledger.
  expect(JSON.stringify(await run.timeline())).not.toContain("evening");
});

test("what a lost worker has said was said; it says no more, and the next one says it again", async () => {
  const run = await ghouls.submit(talker, null);
  run.crashAfter("says");
  await run.carryOn();
  await ghouls.clock.advance("20m");
  expect(run.streamed("tokens").map(({ chunk }) => chunk)).toEqual(["good ", "evening", "good ", "evening"]);
});

test("reset forgets what was said", async () => {
  const run = await ghouls.submit(talker, null);
  await run.carryOn();
  await ghouls.reset();
  expect(run.streamed()).toEqual([]);
});
