import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { identityCodec, type Codec } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

const calls: string[] = [];
let release = Promise.withResolvers<void>();
let begun = Promise.withResolvers<void>();
let codecFails = false;
const any = z.unknown();
const base = { version: 1, onWorkerLoss: "resume", input: any } as const;
const fails =
  (name: string) =>
  ({ tryNumber }: { tryNumber: number }) => {
    calls.push(`${name} ${tryNumber}`);
    throw new Error("not yet");
  };

/** A waits 300 ms for its next try while B is in flight, and the process drains meanwhile. */
const beside = workflow({
  ...base,
  name: "beside",
  run: (ctx) =>
    Promise.allSettled([
      ctx.step("a", fails("a"), { tries: 2, backoff: { initial: "1s", factor: 1 } }),
      ctx.step("b", async () => {
        begun.resolve();
        await release.promise;
      }),
    ]).then(() => "end"),
});

/** B's outcome is unknown while A waits an hour. */
const unknown = workflow({
  ...base,
  name: "unknown",
  run: (ctx) =>
    Promise.allSettled([
      ctx.step("a", fails("a"), { tries: 2, backoff: { initial: "1h", factor: 1 } }),
      ctx.step(
        "b",
        async () => {
          await new Promise((resolve) => setTimeout(resolve, 50));
          throw new Error("connection reset");
        },
        { effect: "once", probe: () => ({ outcome: "happened", result: 1 }) },
      ),
    ]).then(() => "end"),
});

/** A waits an hour beside a consent that the codec cannot encode just now. */
const frozen = workflow({
  ...base,
  name: "frozen",
  run: (ctx) =>
    Promise.allSettled([
      ctx.step("a", fails("a"), { tries: 2, backoff: { initial: "1h", factor: 1 } }),
      ctx.consent("go", { deciders: ["role:legal"] }),
    ]).then(() => "end"),
});

/** One try fits into an invocation, two do not. */
const long = workflow({
  ...base,
  name: "long",
  run: async (ctx) => {
    try {
      return await ctx.step("a", fails("a"), {
        tries: 3,
        timeout: "10m",
        backoff: { initial: "100ms", factor: 1 },
      });
    } catch {
      return "caught";
    }
  },
});

const codec: Codec = {
  ...identityCodec,
  encode: (text, context) => {
    if (codecFails && context.kind === "consent") throw new Error("KMS is away");
    return identityCodec.encode(text, context);
  },
};

const world = await testWorld({
  workflows: [beside, unknown, frozen, long],
  codec,
  settings: { residentDelayMs: 50 },
});
beforeEach(() => {
  calls.length = 0;
  codecFails = false;
  release = Promise.withResolvers();
  begun = Promise.withResolvers();
});
afterEach(() => world.reset());

describe("a step whose next try waits", () => {
  it("has had its try when the process drains and the try falls due before the handover", async () => {
    const { runId } = await world.submit("beside");
    const draining = new AbortController();
    const hop = world.deliver([`run:${runId}:1`], { draining: draining.signal });
    await begun.promise;
    await expect.poll(() => calls).toEqual(["a 1"]);
    draining.abort();
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    release.resolve();
    await hop;
    for (let n = 0; n < 4; n += 1) {
      await world.drain();
      await world.advance(60);
      await world.reconcile();
    }
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(calls).toEqual(["a 1", "a 2"]);
  });

  it("is not tried at once because another step's effect is unknown", async () => {
    const { runId } = await world.submit("unknown");
    await world.drain();
    await world.advance(5);
    await world.reconcile();
    await world.drain();
    expect(calls).toEqual(["a 1"]);
    await world.advance(3_700);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(calls).toEqual(["a 1", "a 2"]);
  });

  it("is not tried again and again because a codec is away", async () => {
    codecFails = true;
    await world.submit("frozen");
    for (let n = 0; n < 5; n += 1) {
      await world.drain();
      await world.advance(31);
      await world.reconcile();
    }
    expect(calls).toEqual(["a 1"]);
  });
});

it("a step of which one try fits into an invocation has all its tries, and its error reaches the code", async () => {
  const { runId } = await world.submit("long");
  for (let n = 1; n <= 4; n += 1) {
    const before = calls.length;
    // After the first call of this hop too little is left.
    const remainingMs = () => (calls.length === before ? 900_000 : 120_000);
    await world.deliver([`run:${runId}:${n}`], {}, { limitMs: 900_000, remainingMs });
  }
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "caught" });
  expect(calls).toEqual(["a 1", "a 2", "a 3"]);
});
