import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import type { AnyWorkflow } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** What the workflow under test does; each test sets its own. */
let body: (ctx: WorkflowContext, input: { list: number[] }) => Promise<unknown> = () => Promise.resolve();
/** What steps have done. */
let ran: string[] = [];
/** Statements by name, and fault points of the check. */
let statements: string[] = [];
let checks: string[] = [];
let duringCheck: string[] = [];
let breaks: string | undefined;

const any: AnyWorkflow = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ list: z.array(z.number()) }),
  run: (ctx, input) => body(ctx, input),
});
const world = await testWorld({
  workflows: [any],
  settings: { replayCheck: true },
  faults: (point, detail) => {
    if (point === "ledger.after-statement") statements.push(detail);
    if (point === "worker.before-replay-check") {
      statements = [];
      if (breaks !== undefined) throw new Error(breaks);
    }
    if (point === "worker.after-replay-check") {
      checks.push(detail);
      duringCheck = [...statements];
    }
  },
});
beforeEach(async () => {
  await world.reset();
  [ran, statements, checks, breaks] = [[], [], [], undefined];
  world.logged.length = 0;
});

const warnings = () =>
  world.logged
    .filter(({ level, message }) => level === "warn" && message.includes("replay"))
    .map(({ message }) => message);
const step = (ctx: WorkflowContext, name: string, value: unknown = name) =>
  ctx.step(name, () => {
    ran.push(name);
    return value;
  });

/** Carries a run to its end, waits for the check of its hops, and answers with its view and what was warned of. */
async function checked(next: typeof body, hops = 1) {
  body = next;
  const { runId } = await world.submit("any", { list: [1] });
  await world.drain();
  await expect.poll(() => checks).toHaveLength(hops);
  return { view: await world.view(runId), warned: warnings() };
}

