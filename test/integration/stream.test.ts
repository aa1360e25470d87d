import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import { MAX_CHUNK_BYTES, noLiveStream, type LiveEvent } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let said: LiveEvent[] = [];
let ended: string[] = [];
let breaks = false;
let checks = 0;
const any = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => body(ctx),
});
const world = await testWorld({
  workflows: [any],
  faults: (point) => {
    if (point === "worker.after-replay-check") checks += 1;
  },
});
const live = {
  ...noLiveStream,
  write: (event: LiveEvent) => {
    if (breaks) throw new RangeError("full");
    said.push(event);
  },
  end: ({ enqueueSeq }: Pick<LiveEvent, "enqueueSeq">) => void ended.push(String(enqueueSeq)),
};
beforeEach(async () => {
  [said, ended, breaks, checks] = [[], [], false, 0];
  world.logged.length = 0;
  await world.reset();
});

const chunks = () => said.map(({ chunk }) => chunk);
const warnings = () => world.logged.filter(({ level }) => level === "warn").map(({ message }) => message);
async function runs(next: typeof body) {
  body = next;
  const { runId } = await world.submit("any");
  await world.drain({ deps: { live } });
  return runId;
}

describe("what a run says live", () => {
  test("names its run, its hop, its channel and its place in the process; no replay says it again", async () => {
    const deps = { live, settings: { ...world.deps.settings, replayCheck: true } };
    body = async (ctx) => {
      ctx.stream("a", "begins");
      await ctx.step("one", () => ctx.stream("b", "in a step"));
      await ctx.sleep("1h");
      ctx.stream("a", "goes on");
    };
    const { runId } = await world.submit("any");
    await world.drain({ deps });
    expect(chunks()).toEqual(["begins", "in a step"]);
    await world.advance(3_601);
    await world.reconcile();
    await world.drain({ deps });
    expect((await world.view(runId)).status).toBe("DONE");
    // Each hop is replayed once more where workflows are written.
    await expect.poll(() => checks).toBe(2);
    const tenantId = "acme";
    expect(said).toMatchObject([
      { tenantId, runId, enqueueSeq: 1, channel: "a", chunk: "begins" },
      { tenantId, runId, enqueueSeq: 1, channel: "b", chunk: "in a step" },
      { tenantId, runId, enqueueSeq: 2, channel: "a", chunk: "goes on" },
    ]);
    const numbers = said.map(({ number }) => number);
    expect(numbers).toEqual([numbers[0], numbers[0]! + 1, numbers[0]! + 2]);
    expect(ended).toEqual(["1", "2"]);
  });

  test("is not said by the replay of an ending, which asks probes", async () => {
    const runId = await runs(async (ctx) => {
      ctx.stream("a", "begins");
      await ctx.step("pay", () => Promise.reject(new Error("the answer was lost")), {
        effect: "once",
        probe: () => ({ outcome: "happened", result: 1 }),
      });
    });
    await world.control.cancel(
      { tenantId: "acme", subject: "user:ada", roles: ["operator"] },
      runId,
      "a test",
    );
    await world.reconcile();
    await world.drain({ deps: { live } });
    expect((await world.view(runId)).status).toBe("CANCELLED");
    expect(chunks()).toEqual(["begins"]);
  });

  test("after the hop has ended is said to nobody, and refuses nothing", async () => {
    let late: Promise<void> | undefined;
    const runId = await runs((ctx) => {
      late = delay(100).then(() => {
        ctx.stream("a", "late");
        ctx.stream("", "wrong and late");
      });
      return Promise.resolve("done");
    });
    await late;
    expect((await world.view(runId)).status).toBe("DONE");
    expect([said, ended]).toEqual([[], ["1"]]);
  });

  test("after the hop was fenced is said to nobody, though its step goes on", async () => {
    body = async (ctx) => {
      ctx.stream("a", "before");
      await ctx.step("slow", async ({ signal }) => {
        await world.ledger.runs.cancel(
          { tenantId: "acme", runId: ctx.runId },
          { actor: "a", reason: "b" },
          60,
        );
        while (!signal.aborted) await delay(5);
        ctx.stream("a", "fenced");
        ctx.stream("", "wrong and fenced");
      });
    };
    const { runId } = await world.submit("any");
    const settings = { ...world.deps.settings, leaseMs: 2_000, beatMs: 50 };
    await world.deliver([`run:${runId}:1`], { settings, live });
    expect((await world.view(runId)).status).toBe("CANCELLED");
    expect([chunks(), ended]).toEqual([["before"], ["1"]]);
  });
});

describe("what nobody takes", () => {
  test("a chunk above the bound is dropped, with one warning a hop, and the run goes on", async () => {
    const runId = await runs(async (ctx) => {
      await ctx.step("says", () => {
        ctx.stream("a", "ü".repeat(MAX_CHUNK_BYTES / 2));
        ctx.stream("a", `${"ü".repeat(MAX_CHUNK_BYTES / 2)}x`);
        ctx.stream("a", "x".repeat(MAX_CHUNK_BYTES + 1));
        ctx.stream("a", "");
      });
    });
    expect((await world.view(runId)).status).toBe("DONE");
    expect(chunks().map(({ length }) => length)).toEqual([MAX_CHUNK_BYTES / 2, 0]);
    expect(warnings()).toEqual(["a chunk of ctx.stream is too large, and was dropped"]);
  });

  test("a live stream that throws is told of once a hop, and fails nothing", async () => {
    breaks = true;
    const runId = await runs(async (ctx) => {
      ctx.stream("a", "one");
      return ctx.step("says", () => {
        ctx.stream("a", "two");
        return "said";
      });
    });
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "said" });
    expect(warnings()).toEqual(["the live stream does not take what a run says"]);
  });
});

describe("a call that is wrong is refused, and cannot be caught", () => {
  test.each([
    ["", "x"],
    ["x".repeat(201), "x"],
    ["a\0b", "x"],
    ["\ud800", "x"],
    [7, "x"],
    ["a", { token: 1 }],
    ["a", undefined],
  ])("ctx.stream(%j, %j)", async (channel, chunk) => {
    for (const inside of [false, true]) {
      const wrong = (ctx: WorkflowContext) => {
        try {
          ctx.stream(channel as string, chunk as string);
        } catch {
          return "caught";
        }
        return "went on";
      };
      const runId = await runs(async (ctx) => (inside ? ctx.step("says", () => wrong(ctx)) : wrong(ctx)));
      expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "invalid_call" } });
    }
    expect(said).toEqual([]);
  });
});
