import { describe, expect, test } from "vitest";
import type { WorkflowContext } from "ghouls";
import { reserveWorld } from "../support/reserve-world.ts";
import { until } from "../support/wait.ts";

const { under, world, job, use, started, carried, rowsOf } = await reserveWorld();

describe("inside of its function", () => {
  test.each([
    ["consent", (ctx: WorkflowContext) => ctx.consent("ship it", { deciders: ["role:legal"] })],
    ["delegate", (ctx: WorkflowContext) => ctx.delegate("x", {} as never, {})],
    ["child", (ctx: WorkflowContext) => ctx.child(job, null)],
    ["sleep", (ctx: WorkflowContext) => ctx.sleep("1h")],
    ["waitForSignal", (ctx: WorkflowContext) => ctx.waitForSignal("paid")],
    ["restart", (ctx: WorkflowContext) => ctx.restart(null)],
  ])("ctx.%s is refused, and the fix is said", async (name, call) => {
    const view = await carried((ctx) =>
      ctx.reserve("gpu", {}, () => ctx.map("files", [1], () => call(ctx) as Promise<unknown>)),
    );
    expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
    expect(view.error?.message).toContain(
      `ctx.${name} was called inside reservation "gpu": a run that waits holds nothing. Let the function of ctx.reserve return first`,
    );
  });

  test("a step whose next try would park stays with its worker, which holds what it holds", async () => {
    let tries = 0;
    const view = await carried(async (ctx) => {
      return ctx.reserve("gpu", {}, () =>
        ctx.step(
          "flaky",
          () => {
            if ((tries += 1) === 1) throw new Error("not yet");
            return tries;
          },
          { tries: 2, backoff: { initial: "100ms" } },
        ),
      );
    });
    expect(view).toMatchObject({ status: "DONE", enqueueSeq: 1, output: { value: 2 } });
  });

  test("a try that is due after the invocation is waited for in further hops, which are no lack of progress", async () => {
    let tries = 0;
    const runId = await started((ctx) =>
      ctx.reserve("gpu", {}, () =>
        ctx.step(
          "flaky",
          () => {
            if ((tries += 1) === 1) throw new Error("not yet");
            return tries;
          },
          { tries: 2, timeout: "1s", backoff: { initial: "1h", max: "1h" } },
        ),
      ),
    );
    for (let seq = 1; seq <= 4; seq += 1) {
      const [outcome] = await world.deliver(
        [`run:${runId}:${seq}`],
        {},
        { remainingMs: () => (tries === 0 ? 900_000 : 2_100) },
      );
      expect(outcome).toMatchObject({ reason: "handed_over" });
    }
    expect([tries, await rowsOf(runId)]).toEqual([1, ["RELEASED", "RELEASED", "RELEASED", "LEFT"]]);
    await world.later(3_700);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { value: 2 } });
  });

  test.each([
    ["awaits", async (woke: Promise<unknown>) => void (await woke)],
    ["returns", (woke: Promise<unknown>) => woke],
    ["awaits among others", (woke: Promise<unknown>) => Promise.all([woke, Promise.resolve(1)])],
    ["goes on after", (woke: Promise<unknown>) => woke.then(() => 1)],
  ])("a wait of before it, which it %s, is refused by name: it would never end", async (_, use_) => {
    const view = await carried(async (ctx) => {
      const woke = ctx.sleep("1h", { name: "lunch" });
      return ctx.reserve("gpu", {}, async () => {
        await ctx.step("one", () => use("one"));
        return use_(woke);
      });
    });
    expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
    expect(view.error?.message).toContain(
      'ctx.sleep of before is awaited inside reservation "gpu": a run that waits holds nothing, so it would never end',
    );
  });

  test("a wait of before it that has ended is used there as any value is", async () => {
    const runId = await started(async (ctx) => {
      const woke = ctx.sleep("1h", { name: "lunch" });
      await woke;
      return ctx.reserve("gpu", {}, async () => ctx.step("one", async () => use(String(await woke))));
    });
    await world.drain();
    await world.later(3_700);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test.each([
    ["has no time left in its invocation", {}, 2_010, 900_000, "QUEUED"],
    ["is slow", { overdueAfterMs: 50 }, 900_000, 900_000, "AWAITING_TIMER"],
  ] as const)(
    "what is no call is waited for while the run sleeps beside it, where it %s",
    async (_, settings, left, after, status) => {
      let remaining = 900_000;
      const seen = async (id: string) =>
        (await world.view(id)).status === "QUEUED" ||
        world.logged.some(({ message }) => message.startsWith("the code waits for something"));
      const runId = await started((ctx) =>
        Promise.all([
          ctx.sleep("1h"),
          ctx.reserve("gpu", {}, async () => {
            await ctx.step("one", () => {
              remaining = left;
            });
            await until("its hop is over, or it is told that it stands still", () => seen(ctx.runId));
            remaining = after;
            return ctx.step("two", () => use("two"));
          }),
        ]),
      );
      await world.deliver(
        [`run:${runId}:1`],
        { settings: { ...world.deps.settings, ...settings } },
        { remainingMs: () => remaining },
      );
      expect(await world.view(runId)).toMatchObject({ status, error: null });
    },
  );

  test("what it holds is held until the last of its calls has ended, also of those that nobody awaits", async () => {
    const order: string[] = [];
    under.passing = (point, detail) => {
      if (point === "worker.before-release") order.push(`release ${detail}`);
    };
    const view = await carried(async (ctx) => {
      const got = await ctx
        .reserve("gpu", {}, async () => {
          void ctx.step("slow", async () => {
            await new Promise((resolve) => setTimeout(resolve, 20));
            order.push("slow has ended");
          });
          throw new Error("no");
        })
        .catch(() => "failed");
      return got;
    });
    expect(view).toMatchObject({ status: "DONE", output: "failed" });
    expect(order).toEqual(["slow has ended", "release gpu"]);
  });

  test("a call that comes after its end is refused: nothing would be held", async () => {
    const view = await carried(async (ctx) => {
      const { promise: later, resolve } = Promise.withResolvers<void>();
      let late: Promise<unknown> = Promise.resolve();
      await ctx.reserve("gpu", {}, () => {
        late = later.then(() => ctx.step("late", () => 1));
      });
      await ctx.step("between", () => 1);
      resolve();
      return late;
    });
    expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
    expect(view.error?.message).toContain(
      'step "late" was called after the function of reservation "gpu" had returned',
    );
  });
});