describe("what is not deterministic is named, and the run stays as it is:", () => {
  test("a step that is chosen by the clock, with the fix", async () => {
    const ends: number[] = [];
    const { view, warned } = await checked(async (ctx) => {
      await step(ctx, "a");
      ends.push(Date.now());
      // Another millisecond takes the other way.
      return step(ctx, ends.at(-1) === ends[0] ? "b" : "c");
    });
    expect(warned).toEqual([`any: on replay, call 2 is step "c" where the run had step "b"`]);
    expect(world.logged.find(({ level }) => level === "warn")?.fields).toMatchObject({
      check: "replay",
      workflow: "any",
      fix: expect.stringContaining("ctx.now()"),
    });
    expect(view).toMatchObject({ status: "DONE", output: "b", steps: 2 });
    expect(ran).toEqual(["a", "b"]);
  });

  test.each([
    [
      "one that is not asked for again",
      [["a", "b"], ["a"]],
      `call 2 is not asked for where the run had step "b"`,
    ],
    ["one more than in the run", [["a"], ["a", "b"]], `it asks for step "b" where the run returned`],
    [
      "another order",
      [
        ["a", "b"],
        ["b", "a"],
      ],
      `call 1 is step "b" where the run had step "a"`,
    ],
  ])("%s", async (_name, rounds, difference) => {
    let round = 0;
    const { warned } = await checked(async (ctx) => {
      const names = rounds[round] ?? [];
      round += 1;
      for (const name of names) await step(ctx, name);
    });
    expect(warned).toEqual([`any: on replay, ${difference}`]);
  });

  test.each<[string, (again: boolean) => Promise<unknown>, string]>([
    ["another output", (again) => Promise.resolve({ again }), "it returns something else than in the run"],
    [
      "a throw where the run returned",
      (again) => (again ? Promise.reject(new Error("late")) : Promise.resolve(1)),
      "it failed (Error: late) where the run returned",
    ],
    [
      "an output where the run failed",
      (again) => (again ? Promise.resolve(1) : Promise.reject(new TypeError("early"))),
      "it returned where the run failed (TypeError: early)",
    ],
    [
      "another failure",
      (again) => Promise.reject(new Error(String(again))),
      "it failed (Error: true) where the run failed (Error: false)",
    ],
    [
      "no end",
      (again) => (again ? new Promise(() => undefined) : Promise.resolve(1)),
      "it does not come to its end, where the run returned: it waits for something outside of steps",
    ],
  ])("%s", async (_name, end, difference) => {
    let again = false;
    const { warned } = await checked(async (ctx) => {
      await step(ctx, "a");
      const now = again;
      again = true;
      return end(now);
    });
    expect(warned).toEqual([`any: on replay, ${difference}`]);
  });

  test("an end where the hop handed over", async () => {
    let again = false;
    const draining = new AbortController();
    body = async (ctx) => {
      await ctx.step("a", () => draining.abort());
      if (again) return "early";
      again = true;
      return step(ctx, "b");
    };
    const { runId } = await world.submit("any", { list: [] });
    await world.deliver([`run:${runId}:1`], { draining: draining.signal });
    await expect.poll(() => checks).toHaveLength(1);
    expect(warnings()).toEqual(["any: on replay, it returned where the run went on"]);
  });

  test.each<[string, (ctx: WorkflowContext, again: boolean) => Promise<unknown>, string]>([
    [
      "another wait than the run is parked on",
      (ctx, again) => ctx.waitForSignal(again ? "b" : "a"),
      'it asks for signal "b" where the run asked for signal "a"',
    ],
    [
      "one wait less",
      (ctx, again) => Promise.all([ctx.waitForSignal("a"), again ? 1 : ctx.sleep("1d", { name: "late" })]),
      'it asks for signal "a" where the run asked for sleep "late"',
    ],
    [
      "no wait",
      (ctx, again) => (again ? new Promise(() => undefined) : ctx.waitForSignal("a")),
      'it asks for nothing where the run asked for signal "a"',
    ],
    [
      "an end where the run is parked",
      (ctx, again) => (again ? Promise.resolve(1) : ctx.waitForSignal("a")),
      'it returned where the run asked for signal "a"',
    ],
    [
      "another step than the one that waits for its next try",
      (ctx, again) =>
        ctx.step(again ? "c" : "b", () => Promise.reject(new Error("later")), {
          tries: 2,
          backoff: { initial: "60s", factor: 1, max: "60s" },
        }),
      'it asks for step "c" where the run asked for step "b"',
    ],
  ])("%s", async (_name, wait, difference) => {
    let again = false;
    const { view, warned } = await checked(async (ctx) => {
      await step(ctx, "a");
      const now = again;
      again = true;
      return wait(ctx, now);
    });
    expect(warned).toEqual([`any: on replay, ${difference}`]);
    expect(view.status).toMatch(/^AWAITING_/);
  });

  test.each<[string, (ctx: WorkflowContext, again: boolean) => Promise<unknown>, string]>([
    [
      "another input to continue with",
      (ctx, again) => ctx.restart({ list: [again ? 1 : 2] }),
      "it continues as new with another input than in the run",
    ],
    [
      "an end where the run continued as new",
      (ctx, again) => (again ? Promise.resolve(1) : ctx.restart({ list: [] })),
      "it returned where the run continued as new",
    ],
    [
      "a step where the run continued as new",
      (ctx, again) => (again ? step(ctx, "b") : ctx.restart({ list: [] })),
      'it asks for step "b" where the run continued as new',
    ],
    [
      "to continue as new where the run returned",
      (ctx, again) => (again ? ctx.restart({ list: [] }) : Promise.resolve(1)),
      "it continued as new where the run returned",
    ],
  ])("%s", async (_name, end, difference) => {
    let hops = 0;
    body = async (ctx) => {
      hops += 1;
      await step(ctx, "a");
      return end(ctx, hops > 1);
    };
    const { runId } = await world.submit("any", { list: [] });
    await world.deliver([`run:${runId}:1`]);
    await expect.poll(() => checks).toHaveLength(1);
    expect(warnings()).toEqual([`any: on replay, ${difference}`]);
  });
});

