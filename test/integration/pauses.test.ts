import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { notDone, workflow, type WorkflowContext } from "ghouls";
import type { Caller } from "@ghouls/core";
import { until } from "../support/wait.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let build: () => Promise<unknown> = () => Promise.resolve();
let trace: string[] = [];
let failing: string | undefined;
const base = {
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx: WorkflowContext) => body(ctx),
} as const;
const world = await testWorld({
  workflows: [
    workflow({ ...base, name: "any" }),
    workflow({ ...base, name: "holds", resources: { mailer: { build: () => build() } } }),
  ],
  faults: (point, detail) => {
    if (point === "ledger.before-statement" && detail === failing) throw new Error("by a test");
  },
});
const { control, pauses, db } = world;
const OPERATOR: Caller = { ...SOMEBODY, permissions: ["runs:pause", "deployment:pause"] };
const deps = { settings: { ...world.deps.settings, leaseMs: 60_000, beatMs: 20 } };

beforeEach(async () => {
  trace = [];
  failing = undefined;
  await world.reset();
});

const rowOf = async (runId: string) =>
  (await db.admin("select losses, idle_yields, enqueue_seq from ghouls.runs where run_id = $1", [runId]))[0];
const outcomes = async (runId: string) =>
  (await db.admin("select outcome from ghouls.deliveries where run_id = $1 order by seq", [runId])).map(
    (row) => row["outcome"],
  );

describe("a run that is paused while a worker carries it", () => {
  test("is let go of between two steps: none is cut off, nothing is counted, and it waits unpublished", async () => {
    const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let aborted = false;
    body = async (ctx) => {
      await ctx.step("first", async ({ signal }) => {
        trace.push("first");
        signal.addEventListener("abort", () => (aborted = true));
        started.resolve();
        await gate.promise;
      });
      return ctx.step("second", () => trace.push("second"));
    };
    const { runId } = await world.submit("any");
    const working = world.drain({ deps });
    await started.promise;
    const paused = await control.pause(SOMEBODY, runId, "the bank is closed");
    expect(paused).toMatchObject({ paused: true, status: "RUNNING" });
    const told = () => world.view(runId);
    expect(await told()).toMatchObject({
      status: "RUNNING",
      pausedAt: paused.pauses[0]?.at,
      pauses: [{ scope: "run", pauseId: null, by: "user:ada", reason: "the bank is closed" }],
    });
    // Whether it has been told is not to be seen before the step has ended: two more beats make sure of it.
    await twoBeats(runId);
    gate.resolve();
    expect((await working).map(({ reason }) => reason)).toEqual(["handed_over"]);
    expect([trace, aborted]).toEqual([["first"], false]);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", steps: 1 });
    expect(await rowOf(runId)).toEqual({ losses: 0, idle_yields: 0, enqueue_seq: 2 });

    await world.later(3_600);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
    expect(await control.unpause(SOMEBODY, runId, "it is open")).toEqual({
      runId,
      unpaused: true,
      status: "QUEUED",
      pauses: [],
    });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", pausedAt: null, pauses: [] });
    expect(trace).toEqual(["first", "second"]);
    expect(await outcomes(runId)).toEqual(["continued", "done"]);
  });

  test.each([
    ["a step", {}],
    ["an effect that happens once", { effect: "once" }],
  ] as const)("tries %s no further", async (_, options) => {
    let tries = 0;
    body = (ctx) =>
      ctx.step(
        "calls the bank",
        () => {
          tries += 1;
          throw notDone(new Error("the bank is closed"));
        },
        { tries: 30, backoff: { initial: "100ms", max: "100ms" }, ...options },
      );
    const { runId } = await world.submit("any");
    const working = world.drain({ deps });
    await until("it tries", () => tries > 0);
    await control.pause(SOMEBODY, runId, "the bank is closed");
    await working;
    expect((await world.view(runId)).status).toBe("QUEUED");
    expect(tries).toBeLessThan(30);
    // What it has tried is not tried again from the first.
    await control.unpause(SOMEBODY, runId, "it is open");
    const before = tries;
    await world.later(1);
    expect((await world.view(runId)).status).toBe("FAILED");
    expect(tries).toBeLessThanOrEqual(30);
    expect(tries).toBeGreaterThan(before);
  });

  test("and whose code has come to its end, ends", async () => {
    const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    body = (ctx) =>
      ctx.step("only", async () => {
        started.resolve();
        await gate.promise;
      });
    const { runId } = await world.submit("any");
    const working = world.drain({ deps });
    await started.promise;
    await control.pause(SOMEBODY, runId, "too late");
    await twoBeats(runId);
    gate.resolve();
    await working;
    expect(await world.view(runId)).toMatchObject({ status: "DONE", pausedAt: null, pauses: [] });
    const again = await control.pause(SOMEBODY, runId, "later still");
    expect(again).toEqual({ runId, paused: false, status: "DONE", pauses: [] });
  });

  test("before its code runs, while its resources are built, gives its delivery back", async () => {
    const building = Promise.withResolvers<void>();
    const built = Promise.withResolvers<void>();
    build = () => {
      building.resolve();
      return built.promise;
    };
    body = () => Promise.resolve(trace.push("ran"));
    const { runId } = await world.submit("holds");
    const working = world.drain({ deps });
    await building.promise;
    await pauses.set(OPERATOR, { scope: "workflow", workflow: "holds", reason: "a bad release" });
    expect((await working).map(({ reason }) => reason)).toEqual(["handed_over"]);
    built.resolve();
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", pauses: [{ scope: "workflow" }] });
    expect(await rowOf(runId)).toEqual({ losses: 0, idle_yields: 0, enqueue_seq: 2 });
    expect(trace).toEqual([]);
  });
});

