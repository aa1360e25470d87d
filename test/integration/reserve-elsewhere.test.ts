import { describe, expect, test } from "vitest";
import { type Code, reserveWorld } from "../support/reserve-world.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY } from "../support/world.ts";

const { under, world, gpu, use, never, started, carried, journalOf, rowsOf, takes, held } =
  await reserveWorld();
const { db } = world;

describe("a run that goes on elsewhere", () => {
  /** The first hop ends after the first of two steps. */
  async function afterOne(code: Code): Promise<string> {
    const draining = new AbortController();
    const runId = await started(code);
    under.passing = (point, detail) => {
      if (point === "worker.after-step" && detail === "one") draining.abort();
    };
    expect(await world.deliver([`run:${runId}:1`], { draining: draining.signal })).toMatchObject([
      { reason: "handed_over" },
    ]);
    return runId;
  }
  const twoInside: typeof under.body = (ctx) =>
    ctx.reserve("gpu", {}, async () => [
      await ctx.step("one", () => use("one")),
      await ctx.step("two", () => use("two")),
    ]);

  test("gives back what it holds, and takes it again before its function does more", async () => {
    const runId = await afterOne(twoInside);
    expect(await rowsOf(runId)).toEqual(["LEFT"]);
    expect(await db.admin("select from ghouls.units_in_use")).toEqual([]);
    const counts = takes();
    await world.drain();
    expect(counts).toEqual({ taken: 1, released: 1 });
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "RESERVED", value: ["one", "two"] },
    });
    expect(gpu.uses).toEqual(["one", "two"]);
    expect(await journalOf(runId)).toEqual([
      "reserve gpu",
      "gpu{} step one",
      "gpu{} step two",
      "gpu{} release gpu",
    ]);
    expect(await rowsOf(runId)).toEqual(["RELEASED", "RELEASED"]);
  });

  test("does nothing more in its function while another holds it, and goes on beside", async () => {
    const seen: string[] = [];
    const runId = await afterOne((ctx) =>
      Promise.all([
        twoInside(ctx, null),
        (async () => {
          await ctx.step("first", () => 1);
          return ctx.step("beside", () => seen.push("beside"));
        })(),
      ]),
    );
    const holder = await held();
    const working = world.deliver([`run:${runId}:2`]);
    await until("it waits", async () => (await world.view(runId)).status === "AWAITING_HARDWARE");
    await until("what stands beside was done", () => seen.length === 1);
    expect(gpu.uses).toEqual(["one"]);
    holder.letGo();
    await Promise.all([working, holder.working]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(gpu.uses).toEqual(["one", "two"]);
  });

  test("takes all that its functions stand in, the outer first", async () => {
    const order: string[] = [];
    const runId = await afterOne((ctx) =>
      ctx.reserve("licences", { units: 2 }, async () => {
        await ctx.reserve("gpu", {}, () => ctx.step("zero", () => 0));
        return ctx.reserve("gpu", {}, async () => {
          await ctx.step("one", () => 1);
          return ctx.step("two", () => 2);
        });
      }),
    );
    under.passing = (point, detail) => {
      if (point === "worker.before-reserve" || point === "worker.before-step") order.push(detail);
    };
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(order).toEqual(["licences", "gpu", "two"]);
  });

  test("takes nothing where its function has ended, or where only its end is left to be written", async () => {
    const counts = takes();
    const ended = await started(async (ctx) => {
      await ctx.reserve("gpu", {}, () => ctx.step("inside", () => 1));
      await ctx.step("one", () => 1);
      await ctx.sleep("1h");
      return "woke";
    });
    await world.drain();
    await world.later(3_700);
    expect(await world.view(ended)).toMatchObject({ status: "DONE", output: "woke" });
    expect(counts).toEqual({ taken: 1, released: 1 });
    const almost = await afterOne(async (ctx) =>
      ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))),
    );
    const holder = await held();
    const again = takes();
    await world.deliver([`run:${almost}:2`]);
    expect(again).toEqual({ taken: 0, released: 1 });
    expect(await world.view(almost)).toMatchObject({ status: "DONE", output: { value: "one" } });
    holder.letGo();
    await holder.working;
  });

  test("never fails and never goes on without it: it is given back, and asks for a person", async () => {
    const runId = await afterOne((ctx) =>
      ctx.reserve("gpu", { wait: "0s" }, async () => {
        await ctx.step("one", () => use("one"));
        return ctx.step("two", () => use("two"));
      }),
    );
    const holder = await held();
    expect(await world.deliver([`run:${runId}:2`])).toMatchObject([{ reason: "handed_over" }]);
    expect(await world.view(runId)).toMatchObject({
      status: "QUEUED",
      enqueueSeq: 3,
      attention: { reason: "reservation_waits: gpu" },
    });
    expect(await world.deliver([`run:${runId}:3`])).toMatchObject([{ done: false, reason: "early" }]);
    holder.letGo();
    await holder.working;
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(gpu.uses).toEqual(["one", "two"]);
  });

  test("asks for a person by the time that it has waited over all its hops", async () => {
    const runId = await afterOne((ctx) =>
      ctx.reserve("gpu", { wait: "30s" }, async () => {
        await ctx.step("one", () => use("one"));
        return ctx.step("two", () => use("two"));
      }),
    );
    const holder = await held();
    for (let seq = 2; seq <= 5; seq += 1) {
      const [outcome] = await world.deliver([`run:${runId}:${seq}`], {}, { remainingMs: () => 2_010 });
      expect(outcome).toMatchObject({ reason: "handed_over" });
      expect((await world.view(runId)).attention).toEqual(
        seq < 5 ? null : expect.objectContaining({ reason: "reservation_waits: gpu" }),
      );
      await world.advance(11);
    }
    holder.letGo();
    await holder.working;
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test("is refused where its code asks for other units than its function had", async () => {
    let units = 1;
    const runId = await afterOne((ctx) =>
      ctx.reserve("licences", { units }, async () => {
        await ctx.step("one", () => 1);
        return ctx.step("two", () => 2);
      }),
    );
    units = 2;
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "FAILED",
      errorCode: "journal_mismatch",
      error: { message: expect.stringContaining('had 1 of "licences", and the code asks for 2') },
    });
  });

  test("after a loss waits for its own units until nothing of the lost worker acts", async () => {
    const runId = await started(twoInside);
    const { promise: lost, resolve: isLost } = Promise.withResolvers<void>();
    under.passing = (point, detail) => {
      if (point === "worker.after-step" && detail === "one") {
        isLost();
        return never;
      }
    };
    void world.deliver([`run:${runId}:1`], { settings: { ...world.deps.settings, beatMs: 1_000_000 } });
    await lost;
    under.passing = undefined;
    await world.advance(130);
    await world.reconcile();
    expect([(await world.view(runId)).status, await rowsOf(runId)]).toEqual(["QUEUED", ["LEFT"]]);
    expect(await db.admin("select status from ghouls.units_in_use")).toEqual([{ status: "LEFT" }]);
    const working = world.deliver([`run:${runId}:2`]);
    await until("it waits", async () => (await world.view(runId)).status === "AWAITING_HARDWARE");
    await db.admin(
      "update ghouls.containment_items set over_at = ghouls.clock(), next_look_at = ghouls.clock()",
    );
    await world.reconcile();
    await working;
    expect(gpu.uses).toEqual(["one", "one", "two"]);
    gpu.now = 0;
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });
});

