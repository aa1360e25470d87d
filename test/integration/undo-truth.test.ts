import { describe, expect, test } from "vitest";
import { notDone } from "ghouls";
import { undoWorld } from "../support/undo-world.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY } from "../support/world.ts";

/** What an undo is told, and what is said of it: no more than is known. */

const { under, world, child, step, carried, statusOf, undosOf } = await undoWorld();
const { db, ledger } = world;

/** Pays, and its worker is lost before anybody knows. */
async function lostWhilePaying(options: Parameters<typeof step>[2] = {}): Promise<string> {
  under.passing = (point, detail) => {
    if (point === "worker.after-intent" && detail === "pay") throw new Error("its worker is gone");
  };
  const runId = await carried((ctx) => step(ctx, "pay", { effect: "once", ...options }), "fails");
  under.passing = undefined;
  await world.later(130);
  return runId;
}
const later = async () => {
  for (let round = 0; round < 4; round += 1) await world.later(1_000);
};

describe("an effect of which nobody knows", () => {
  test("is not known by an undo that is never called: a run that has returned is not DONE by it", async () => {
    const gate = Promise.withResolvers<void>();
    const runId = await carried(async (ctx) => {
      const paying = ctx.step(
        "pay",
        async () => {
          await gate.promise;
          throw new Error("the answer was lost");
        },
        { effect: "once", undo: () => under.trace.push("undo pay") },
      );
      paying.catch(() => undefined);
      await step(ctx, "one");
      setTimeout(() => gate.resolve(), 50);
      return "done";
    });
    await later();
    expect([await statusOf(runId), under.trace]).toEqual(["COMPLETING", ["one"]]);
    expect((await world.view(runId)).attention).not.toBeNull();
  });

  test("is not known by an undo that its code had not when it was begun", async () => {
    under.passing = (point, detail) => {
      if (point === "worker.after-intent" && detail === "pay") throw new Error("its worker is gone");
    };
    const runId = await carried((ctx) => ctx.step("pay", () => "paid", { effect: "once" }), "fails");
    under.passing = undefined;
    under.body = (ctx) => step(ctx, "pay", { effect: "once" });
    await world.later(130);
    await later();
    expect([await statusOf(runId), under.trace]).toEqual(["FAILING", []]);
  });

  test("is told to its undo as its probe has answered", async () => {
    await lostWhilePaying({ probe: () => ({ outcome: "happened", result: "paid as 42" }) });
    await later();
    expect(under.trace).toEqual(["undo pay: paid as 42"]);
  });
});

describe("a step", () => {
  test("that was an effect once, and is called as a plain step by the code of now, is undone", async () => {
    const runId = await carried((ctx) =>
      ctx.step("pay", () => Promise.reject(notDone(new Error("refused"))), {
        effect: "once",
        tries: 3,
        backoff: { initial: "1m" },
        undo: () => under.trace.push("undo pay"),
      }),
    );
    under.body = async (ctx) => {
      await ctx.step("pay", () => under.trace.push("paid"), {
        tries: 3,
        undo: () => under.trace.push("undo pay"),
      });
      throw new Error("no");
    };
    await world.later(130);
    await later();
    expect([await statusOf(runId), under.trace]).toEqual(["FAILED", ["paid", "undo pay"]]);
  });

  test("that ends after its run was refused is undone with the result that the journal has", async () => {
    const slow = Promise.withResolvers<void>();
    const runId = await carried((ctx) =>
      Promise.all([
        ctx.step(
          "slow",
          async () => {
            await slow.promise;
            return "slow is done";
          },
          { undo: ({ outcome, result }) => under.trace.push(`undo slow: ${result ?? outcome}`) },
        ),
        step(ctx, "fast").then(() => {
          setTimeout(() => slow.resolve(), 50);
          return step(ctx, "slow");
        }),
      ]),
    );
    await later();
    expect([await statusOf(runId), under.trace]).toEqual([
      "FAILED",
      ["fast", "undo fast: fast is done", "undo slow: slow is done"],
    ]);
  });

  test("is undone by no code that does not replay its run", async () => {
    const runId = await carried(async (ctx) => {
      for (const name of ["one", "two"]) await step(ctx, name);
      throw new Error("no");
    });
    under.body = async (ctx) => {
      for (const name of ["two", "one"]) await step(ctx, name);
      throw new Error("no");
    };
    await world.later(1);
    expect(under.trace).toEqual(["one", "two"]);
    expect((await world.view(runId)).attention?.reason).toContain(
      "this code is not what the run's journal is of",
    );
  });
});