describe("what is deterministic is not spoken of:", () => {
  test.each<[string, typeof body, object]>([
    [
      "the run's own time and chance, steps at the same time, a failed step that is caught",
      async (ctx) => {
        const both = await Promise.all([step(ctx, "a"), step(ctx, "b")]);
        const name = `c${Math.floor(ctx.random() * 1e9)}`;
        await ctx
          .step(name, () => {
            throw new Error("no");
          })
          .catch(() => undefined);
        return [both, ctx.now(), ctx.uuid(), await step(ctx, name.replace("c", "d"))];
      },
      { status: "DONE", steps: 4 },
    ],
    [
      "an input that the workflow has changed",
      (ctx, input) => {
        input.list.push(2);
        return step(ctx, `n${input.list.length}`);
      },
      { status: "DONE" },
    ],
    ["a failure, with its stack", () => Promise.reject(new Error("always")), { status: "FAILED" }],
    [
      "a step that fails the run while another one is in flight",
      (ctx) => {
        const late = Promise.withResolvers<void>();
        const fails = ctx.step("fails", () => {
          setImmediate(late.resolve);
          throw new Error("no");
        });
        return Promise.all([fails, ctx.step("late", () => late.promise)]);
      },
      { status: "FAILED", error: { code: "step_failed" } },
    ],
    ["a refusal of the engine", (ctx) => ctx.step("big", () => "x".repeat(2_000_000)), { status: "FAILED" }],
    [
      "a step that nobody waits for",
      (ctx) => {
        void step(ctx, "alone");
        return Promise.resolve("returned");
      },
      { status: "DONE", steps: 1 },
    ],
  ])("%s", async (_name, next, expected) => {
    const { view, warned } = await checked(next);
    expect(view).toMatchObject(expected);
    expect(warned).toEqual([]);
  });

  test("a hop that is parked, the one that goes on from there, and what is asked for a little later", async () => {
    let asked = 0;
    body = async (ctx) => {
      const before = await Promise.all([step(ctx, "a"), step(ctx, "b")]);
      asked += 1;
      // Code may wait for something outside of steps before it asks, and for longer in a replay than in the run.
      for (let n = 0; n < asked * 3; n += 1) await new Promise((resolve) => setImmediate(resolve));
      const { winner } = await ctx.first({ told: ctx.waitForSignal("told"), late: ctx.sleep("1d") });
      return [before, winner, await step(ctx, "c")];
    };
    const { runId } = await world.submit("any", { list: [] });
    await world.drain();
    await expect.poll(() => checks).toHaveLength(1);
    expect((await world.view(runId)).status).toBe("AWAITING_SIGNAL");
    await world.signals.send(SOMEBODY, runId, { name: "told", payloadText: "1" });
    await world.drain();
    await expect.poll(() => checks).toHaveLength(2);
    expect((await world.view(runId)).output).toEqual([["a", "b"], "told", "c"]);
    expect(warnings()).toEqual([]);
    expect(ran).toEqual(["a", "b", "c"]);
  });

  test("a hop that continues as new, each epoch by itself", async () => {
    const { view, warned } = await checked(async (ctx, { list }) => {
      const next = [...list, await step(ctx, "a", list.length), ctx.random()];
      return next.length < 6 ? ctx.restart({ list: next }) : step(ctx, "b", next.length);
    }, 3);
    expect(view).toMatchObject({ status: "DONE", output: 7 });
    expect(warned).toEqual([]);
  });

  test("a new input that cannot be stored, which has failed the run", async () => {
    const { view, warned } = await checked(async (ctx) => {
      await step(ctx, "a");
      return ctx.restart({ list: Number.NaN });
    });
    expect(view.status).toBe("FAILED");
    expect(warned).toEqual([]);
  });

  test("code that was away outside of steps when its hop handed over, and comes to its end sooner on replay", async () => {
    const draining = new AbortController();
    const back = Promise.withResolvers<void>();
    body = async (ctx) => {
      await ctx.step("a", () => draining.abort());
      await back.promise;
      return "end";
    };
    const { runId } = await world.submit("any", { list: [] });
    await world.deliver([`run:${runId}:1`], { draining: draining.signal });
    back.resolve();
    await expect.poll(() => checks).toHaveLength(1);
    expect(warnings()).toEqual([]);
    await world.drain();
    await expect.poll(() => checks).toHaveLength(2);
    expect((await world.view(runId)).output).toBe("end");
    expect(warnings()).toEqual([]);
  });

  test("a journal that the code of now does not ask for: the run has failed by that, and its code has changed", async () => {
    const draining = new AbortController();
    let first = "a";
    body = (ctx) => ctx.step(first, () => draining.abort()).then(() => step(ctx, "b"));
    const { runId } = await world.submit("any", { list: [] });
    await world.deliver([`run:${runId}:1`], { draining: draining.signal });
    await expect.poll(() => checks).toHaveLength(1);
    first = "z";
    await world.drain();
    await expect.poll(() => checks).toHaveLength(2);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", errorCode: "journal_mismatch" });
    expect(warnings()).toEqual([]);
  });

  test("a hop that hands over, and the one after it", async () => {
    const draining = new AbortController();
    body = async (ctx) => {
      await ctx.step("a", () => draining.abort());
      return step(ctx, "b");
    };
    const { runId } = await world.submit("any", { list: [] });
    await world.deliver([`run:${runId}:1`], { draining: draining.signal });
    await world.drain();
    await expect.poll(() => checks).toHaveLength(2);
    expect((await world.view(runId)).status).toBe("DONE");
    expect(warnings()).toEqual([]);
  });
});

