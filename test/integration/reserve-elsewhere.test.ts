import { describe, expect, test } from "vitest";
import { type Code, reserveWorld } from "../support/reserve-world.ts";
import { until } from "../support/wait.ts";

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

  test("has asked for a person by the time that it is given back, however slow the ledger is with that", async () => {
    const runId = await afterOne((ctx) =>
      ctx.reserve("gpu", { wait: "0s" }, async () => {
        await ctx.step("one", () => use("one"));
        return ctx.step("two", () => use("two"));
      }),
    );
    const holder = await held();
    const order: string[] = [];
    under.passing = async (point, detail) => {
      if (point === "worker.before-handover") order.push("given back");
      if (detail !== "runs.raise-attention") return;
      if (point === "ledger.before-statement") await db.admin("select pg_sleep(0.3)");
      if (point === "ledger.after-statement") order.push("asked");
    };
    await world.deliver([`run:${runId}:2`]);
    expect(order).toEqual(["asked", "given back"]);
    expect(await world.view(runId)).toMatchObject({ attention: { reason: "reservation_waits: gpu" } });
    under.passing = undefined;
    holder.letGo();
    await holder.working;
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
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
      const attention = async () => (await world.view(runId)).attention?.reason;
      if (seq < 5) expect(await attention()).toBeUndefined();
      else await until("it asks", async () => (await attention()) === "reservation_waits: gpu");
      await world.advance(11);
    }
    holder.letGo();
    await holder.working;
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test("goes on beside what it waits for in vain: other units are asked for, and its steps are done", async () => {
    const draining = new AbortController();
    const runId = await started((ctx) =>
      Promise.all([
        ctx.reserve("gpu", { wait: "0s" }, async () => {
          await ctx.step("one", () => use("one"));
          return ctx.step("two", () => use("two"));
        }),
        (async () => {
          for (const name of ["first", "second"]) await ctx.step(name, () => 1);
          return ctx.reserve("licences", { wait: "0s" }, () => ctx.step("licensed", () => 1));
        })(),
      ]),
    );
    under.passing = (point, detail) => {
      if (point === "worker.after-step" && detail === "one") draining.abort();
    };
    await world.deliver([`run:${runId}:1`], { draining: draining.signal });
    under.passing = undefined;
    const holder = await held();
    await world.deliver([`run:${runId}:2`]);
    expect(await journalOf(runId)).toContain("licences{} step licensed");
    expect((await world.view(runId)).status).toBe("QUEUED");
    holder.letGo();
    await holder.working;
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test("asks first for what it has waited for the longest: no unit stands idle behind it", async () => {
    const both: Code = (ctx, input) =>
      Promise.all([
        ctx.reserve("gpu", { name: "a", wait: "1h" }, async () => {
          await ctx.step(`${String(input)} one`, () =>
            until("it asks for more", async () => (await rowsOf(ctx.runId)).includes("WAITING")),
          );
          return ctx.step(`${String(input)} two`, () => use("a"));
        }),
        ctx.reserve("gpu", { name: "b", wait: "1h" }, () => ctx.step(`${String(input)} b`, () => use("b"))),
      ]);
    const draining = new AbortController();
    const runId = await started(both, "early");
    under.passing = (point, detail) => {
      if (point === "worker.after-step" && detail === "early one") draining.abort();
    };
    await world.deliver([`run:${runId}:1`], { draining: draining.signal });
    under.passing = undefined;
    expect(await rowsOf(runId)).toContain("AWAY");
    const holder = await held();
    const late = (await world.submit("free", "late")).runId;
    const working = [world.deliver([`run:${late}:1`]), world.deliver([`run:${runId}:2`])];
    for (const one of [late, runId])
      await until("it waits", async () => (await world.view(one)).status === "AWAITING_HARDWARE");
    holder.letGo();
    await Promise.all([...working, holder.working]);
    for (const one of [late, runId]) expect(await world.view(one)).toMatchObject({ status: "DONE" });
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
