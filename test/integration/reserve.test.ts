import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import type { FaultPoint } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";
import { until } from "../support/wait.ts";

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
let body: (ctx: WorkflowContext, input: unknown) => Promise<unknown> = async () => null;
const free = workflow({ ...base, name: "free", run: (ctx, input) => body(ctx, input) });

/** Whoever uses the one GPU tells it here. */
const gpu = { now: 0, most: 0, uses: [] as string[] };
async function use(what: string, during: () => unknown = () => undefined): Promise<string> {
  gpu.now += 1;
  gpu.most = Math.max(gpu.most, gpu.now);
  gpu.uses.push(what);
  await during();
  await new Promise((resolve) => setImmediate(resolve));
  gpu.now -= 1;
  return what;
}
const job = workflow({
  ...base,
  name: "job",
  run: async (ctx) => {
    const got = await ctx.reserve("gpu", {}, () => ctx.step("work", () => use("job")));
    return got.outcome;
  },
});
const needs = workflow({
  ...base,
  name: "needs",
  run: async (ctx) => {
    const got = await ctx.reserve("gpu", {}, () => ctx.step("own", () => use("own")));
    const child = await ctx.child(job, null);
    return [got.outcome, child.outcome];
  },
});

let passing: ((point: FaultPoint, detail: string) => void | Promise<void>) | undefined;
const world = await testWorld({
  workflows: [free, job, needs],
  capacities: { gpu: 1, licences: 5 },
  maxConnections: 12,
  settings: { residentDelayMs: 50 },
  faults: (point, detail) => passing?.(point, detail),
});
const { db } = world;
const { promise: never } = Promise.withResolvers<never>();

afterEach(async () => {
  passing = undefined;
  expect(gpu.most).toBeLessThanOrEqual(1);
  Object.assign(gpu, { now: 0, most: 0, uses: [] });
  expect(await world.broken()).toEqual([]);
  await world.reset();
  world.logged.length = 0;
});

const started = async (code: typeof body, input: unknown = null) => {
  body = code;
  return (await world.submit("free", input)).runId;
};
const carried = async (code: typeof body, input: unknown = null) => {
  const runId = await started(code, input);
  await world.drain();
  return world.view(runId);
};
const journalOf = async (runId: string) =>
  (await world.ledger.journal.read({ tenantId: "acme", runId })).map(
    ({ kind, name, scope }) => `${scope === "" ? "" : `${scope} `}${kind} ${name}`,
  );
const rowsOf = async (runId: string) =>
  (
    await db.admin<{ status: string }>(
      "select status from ghouls.reservations where run_id = $1 order by asked_at, reservation_id",
      [runId],
    )
  ).map(({ status }) => status);
const takes = () => {
  const counts = { taken: 0, released: 0 };
  passing = (point) => {
    if (point === "worker.before-reserve") counts.taken += 1;
    if (point === "worker.before-release") counts.released += 1;
  };
  return counts;
};

/** Another run that holds the GPU until it is told to go. */
async function held(capacity = "gpu", units = 1) {
  const gate = Promise.withResolvers<void>();
  const { runId } = await world.submit("free", "holds");
  const working = (async () => {
    const before = body;
    body = (ctx, input) =>
      input === "holds"
        ? ctx.reserve(capacity, { units }, () => ctx.step("hold", () => gate.promise))
        : before(ctx, input);
    return world.deliver([`run:${runId}:1`]);
  })();
  await until("it is held", async () => (await rowsOf(runId)).includes("HELD"));
  return { runId, working, letGo: () => gate.resolve() };
}

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
    const before = body;
    body = async (ctx, input) =>
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
});

