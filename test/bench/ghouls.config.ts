import { defineConfig, workflow } from "ghouls";
import * as z from "zod";

/** The configuration of the benchmark: the parts are told by its environment how many workers there are. */

/** Its one line is its end: what a run costs by itself. */
const zeroStep = workflow({
  name: "zero-step",
  version: 1,
  onWorkerLoss: "resume",
  input: z.null(),
  run: () => Promise.resolve(null),
});

/** Each step says when it ran, so that the first one's result is the time of the first line. */
const tenStep = workflow({
  name: "ten-step",
  version: 1,
  onWorkerLoss: "resume",
  input: z.null(),
  async run(ctx) {
    for (let at = 1; at <= 10; at += 1) await ctx.step(`s${at}`, () => Date.now());
    return null;
  },
});

/** Its timer is near enough to come as a message. */
const nap = workflow({
  name: "nap",
  version: 1,
  onWorkerLoss: "resume",
  input: z.null(),
  async run(ctx) {
    await ctx.sleep("2s");
    return null;
  },
});

/** Its last hop replays as many entries as it is told, and sleeps before it, so that it is a hop of its own. */
const long = workflow({
  name: "long",
  version: 1,
  onWorkerLoss: "resume",
  input: z.null(),
  async run(ctx) {
    const entries = Number(process.env["BENCH_ENTRIES"] ?? 5_000);
    await ctx.map(
      "entries",
      Array.from({ length: entries }, (_, index) => index),
      (index) => ctx.step("one", () => index),
    );
    await ctx.sleep("2s");
    return null;
  },
});

const served = {
  concurrency: Number(process.env["BENCH_WORKERS"] ?? 2),
  batchSize: Number(process.env["BENCH_BATCH"] ?? 5),
};

export default defineConfig({
  workflows: [zeroStep, tenStep, nap, long],
  // No worker serves "idle": there admission is measured by itself.
  queues: { runs: served, idle: {} },
});
