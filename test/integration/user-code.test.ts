import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { StepFailedError, workflow, type Codec, type WorkflowContext } from "ghouls";
import { blameHop } from "@ghouls/engine";
import { LedgerError } from "@ghouls/ledger";
import { makeJournal, makeRun } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let trace: string[] = [];
const any = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => body(ctx),
});
const picky = workflow({
  name: "picky",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  output: z.unknown().refine(() => {
    throw Object.create(null);
  }),
  run: (ctx) => body(ctx),
});
let decoding: Codec["decode"] = (text) => Promise.resolve(text);
const world = await testWorld({
  workflows: [any, picky],
  codec: { encode: (text) => Promise.resolve(text), decode: (text, context) => decoding(text, context) },
});
beforeEach(async () => {
  trace = [];
  await world.reset();
});

async function runs(next: typeof body, name = "any") {
  body = next;
  const { runId } = await world.submit(name);
  await world.drain();
  return world.view(runId);
}

describe("what user code leaves to the process fails its own run, and no other", () => {
  test("a rejection that nobody awaits, beside a run that goes on", async () => {
    const blamed: unknown[] = [];
    const take = (error: unknown) => void blamed.push(blameHop(error));
    const others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", take);
    try {
      body = async (ctx) => {
        if (ctx.runId === floating.runId) {
          const fails = (async () => {
            await ctx.step("quick", () => 1);
            throw new Error("nobody looks");
          })();
          void fails;
          await ctx.step("slow", () => new Promise((resolve) => setTimeout(resolve, 30)));
          return "never";
        }
        await ctx.step("neighbour", () => new Promise((resolve) => setTimeout(resolve, 20)));
        return "fine";
      };
      const floating = await world.submit("any");
      const neighbour = await world.submit("any");
      await world.drain();
      expect(blamed).toEqual([true]);
      expect(await world.view(floating.runId)).toMatchObject({
        status: "FAILED",
        error: { code: "workflow_failed", message: "nobody looks" },
      });
      expect((await world.view(neighbour.runId)).output).toBe("fine");
    } finally {
      process.removeAllListeners("unhandledRejection");
      for (const other of others) process.on("unhandledRejection", other);
    }
  });

  test("outside of every hop nobody is blamed", () => {
    expect(blameHop(new Error("ours"))).toBe(false);
  });
});

describe("ctx inside a step's function", () => {
  test("a step there fails the run by name, and the outer function can end", async () => {
    const view = await runs((ctx) =>
      ctx.step("outer", async () => {
        await ctx.step("inner", () => 1).catch((error: Error) => trace.push(error.message));
        return "ended";
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "invalid_call", step: "outer" } });
    expect(trace).toEqual([expect.stringContaining('"inner"')]);
  });

  test.each(["random", "uuid"] as const)(
    "ctx.%s there would not be the same after a replay: it throws",
    async (draw) => {
      const view = await runs((ctx) => ctx.step("draws", () => String(ctx[draw]()), { tries: 3 }));
      expect(view).toMatchObject({
        status: "FAILED",
        error: { code: "step_failed", message: expect.stringContaining(`ctx.${draw}()`) },
      });
    },
  );
});

describe("values that break those who look at them", () => {
  test.each([
    [
      "a getter that throws what has no text",
      () => ({
        get x() {
          throw Object.create(null);
        },
      }),
    ],
    ["an invalid date", () => ({ at: new Date(Number.NaN) })],
  ])("%s in a result fails the run readably", async (_name, value) => {
    const view = await runs((ctx) => ctx.step("odd", value as () => never));
    expect(view).toMatchObject({ status: "FAILED", error: { code: "unserializable", step: "odd" } });
  });

  test("an output schema that throws what has no text", async () => {
    expect((await runs(() => Promise.resolve(1), "picky")).error).toMatchObject({ code: "output_invalid" });
  });

  test.each([
    [
      "a StepFailedError of the user's own, with a name that JSON cannot hold",
      () => new StepFailedError(10n as never, 1, { name: "x", message: "y" }),
    ],
    [
      "a revoked proxy",
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
  ])("%s, thrown by the workflow, fails the run", async (_name, thrown) => {
    const view = await runs(() => Promise.reject(thrown() as Error));
    expect(view.status).toBe("FAILED");
  });

  test("a step's own stack is what people see", async () => {
    const view = await runs((ctx) =>
      ctx.step("typo", function whereItHappened() {
        return (undefined as unknown as { length: number }).length;
      }),
    );
    expect(view.error?.stack).toContain("whereItHappened");
  });

  test("a deadline that the code changes is its own copy", async () => {
    const view = await runs((ctx) => {
      ctx.deadline?.setFullYear(2000);
      return ctx.step("goes on", () => 1);
    });
    expect(view.status).toBe("DONE");
  });

  test("a number where a duration belongs is refused by name", async () => {
    const view = await runs((ctx) => ctx.step("x", () => 1, { timeout: 5_000 as never }));
    expect(view.error).toMatchObject({
      code: "invalid_call",
      message: expect.stringContaining('"5000" is not a duration'),
    });
  });
});

test("a codec that fails for a moment costs no loss and no quarantine: the delivery comes back", async () => {
  body = (ctx) => ctx.step("one", () => "ran");
  const made = await makeRun(world.db, { workflow: "any", digest: "any@1" });
  await makeJournal(world.db, made, [["one", "kept"]]);
  decoding = () => Promise.reject(new Error("KMS: ThrottlingException \0 secret"));
  expect(await world.deliver([`run:${made.runId}:1`])).toMatchObject([{ done: true, reason: "handed_over" }]);
  decoding = (text) => Promise.resolve(text);
  expect(await world.view(made.runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2, quarantine: null });
  await world.advance(31);
  await world.reconcile();
  await world.drain();
  expect(await world.view(made.runId)).toMatchObject({ status: "DONE", output: "kept" });
});

test.each(["journal.append", "deliveries.settle", "deliveries.yield"])(
  "a ledger that is away for a while at %s costs a run nothing",
  async (statement) => {
    let away = 6;
    let now = 0;
    const drain = new AbortController();
    body = async (ctx) => {
      await ctx.step("one", () => trace.push("one"));
      if (statement === "deliveries.yield" && ctx.abortSignal.aborted === false && now === 0) {
        now = 1;
        drain.abort();
      }
      return ctx.step("two", () => trace.push("two"));
    };
    const { runId } = await world.submit("any");
    await world.deliver([`run:${runId}:1`], {
      draining: drain.signal,
      ledger: world.db.ledger({
        faults: (point, detail) => {
          if (point === "ledger.before-statement" && detail === statement && away > 0) {
            away -= 1;
            throw new LedgerError("unavailable", statement, "57P03", undefined);
          }
        },
      }),
    });
    expect(away).toBe(0);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", steps: 2 });
    expect(trace).toEqual(["one", "two"]);
  },
);