test("a check runs no step, writes nothing and says nothing as if it were live", async () => {
  const { view } = await checked(async (ctx) => {
    ctx.log.info("before");
    const a = await step(ctx, "a");
    ctx.log.info("after");
    return a;
  });
  expect(ran).toEqual(["a"]);
  // What follows the end of the hop before it is still on its way.
  expect(duringCheck.filter((statement) => !statement.startsWith("evidence."))).toEqual(["journal.read"]);
  expect(world.logged.filter(({ message }) => message === "before")).toHaveLength(1);
  expect(world.logged.filter(({ message }) => message === "after")).toHaveLength(1);
  expect(view.steps).toBe(1);
  // Where there is no journal, nothing tells a replay from the run itself.
  world.logged.length = 0;
  checks = [];
  await checked((ctx) => Promise.resolve(ctx.log.info("no step")));
  expect(world.logged.filter(({ message }) => message === "no step")).toHaveLength(1);
});

test("time has moved by at least a millisecond before code is replayed", async () => {
  const times: number[] = [];
  await checked((ctx) => {
    times.push(Date.now());
    return step(ctx, "a");
  });
  expect(times[1]).toBeGreaterThan(times[0] ?? Infinity);
});

test("what user code leaves rejected in a check fails no run and no process", async () => {
  let again = false;
  const { view } = await checked((ctx) => {
    if (again) void Promise.reject(new Error("left behind")).catch(() => undefined);
    again = true;
    return step(ctx, "a");
  });
  expect(view.status).toBe("DONE");
});

test("a check that cannot be made is told, and the run stays as it is", async () => {
  breaks = "the ledger is out of reach";
  body = (ctx) => step(ctx, "a");
  const { runId } = await world.submit("any", { list: [] });
  await world.drain();
  await expect.poll(warnings).toEqual(["a hop could not be replayed for the check"]);
  expect((await world.view(runId)).status).toBe("DONE");
});

test("nobody is checked who has not asked for it", async () => {
  body = (ctx) => step(ctx, `at ${Date.now()}`);
  const { runId } = await world.submit("any", { list: [] });
  await world.drain({ deps: { settings: { ...world.deps.settings, replayCheck: false } } });
  expect((await world.view(runId)).status).toBe("DONE");
  expect(statements.filter((name) => name === "journal.read")).toEqual([]);
  expect(warnings()).toEqual([]);
});