describe.each(["reservations.take", "reservations.release"])("the answer of %s", (statement) => {
  test.each([
    ["is lost after its statement", "ledger.after-statement", "Connection terminated unexpectedly"],
    ["is lost after its commit", "ledger.after-commit", "Connection terminated unexpectedly"],
  ] as const)("%s: it is asked again, and nothing is had twice", async (_, at, message) => {
    let lost = 0;
    under.passing = (point, detail) => {
      if (point === at && detail === statement && lost === 0) {
        lost += 1;
        throw new Error(message);
      }
    };
    const view = await carried((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
    expect(view).toMatchObject({ status: "DONE", steps: 3, output: { outcome: "RESERVED", value: "one" } });
    expect(lost).toBe(at === "ledger.after-commit" && statement.endsWith("release") ? 0 : 1);
    expect(await rowsOf(view.runId)).toEqual(["RELEASED"]);
    expect(gpu.uses).toEqual(["one"]);
  });
});

test("where the ledger cannot be asked at all the claim stays as it is, and the run goes on from there", async () => {
  const runId = await started((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
  under.passing = (point, detail) => {
    if (point === "ledger.before-statement" && detail === "reservations.take")
      throw Object.assign(new Error("by a test"), { code: "XX000" });
  };
  expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ reason: "unknown_outcome" }]);
  under.passing = undefined;
  await world.advance(130);
  await world.reconcile();
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ output: { outcome: "RESERVED", value: "one" } });
});

test("where a replay checks the code, it takes nothing and gives nothing back", async () => {
  const counts = takes();
  const runId = await started((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
  const checked = Promise.withResolvers<void>();
  const before = under.passing;
  under.passing = (point, detail) => {
    void before?.(point, detail);
    if (point === "worker.after-replay-check") checked.resolve();
  };
  await world.deliver([`run:${runId}:1`], { settings: { ...world.deps.settings, replayCheck: true } });
  await checked.promise;
  expect(counts).toEqual({ taken: 1, released: 1 });
  expect(world.logged.filter(({ fields }) => fields["check"] === "replay")).toEqual([]);
});

test("a run that hands over while it waits, and comes to its end after all, is done with nothing asked for", async () => {
  const holder = await held();
  const before = under.body;
  under.body = async (ctx, input) => {
    if (input === "holds") return before(ctx, input);
    void ctx.reserve("gpu", {}, () => undefined);
    return ctx.step("beside", async () => {
      await until("it is asked for no more", async () => (await rowsOf(ctx.runId))[0] === "AWAY");
      return "done";
    });
  };
  const { runId } = await world.submit("free");
  let asked = false;
  under.passing = (point) => {
    if (point === "worker.after-reserve") asked = true;
  };
  await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => (asked ? 2_010 : 900_000) });
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "done" });
  expect(await rowsOf(runId)).toEqual(["RELEASED"]);
  holder.letGo();
  await holder.working;
});

describe("what has changed meanwhile", () => {
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
