import { describe, expect, test } from "vitest";
import type { WorkflowContext } from "ghouls";
import { type Code, reserveWorld } from "../support/reserve-world.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY } from "../support/world.ts";

const { under, world, gpu, use, started, carried, journalOf, rowsOf, held } = await reserveWorld();
const { db } = world;

describe("what a workflow gets", () => {
  test("is what its function has returned; names in it are its own, and it ends in the journal", async () => {
    const { runId, output } = await carried(async (ctx) => {
      const one = await ctx.reserve("gpu", {}, () => ctx.step("train", () => 1));
      const two = await ctx.reserve("gpu", { name: "gpu" }, async () => {
        const inner = await ctx.reserve("licences", { units: 5 }, () => ctx.step("train", () => 2));
        return inner;
      });
      return [one, two, await ctx.step("train", () => 3)];
    });
    expect(output).toEqual([
      { outcome: "RESERVED", value: 1 },
      { outcome: "RESERVED", value: { outcome: "RESERVED", value: 2 } },
      3,
    ]);
    expect(await journalOf(runId)).toEqual([
      "reserve gpu",
      "gpu{} step train",
      "gpu{} release gpu",
      "reserve gpu",
      "gpu#2{} reserve licences",
      "gpu#2{}/licences{} step train",
      "gpu#2{}/licences{} release licences",
      "gpu#2{} release gpu",
      "step train",
    ]);
    expect(await rowsOf(runId)).toEqual(["RELEASED", "RELEASED", "RELEASED"]);
  });

  test("is what its function has thrown, after what it held was given back", async () => {
    const { runId, output } = await carried(async (ctx) => {
      const failed = await ctx
        .reserve("gpu", {}, async () => {
          await ctx.step("one", () => 1);
          throw new TypeError("no");
        })
        .catch((error: unknown) => String(error));
      const again = await ctx.reserve("gpu", { name: "again" }, () => Promise.resolve("had"));
      return [failed, again];
    });
    expect(output).toEqual(["TypeError: no", { outcome: "RESERVED", value: "had" }]);
    expect(await rowsOf(runId)).toEqual(["RELEASED", "RELEASED"]);
  });

  test("is a word where it could not be had in time: its function is not called", async () => {
    const holder = await held();
    let called = false;
    const before = under.body;
    under.body = async (ctx, input) =>
      input === "holds"
        ? before(ctx, input)
        : ctx.reserve("gpu", { wait: "0s" }, () => {
            called = true;
          });
    const { runId } = await world.submit("free");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "UNAVAILABLE" } });
    expect(called).toBe(false);
    holder.letGo();
    await holder.working;
  });

  test("comes in the items of a map as well, as many at a time as there are units", async () => {
    let [now, most] = [0, 0];
    const { output } = await carried((ctx) =>
      ctx.map("files", [1, 2, 3, 4, 5, 6, 7, 8], async (item) => {
        const got = await ctx.reserve("licences", { units: 2 }, () =>
          ctx.step("convert", async () => {
            most = Math.max(most, (now += 1));
            await until("another stands beside it", () => most >= 2);
            now -= 1;
            return item;
          }),
        );
        return got.outcome === "RESERVED" ? got.value : 0;
      }),
    );
    expect(output).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(most).toBe(2);
  });

  test("comes without many questions: of those in a run that wait for the same only the first asks again and again", async () => {
    let asks = 0;
    under.passing = (point) => void (point === "worker.before-reserve" && (asks += 1));
    const items = Array.from({ length: 40 }, (_, item) => item);
    const runId = await started((ctx) =>
      ctx.map(
        "files",
        items,
        (item) =>
          ctx.reserve("gpu", { wait: item === 39 ? "50ms" : "1h" }, () =>
            ctx.step("use", () => use(`${item}`)),
          ),
        { concurrency: 40 },
      ),
    );
    const { letGo, working } = await held();
    const carrying = world.deliver([`run:${runId}:1`], {
      settings: { ...world.deps.settings, reservePollMs: 20 },
    });
    // Its own time is over while it is not the first.
    await until("the last has had no more patience", async () =>
      (await journalOf(runId)).includes("files[39] reserve gpu"),
    );
    const before = asks;
    await until("the first asks again and again", () => asks > before + 10);
    letGo();
    await Promise.all([carrying, working]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(gpu.uses).toEqual(Array.from({ length: 39 }, (_, item) => `${item}`));
    // Each when it asks first and when its turn comes; the one that goes on asking, and the impatient one, beside.
    expect(asks).toBeLessThan(before + 150);
    expect(before).toBeLessThan(41 + 40);
  });
});

