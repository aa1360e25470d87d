import { expect, test } from "vitest";
import * as z from "zod";
import { NonRetryableError, StepFailedError, workflow } from "ghouls";
import { testWorld } from "../support/world.ts";

let calls: string[] = [];

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ name: z.string() }),
  output: z.object({ greeting: z.string() }),
  async run(ctx, { name }) {
    const greeting = await ctx.step("greet", () => {
      calls.push(`greet ${name}`);
      return `Hello, ${name}.`;
    });
    return { greeting };
  },
});

const echo = workflow({
  name: "echo",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx, input) {
    const value = await ctx.step("echo", () => input);
    return { value, isUndefined: value === undefined };
  },
});

const flaky = workflow({
  name: "flaky",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ failures: z.int(), how: z.enum(["error", "final"]) }),
  async run(ctx, { failures, how }) {
    const keys: string[] = [];
    try {
      return await ctx.step(
        "try",
        ({ tryNumber, idempotencyKey }) => {
          keys.push(idempotencyKey);
          if (tryNumber <= failures)
            throw how === "final" ? new NonRetryableError("never") : new Error("not yet");
          return { tryNumber, keys: new Set(keys).size };
        },
        { tries: 3, backoff: { initial: "1ms" } },
      );
    } catch (error) {
      if (!(error instanceof StepFailedError)) throw error;
      return { caught: error.failure.message, tries: error.tries };
    }
  },
});

const world = await testWorld({ workflows: [hello, echo, flaky] });

test("a run is admitted, published, claimed, carried and settled once", async () => {
  calls = [];
  const admitted = await world.submit("hello", { name: "Ada" });
  expect(admitted).toMatchObject({
    created: true,
    status: "QUEUED",
    enqueueSeq: 1,
    queue: "runs",
    priority: 5,
  });
  expect(await world.drain()).toMatchObject([{ done: true, reason: "DONE" }]);
  const view = await world.view(admitted.runId);
  expect(view).toMatchObject({ status: "DONE", output: { greeting: "Hello, Ada." }, steps: 1, error: null });
  expect(calls).toEqual(["greet Ada"]);
  const timeline = await world.reads.getTimeline("acme", admitted.runId);
  expect(timeline?.entries.map((entry) => entry.kind)).toEqual([
    "admitted",
    "delivery",
    "published",
    "claimed",
    "step",
    "settled",
    "finished",
  ]);
});

test("a message delivered three times at once settles the run once and loses nothing", async () => {
  calls = [];
  const runs = await Promise.all(["a", "b", "c"].map((name) => world.submit("hello", { name })));
  const outcomes = await world.drain({ copies: 3 });
  for (const { runId } of runs) expect((await world.view(runId)).status).toBe("DONE");
  expect(calls.toSorted()).toEqual(["greet a", "greet b", "greet c"]);
  expect(outcomes.filter((outcome) => outcome.reason === "DONE")).toHaveLength(3);
});

test.each([
  ["an empty list", []],
  ["a list", [1]],
  ["a text", "a"],
  ["a text of digits", "123"],
  ["null", null],
  ["true", true],
  ["a date as text", "2026-11-29T00:00:00.000Z"],
  ["emoji", "🧟‍♀️ \u{10FFFF}"],
  ["an object", { a: { b: [1.5, -0.25, 1e21 / 1e20] } }],
])("%s comes back equal", async (_name, input) => {
  const { runId } = await world.submit("echo", input);
  await world.drain();
  expect((await world.view(runId)).output).toEqual({ value: input, isUndefined: false });
});

test("a step is tried again with the same key, and its failure is caught by the code", async () => {
  const again = await world.submit("flaky", { failures: 2, how: "error" });
  const used = await world.submit("flaky", { failures: 3, how: "error" });
  const final = await world.submit("flaky", { failures: 1, how: "final" });
  await world.drain();
  expect((await world.view(again.runId)).output).toEqual({ tryNumber: 3, keys: 1 });
  expect((await world.view(used.runId)).output).toEqual({ caught: "not yet", tries: 3 });
  expect((await world.view(final.runId)).output).toEqual({ caught: "never", tries: 1 });
});

test("all messages lost: the relay publishes again and every run ends", async () => {
  const runs = await Promise.all(["d", "e"].map((name) => world.submit("hello", { name })));
  for (const name of ["runs", "rites"]) {
    for (const message of await world.queue.receive(name, { max: 10, waitSeconds: 0 })) {
      await world.queue.delete(name, message.receiptHandle);
    }
  }
  expect(await world.reconcile()).toMatchObject({ relay: { found: 0 } });
  await world.advance(61);
  expect(await world.reconcile()).toMatchObject({ relay: { found: 2, repaired: 2 } });
  await world.drain();
  for (const { runId } of runs) expect((await world.view(runId)).status).toBe("DONE");
});

test("nothing that this file did breaks an invariant", async () => {
  expect((await world.ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
});
