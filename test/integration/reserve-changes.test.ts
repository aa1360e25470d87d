import { describe, expect, test } from "vitest";
import { reserveWorld } from "../support/reserve-world.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY } from "../support/world.ts";

const { under, world, started, carried, rowsOf, held } = await reserveWorld();
const { db } = world;

describe("what has changed meanwhile", () => {
  test("a run that goes on as new leaves no place behind: who asks has what is free", async () => {
    const holder = await held();
    const before = under.body;
    under.body = async (ctx, input) => {
      if (input === "holds") return before(ctx, input);
      if (input === "again") return ctx.waitForSignal("never");
      void ctx.reserve("gpu", { wait: "1h" }, () => undefined);
      await ctx.step("beside", () =>
        until("it waits", async () => (await rowsOf(ctx.runId)).includes("WAITING")),
      );
      return ctx.restart("again");
    };
    const { runId } = await world.submit("free");
    await world.deliver([`run:${runId}:1`]);
    expect(await rowsOf(runId)).toEqual(["RELEASED"]);
    holder.letGo();
    await holder.working;
  });

  test("a process of before a deploy asks for what the deploy has said there is", async () => {
    await world.ledger.capacities.say({ licences: 7 });
    const view = await carried((ctx) =>
      ctx.reserve("licences", { units: 7 }, () => ctx.step("use", () => 1)),
    );
    expect(view).toMatchObject({ status: "DONE", output: { outcome: "RESERVED" } });
    await world.ledger.capacities.say({ licences: 5 });
  });

  test("a configuration with less of a capacity ends no run that had its units long ago", async () => {
    const runId = await started(async (ctx) => {
      const got = await ctx.reserve("licences", { units: 3 }, () => ctx.step("use", () => 1));
      await ctx.waitForSignal("go");
      return got.outcome;
    });
    await world.drain();
    await world.signals.send(SOMEBODY, runId, { name: "go", payloadText: undefined });
    await world.deliver([`run:${runId}:2`], { capacities: { licences: 1 } });
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "RESERVED" });
  });

  test("a run does not go on as new while nobody knows of an effect that its units hold back", async () => {
    const asked: string[] = [];
    const runId = await started((ctx, input) => {
      if (input === "again") return Promise.resolve("second");
      return Promise.all([
        ctx.reserve("gpu", {}, () =>
          ctx.step("charge", () => asked.push("charged"), {
            effect: "once",
            probe: () => {
              asked.push("asked");
              return { outcome: "cannot_happen" };
            },
          }),
        ),
        ctx.step("beside", () => 1).then(() => ctx.restart("again")),
      ]);
    });
    under.passing = (point) => {
      if (point === "worker.after-intent") throw new Error("the worker is gone");
    };
    await world.drain();
    under.passing = undefined;
    await world.later(130);
    // Its worker may still act: nobody is asked, and the run waits.
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED" });
    expect(asked).toEqual([]);
    await world.later(1_000);
    await world.later(1_000);
    expect(asked).toEqual(["asked"]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "second" });
    expect(await db.admin("select from ghouls.intents where outcome is null")).toEqual([]);
  });
});