describe("a run that waits", () => {
  const waiting = async (code: Code) => {
    const holder = await held();
    const before = under.body;
    under.body = (ctx, input) => (input === "holds" ? before(ctx, input) : code(ctx, input));
    const { runId } = await world.submit("free");
    const working = world.deliver([`run:${runId}:1`]);
    await until("it waits", async () => (await world.view(runId)).status === "AWAITING_HARDWARE");
    return { holder, runId, working };
  };

  test("is AWAITING_HARDWARE, says what it asks for, and goes on when that is given back", async () => {
    const { holder, runId, working } = await waiting((ctx) =>
      ctx.reserve("gpu", { name: "train" }, () => ctx.step("one", () => use("one"))),
    );
    expect((await world.view(runId)).reservations).toMatchObject([
      { capacity: "gpu", units: 1, name: "train", status: "WAITING", heldAt: null },
    ]);
    expect((await world.view(holder.runId)).reservations).toMatchObject([{ status: "HELD" }]);
    expect(gpu.uses).toEqual([]);
    holder.letGo();
    await Promise.all([working, holder.working]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", reservations: [] });
  });

  test("does other things meanwhile, and is done without it where its code does not wait", async () => {
    const seen = Promise.withResolvers<void>();
    const { holder, runId, working } = await waiting(async (ctx) => {
      void ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one")));
      await ctx.step("beside", () => seen.promise);
      return "done";
    });
    seen.resolve();
    await working;
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "done" });
    expect(await rowsOf(runId)).toEqual(["RELEASED"]);
    holder.letGo();
    await holder.working;
    expect(gpu.uses).toEqual([]);
  });

  test("fails by its code, and by a cancel, at once", async () => {
    const seen = Promise.withResolvers<void>();
    const { holder, runId, working } = await waiting(async (ctx) => {
      void ctx.reserve("gpu", {}, () => undefined);
      await ctx.step("beside", () => seen.promise);
      throw new Error("no");
    });
    seen.resolve();
    await working;
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", errorCode: "workflow_failed" });
    const { runId: other } = await world.submit("free", "other");
    under.body = (
      (before) => (ctx, input) =>
        input === "other" ? ctx.reserve("gpu", {}, () => use("other")) : before(ctx, input)
    )(under.body);
    const cancelled = world.deliver([`run:${other}:1`]);
    await until("it waits", async () => (await world.view(other)).status === "AWAITING_HARDWARE");
    await world.control.cancel(SOMEBODY, other, "no longer wanted");
    expect((await cancelled)[0]).toMatchObject({ done: true });
    expect(await rowsOf(other)).toEqual(["RELEASED"]);
    holder.letGo();
    await holder.working;
  });

  test("is handed over by a drain at once, and asks again in the next hop", async () => {
    const holder = await held();
    const before = under.body;
    under.body = (ctx, input) =>
      input === "holds"
        ? before(ctx, input)
        : ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one")));
    const { runId } = await world.submit("free");
    const draining = new AbortController();
    const working = world.deliver([`run:${runId}:1`], {
      draining: draining.signal,
      settings: { ...world.deps.settings, reservePollMs: 600_000 },
    });
    await until("it waits", async () => (await world.view(runId)).status === "AWAITING_HARDWARE");
    draining.abort();
    expect(await working).toMatchObject([{ reason: "handed_over" }]);
    expect([(await world.view(runId)).status, await rowsOf(runId)]).toEqual(["QUEUED", ["AWAY"]]);
    expect((await world.view(runId)).reservations).toMatchObject([{ capacity: "gpu", status: "AWAY" }]);
    holder.letGo();
    await holder.working;
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", steps: 3 });
  });

  test("is handed over before its invocation ends, as often as that takes, and does not fail by it", async () => {
    const holder = await held();
    const before = under.body;
    under.body = (ctx, input) =>
      input === "holds"
        ? before(ctx, input)
        : ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one")));
    const { runId } = await world.submit("free");
    for (let seq = 1; seq <= 4; seq += 1) {
      const [outcome] = await world.deliver([`run:${runId}:${seq}`], {}, { remainingMs: () => 2_010 });
      expect(outcome).toMatchObject({ reason: "handed_over" });
    }
    expect(await rowsOf(runId)).toEqual(["RELEASED", "RELEASED", "RELEASED", "AWAY"]);
    holder.letGo();
    await holder.working;
    await world.deliver([`run:${runId}:5`]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });
});