test("a parked run that is paused stays parked; what resumes it makes a delivery that waits", async () => {
  body = async (ctx) => (await ctx.waitForSignal("paid")).outcome;
  const { runId } = await world.submit("any");
  await world.drain();
  expect(await control.pause(SOMEBODY, runId, "the bank is closed")).toMatchObject({
    paused: true,
    status: "AWAITING_SIGNAL",
  });
  await world.signals.send(SOMEBODY, runId, { name: "paid", payloadText: undefined });
  expect((await world.drain()).map(({ reason, done }) => [reason, done])).toEqual([["paused", true]]);
  expect(await world.view(runId)).toMatchObject({ status: "QUEUED", waits: [] });
  await control.unpause(SOMEBODY, runId, "it is open");
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "RECEIVED" });
});

test("a timer and a deadline go on while everything is paused", async () => {
  body = (ctx) => ctx.sleep("1h");
  const [sleeps, ends] = [await world.submit("any"), await world.submit("any")];
  await world.drain();
  await db.admin(
    "update ghouls.runs set deadline_at = ghouls.clock() + interval '1 minute' where run_id = $1",
    [ends.runId],
  );
  await pauses.set(OPERATOR, { scope: "all", reason: "a restore" });
  await world.later(3_700);
  expect((await world.view(sleeps.runId)).status).toBe("QUEUED");
  expect(await world.view(ends.runId)).toMatchObject({ status: "FAILED", errorCode: "deadline", pauses: [] });
});