describe("a run that waits", () => {
  const waiting = async (code: typeof body) => {
    const holder = await held();
    const before = body;
    body = (ctx, input) => (input === "holds" ? before(ctx, input) : code(ctx, input));
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
    body = (
      (before) => (ctx, input) =>
        input === "other" ? ctx.reserve("gpu", {}, () => use("other")) : before(ctx, input)
    )(body);
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
    const before = body;
    body = (ctx, input) =>
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
    expect([(await world.view(runId)).status, await rowsOf(runId)]).toEqual(["QUEUED", ["RELEASED"]]);
    holder.letGo();
    await holder.working;
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", steps: 3 });
  });

  test("is handed over before its invocation ends, as often as that takes, and does not fail by it", async () => {
    const holder = await held();
    const before = body;
    body = (ctx, input) =>
      input === "holds"
        ? before(ctx, input)
        : ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one")));
    const { runId } = await world.submit("free");
    for (let seq = 1; seq <= 4; seq += 1) {
      const [outcome] = await world.deliver([`run:${runId}:${seq}`], {}, { remainingMs: () => 2_010 });
      expect(outcome).toMatchObject({ reason: "handed_over" });
    }
    expect(await rowsOf(runId)).toEqual(["RELEASED", "RELEASED", "RELEASED", "RELEASED"]);
    holder.letGo();
    await holder.working;
    await world.deliver([`run:${runId}:5`]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });
});

describe("a run that goes on elsewhere", () => {
  /** The first hop ends after the first of two steps. */
  async function afterOne(code: typeof body): Promise<string> {
    const draining = new AbortController();
    const runId = await started(code);
    passing = (point, detail) => {
      if (point === "worker.after-step" && detail === "one") draining.abort();
    };
    expect(await world.deliver([`run:${runId}:1`], { draining: draining.signal })).toMatchObject([
      { reason: "handed_over" },
    ]);
    return runId;
  }
  const twoInside: typeof body = (ctx) =>
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
    passing = (point, detail) => {
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
    passing = (point, detail) => {
      if (point === "worker.after-step" && detail === "one") {
        isLost();
        return never;
      }
    };
    void world.deliver([`run:${runId}:1`], { settings: { ...world.deps.settings, beatMs: 1_000_000 } });
    await lost;
    passing = undefined;
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

  test("what it holds is held until the last of its calls has ended, also of those that nobody awaits", async () => {
    const order: string[] = [];
    passing = (point, detail) => {
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

describe.each(["reservations.take", "reservations.release"])("the answer of %s", (statement) => {
  test.each([
    ["is lost after its statement", "ledger.after-statement", "Connection terminated unexpectedly"],
    ["is lost after its commit", "ledger.after-commit", "Connection terminated unexpectedly"],
  ] as const)("%s: it is asked again, and nothing is had twice", async (_, at, message) => {
    let lost = 0;
    passing = (point, detail) => {
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

test("a build that could not announce itself says what there is when it is asked for", async () => {
  await db.admin("truncate ghouls.capacities cascade");
  const view = await carried((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
  expect(view).toMatchObject({ status: "DONE" });
  expect(await db.admin("select name, units from ghouls.capacities order by name")).toEqual([
    { name: "gpu", units: 1 },
    { name: "licences", units: 5 },
  ]);
});

test("where the ledger cannot be asked at all the claim stays as it is, and the run goes on from there", async () => {
  const runId = await started((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
  passing = (point, detail) => {
    if (point === "ledger.before-statement" && detail === "reservations.take")
      throw Object.assign(new Error("by a test"), { code: "XX000" });
  };
  expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ reason: "unknown_outcome" }]);
  passing = undefined;
  await world.advance(130);
  await world.reconcile();
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ output: { outcome: "RESERVED", value: "one" } });
});

test("where a replay checks the code, it takes nothing and gives nothing back", async () => {
  const counts = takes();
  const runId = await started((ctx) => ctx.reserve("gpu", {}, () => ctx.step("one", () => use("one"))));
  const checked = Promise.withResolvers<void>();
  const before = passing;
  passing = (point, detail) => {
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
  const before = body;
  body = async (ctx, input) => {
    if (input === "holds") return before(ctx, input);
    void ctx.reserve("gpu", {}, () => undefined);
    return ctx.step("beside", async () => {
      await until("it is asked for no more", async () => (await rowsOf(ctx.runId))[0] === "RELEASED");
      return "done";
    });
  };
  const { runId } = await world.submit("free");
  let asked = false;
  passing = (point) => {
    if (point === "worker.after-reserve") asked = true;
  };
  await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => (asked ? 2_010 : 900_000) });
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "done" });
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
    passing = (point) => {
      if (point === "worker.after-intent") throw new Error("the worker is gone");
    };
    await world.drain();
    passing = undefined;
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