test.each([
  [
    "a capacity that is not configured",
    (ctx: WorkflowContext) => ctx.reserve("tpu", {}, () => 1),
    'there is no capacity "tpu"; configured are gpu, licences',
  ],
  [
    "more than there is",
    (ctx: WorkflowContext) => ctx.reserve("licences", { units: 6 }, () => 1),
    "it could never have them",
  ],
  [
    "more inside of itself than there is",
    (ctx: WorkflowContext) =>
      ctx.reserve("licences", { units: 3 }, () =>
        ctx.reserve("licences", { name: "more", units: 3 }, () => 1),
      ),
    "Reserve all at once",
  ],
  [
    "a wait that is none",
    (ctx: WorkflowContext) => ctx.reserve("gpu", { wait: "soon" as "1s" }, () => 1),
    'reserve "gpu": "soon" is not a duration',
  ],
  [
    "half a unit",
    (ctx: WorkflowContext) => ctx.reserve("gpu", { units: 0.5 }, () => 1),
    "units is a whole number from 1",
  ],
  [
    "what this version does not know",
    (ctx: WorkflowContext) => ctx.reserve("gpu", { priority: 1 } as object, () => 1),
    'option "priority" is not known in this version (known: units, wait, name)',
  ],
  [
    "nothing to do with it",
    (ctx: WorkflowContext) => ctx.reserve("gpu", {}, undefined as never),
    'reserve "gpu" has no function',
  ],
  [
    "a name that is none",
    (ctx: WorkflowContext) => ctx.reserve("gpu", { name: "" }, () => 1),
    "the name of a reserve is a text of 1 to 200 characters",
  ],
  [
    "without options",
    (ctx: WorkflowContext) => ctx.reserve("gpu", undefined as never, () => 1),
    "its options are an object",
  ],
  [
    "what would end in too long a place",
    (ctx: WorkflowContext) =>
      [1, 2, 3].reduceRight(
        (inner, nth) => () => ctx.reserve("licences", { name: `${"%".repeat(195)}${nth}` }, inner),
        () => ctx.reserve("gpu", { name: "%".repeat(200) }, () => 1) as Promise<unknown>,
      )(),
    "are more than 2000 bytes long: give them shorter ones",
  ],
  [
    "one name twice at the same time",
    (ctx: WorkflowContext) =>
      Promise.all([1, 2].map(() => ctx.reserve("licences", {}, () => ctx.step("one", () => 1)))),
    'a reserve "licences" is open already',
  ],
  [
    "inside a step",
    (ctx: WorkflowContext) => ctx.step("outer", () => ctx.reserve("gpu", {}, () => 1)),
    'ctx.reserve was called inside step "outer"',
  ],
])("asking for %s is refused by name", async (_, call, message) => {
  const view = await carried(async (ctx) => call(ctx));
  expect(view.status).toBe("FAILED");
  expect(view.error?.message).toContain(message);
});

test("fifty runs that each need the one GPU, and each park on a job that needs it too, all finish", async () => {
  const runs = await Promise.all(Array.from({ length: 50 }, () => world.submit("needs")));
  await world.drain();
  for (const { runId } of runs)
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: ["RESERVED", "DONE"] });
  expect(gpu.uses).toHaveLength(100);
  expect(gpu.most).toBe(1);
}, 60_000);

test("a build that could not announce itself says what there is when it is asked for", async () => {
  await db.admin("truncate ghouls.capacities cascade");
  const view = await carried((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
  expect(view).toMatchObject({ status: "DONE" });
  expect(await db.admin("select name, units from ghouls.capacities order by name")).toEqual([
    { name: "gpu", units: 1 },
    { name: "licences", units: 5 },
  ]);
});