describe("what was tried in vain", () => {
  test("counts from where the undoing came further: steps that are each refused once are all undone", async () => {
    const names = Array.from({ length: 6 }, (_, at) => `s${at}`);
    const refused = new Set(names);
    const runId = await carried(async (ctx) => {
      for (const name of names)
        await step(ctx, name, {
          undo: () => {
            if (refused.delete(name)) throw new Error("busy");
          },
        });
      throw new Error("no");
    });
    for (let round = 0; round < 16; round += 1) await world.later(10_000);
    expect([await statusOf(runId), refused.size]).toEqual(["FAILED", 0]);
  });

  test("is no drain, and no invocation that is too short for the next one", async () => {
    const runId = await carried(async (ctx) => {
      for (const name of ["one", "two", "three"]) await step(ctx, name, { timeout: "60s" });
      throw new Error("no");
    });
    for (let drained = 0; drained < 4; drained += 1) {
      const draining = new AbortController();
      under.passing = (point) => void (point === "worker.after-claim" && draining.abort());
      await world.reconcile();
      await world.drain({ deps: { draining: draining.signal } });
      under.passing = undefined;
      await world.advance(10);
    }
    let undone = 0;
    under.passing = (point) => void (point === "worker.after-undo" && (undone += 1));
    for (let round = 0; round < 3; round += 1) {
      await world.advance(10);
      await world.reconcile();
      const before = undone;
      const [delivery] = await db.admin<{ seq: number }>(
        "select seq from ghouls.deliveries where run_id = $1 and status = 'PENDING'",
        [runId],
      );
      if (delivery === undefined) break;
      await world.deliver(
        [`run:${runId}:${delivery.seq}`],
        {},
        { remainingMs: () => (undone > before ? 30_000 : 900_000) },
      );
    }
    await world.later(10);
    expect([await statusOf(runId), undone]).toEqual(["FAILED", 3]);
    expect((await world.view(runId)).attention).toBeNull();
  });

  test("is what clear is about: attention for something else stays", async () => {
    const runId = await carried(async (ctx) => {
      await step(ctx, "one");
      return ctx.child(child, null, { parentClose: "wait" });
    });
    await world.control.cancel(SOMEBODY, runId, "no longer wanted");
    const reason = 'attempt_uncertain: nobody knows of the job "x"';
    await ledger.runs.raiseAttention({ tenantId: SOMEBODY.tenantId, runId }, reason);
    expect(await world.control.clear(SOMEBODY, runId, "by a test")).toMatchObject({ cleared: false });
    expect((await world.view(runId)).attention).toMatchObject({ reason });
  });
});

test("an operator who settles what is being undone holds nobody up: the others are undone at once", async () => {
  const gate = Promise.withResolvers<void>();
  const runId = await carried(async (ctx) => {
    await step(ctx, "one");
    await step(ctx, "two", {
      undo: async () => {
        under.trace.push("begins");
        await gate.promise;
      },
    });
    throw new Error("no");
  });
  const working = world.later(1);
  await until("it undoes", () => under.trace.includes("begins"));
  const two = (await undosOf(runId)).find(({ subject }) => subject === "two");
  await world.control.resolve(SOMEBODY, runId, two?.id ?? "", "by hand");
  gate.resolve();
  await working;
  await world.later(1);
  expect([await statusOf(runId), under.trace.at(-1)]).toEqual(["FAILED", "undo one: one is done"]);
});