describe("a pause of more than one run", () => {
  test("has workers skip what it holds; when it is lifted, the next look publishes that at once", async () => {
    body = () => Promise.resolve("done");
    const before = await world.submit("any");
    const { pause } = await pauses.set(OPERATOR, { scope: "tenant", reason: "a leak" });
    const during = await world.submit("any");
    const skipped = await world.drain();
    expect(skipped.map(({ reason, done }) => [reason, done])).toEqual([
      ["paused", true],
      ["paused", true],
    ]);
    expect((await world.reconcile()).relay).toMatchObject({ repaired: 0 });
    expect(await world.ledger.nextLook()).toBeNull();
    expect((await world.reads.listRuns("acme", {}, { limit: 10 })).runs.map((run) => run.pauses)).toEqual([
      [{ scope: "tenant", pauseId: pause.pauseId, by: "user:ada", reason: "a leak", at: pause.at }],
      [{ scope: "tenant", pauseId: pause.pauseId, by: "user:ada", reason: "a leak", at: pause.at }],
    ]);
    expect(await pauses.lift(OPERATOR, pause.pauseId, "it is mended")).toEqual({ lifted: true, pause });
    expect((await world.reconcile()).relay).toMatchObject({ repaired: 2 });
    await world.drain();
    for (const { runId } of [before, during]) expect((await world.view(runId)).status).toBe("DONE");
  });

  test("keeps a run that is unpaused itself, and says so", async () => {
    const { runId } = await world.submit("any");
    await control.pause(SOMEBODY, runId, "x");
    const { pause } = await pauses.set(OPERATOR, { scope: "workflow", workflow: "any", reason: "y" });
    await world.drain();
    const unpaused = await control.unpause(SOMEBODY, runId, "z");
    expect(unpaused).toMatchObject({
      unpaused: true,
      status: "QUEUED",
      pauses: [{ pauseId: pause.pauseId }],
    });
    expect(await world.drain()).toEqual([]);
    expect(await control.unpause(SOMEBODY, runId, "z")).toMatchObject({ unpaused: false });
  });

  test("whose skipped messages cannot be made good leaves them where they are", async () => {
    const { runId } = await world.submit("any");
    await control.pause(SOMEBODY, runId, "x");
    failing = "deliveries.mark-skipped-as-paused";
    expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ done: false }]);
    failing = undefined;
    expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ done: true, reason: "paused" }]);
  });

  const own: Caller = { ...SOMEBODY, permissions: ["runs:pause"] };
  const foreign: Caller = {
    tenantId: "umbrella",
    subject: "user:eve",
    roles: [],
    permissions: ["runs:pause"],
  };

  test("of everything wants a permission that reaches beyond a tenant, to be set and to be lifted", async () => {
    await expect(pauses.set(own, { scope: "all", reason: "x" })).rejects.toMatchObject({ code: "forbidden" });
    expect(await pauses.list("acme")).toEqual({ pauses: [] });
    const { pause } = await pauses.set(OPERATOR, { scope: "all", reason: "x" });
    expect(pause).toMatchObject({ tenantId: null, workflow: null });
    expect(await pauses.set(OPERATOR, { scope: "all", reason: "y" })).toEqual({ created: false, pause });
    for (const caller of [own, foreign]) {
      expect(await pauses.list(caller.tenantId)).toEqual({ pauses: [pause] });
      await expect(pauses.lift(caller, pause.pauseId, "x")).rejects.toMatchObject({ code: "forbidden" });
    }
    await pauses.lift({ ...foreign, permissions: ["deployment:pause"] }, pause.pauseId, "x");
    expect(await pauses.list("acme")).toEqual({ pauses: [] });
  });

  test("of a tenant is that of the token, and another's can be neither seen nor lifted", async () => {
    for (const request of [
      { scope: "tenant", reason: "x" } as const,
      { scope: "workflow", workflow: "any", reason: "x" } as const,
    ]) {
      const { pause } = await pauses.set(own, request);
      expect(pause).toMatchObject({ tenantId: "acme", by: "user:ada" });
      expect(await pauses.list("umbrella")).toEqual({ pauses: [] });
      for (const caller of [foreign, { ...foreign, permissions: OPERATOR.permissions }])
        await expect(pauses.lift(caller, pause.pauseId, "x")).rejects.toMatchObject({ code: "not_found" });
      expect(await pauses.lift(own, pause.pauseId, "x")).toMatchObject({ lifted: true });
      expect(await pauses.lift(own, pause.pauseId, "x")).toMatchObject({ lifted: false });
    }
    await expect(pauses.lift(own, "none", "x")).rejects.toMatchObject({ code: "not_found" });
    await expect(control.pause(foreign, "none", "x")).rejects.toMatchObject({ code: "not_found" });
    const { runId } = await world.submit("any");
    await expect(control.pause(foreign, runId, "x")).rejects.toMatchObject({ code: "not_found" });
    await expect(control.unpause(foreign, runId, "x")).rejects.toMatchObject({ code: "not_found" });
  });
});

/** Waits until the lease has been extended twice: what is committed now was told with the second at the latest. */
async function twoBeats(runId: string): Promise<void> {
  const lease = async () =>
    Number(
      (
        await db.admin(
          "select extract(epoch from max(lease_until)) as at from ghouls.deliveries where run_id = $1",
          [runId],
        )
      )[0]?.["at"],
    );
  for (let beats = 0; beats < 2; beats += 1) {
    const before = await lease();
    await expect.poll(lease, { interval: 10 }).toBeGreaterThan(before);
  }
}
