import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let trace: string[] = [];
const world = await testWorld({
  workflows: [
    workflow({
      name: "any",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: (ctx) => body(ctx),
    }),
  ],
});
const { db, ledger } = world;
beforeEach(async () => {
  trace = [];
  await world.reset();
});

/** A time that a test moves: the worker's own clocks, and what remains of its invocation. */
function hands(limitMs: number) {
  let now = 0;
  return {
    limitMs,
    remainingMs: () => limitMs - now,
    clock: { monotonicMs: () => now, wallMs: () => now },
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const numbered = (count: number, each: (n: number) => void) => async (ctx: WorkflowContext) => {
  for (let n = 1; n <= count; n += 1) {
    await ctx.step(
      `step ${n}`,
      () => {
        trace.push(`step ${n}`);
        each(n);
        return n;
      },
      { timeout: "2s" },
    );
  }
  return count;
};

/** Works through a run, hop by hop, each with an invocation of its own. */
async function hops(
  runId: string,
  limitMs: number,
  use: (hand: ReturnType<typeof hands>) => typeof body,
): Promise<number> {
  for (let seq = 1; ; seq += 1) {
    const hand = hands(limitMs);
    body = use(hand);
    await world.deliver([`run:${runId}:${seq}`], { clock: hand.clock }, hand);
    const { status, enqueueSeq } = await world.view(runId);
    if (status !== "QUEUED" || enqueueSeq === seq) return seq;
  }
}

describe("a run that outlives its invocation", () => {
  test("goes on in the next one, and repeats nothing", async () => {
    const { runId } = await world.submit("any");
    // Thirty steps of a second each under an invocation of ten.
    const used = await hops(runId, 10_000, (hand) => numbered(30, () => hand.pass(1_000)));
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: 30, steps: 30 });
    expect(used).toBe(5);
    expect(trace).toEqual(Array.from({ length: 30 }, (_, index) => `step ${index + 1}`));
    const outcomes = await db.admin("select outcome from ghouls.deliveries where run_id = $1 order by seq", [
      runId,
    ]);
    expect(outcomes.map((row) => row["outcome"])).toEqual([
      "continued",
      "continued",
      "continued",
      "continued",
      "done",
    ]);
  });

  test("without a new journal entry twice in a row fails by name", async () => {
    const { runId } = await world.submit("any");
    const used = await hops(runId, 10_000, (hand) => {
      hand.pass(7_000);
      return numbered(1, () => undefined);
    });
    expect(used).toBe(2);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "no_progress" } });
    expect(trace).toEqual([]);
  });

  test("starts no further try that does not fit: the next hop goes on with the tries that are left", async () => {
    const { runId } = await world.submit("any");
    let failures = 4;
    await hops(
      runId,
      10_000,
      (hand) => (ctx) =>
        ctx.step(
          "stubborn",
          () => {
            trace.push(`at ${hand.remainingMs()}`);
            hand.pass(4_000);
            if ((failures -= 1) >= 0) throw new Error("again");
            return "done";
          },
          { tries: 5, timeout: "2s", backoff: { initial: "1ms" } },
        ),
    );
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "done" });
    // Never with less than its timeout and the reserve for settling.
    expect(trace).toEqual(["at 10000", "at 6000", "at 10000", "at 6000", "at 10000"]);
  });

  test("refuses a step that fits no invocation before it starts", async () => {
    body = (ctx) => ctx.step("long", () => void trace.push("ran"), { timeout: "9s" });
    const { runId } = await world.submit("any");
    await world.deliver([`run:${runId}:1`], {}, { limitMs: 10_000 });
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "invalid_call" } });
    expect(trace).toEqual([]);
  });

  test("that comes to its end while it would hand over has ended", async () => {
    const { runId } = await world.submit("any");
    const hand = hands(10_000);
    body = async (ctx) => {
      const first = ctx.step("first", () => "kept", { timeout: "1s" });
      hand.pass(8_500);
      void ctx.step("too late", () => void trace.push("ran"), { timeout: "1s" });
      return first;
    };
    await world.deliver([`run:${runId}:1`], { clock: hand.clock }, { ...hand, limitMs: 10_000 });
    expect(trace).toEqual([]);
    expect((await world.view(runId)).status).toMatch(/QUEUED|DONE/);
  });

  test.each([
    ["is missing", "delete from ghouls.checkpoints where run_id = $1", /checkpoint 1 is missing/],
    [
      "is of another digest",
      "update ghouls.checkpoints set workflow_digest = 'x' where run_id = $1",
      /another workflow digest/,
    ],
    [
      "disagrees",
      "update ghouls.checkpoints set journal_digest = 'x' where run_id = $1",
      /disagrees with the journal/,
    ],
  ])("whose checkpoint %s is quarantined, and nothing is executed", async (_name, damage, reason) => {
    const { runId } = await world.submit("any");
    const hand = hands(10_000);
    body = numbered(10, () => hand.pass(2_000));
    await world.deliver([`run:${runId}:1`], { clock: hand.clock }, hand);
    await db.admin(damage, [runId]);
    const before = trace.length;
    expect(await world.deliver([`run:${runId}:2`])).toMatchObject([{ reason: "quarantined" }]);
    expect(trace).toHaveLength(before);
    expect((await world.view(runId)).quarantine?.reason).toMatch(reason);
  });
});

describe("a process that drains", () => {
  test("claims nothing, and its messages come back soon", async () => {
    body = numbered(1, () => undefined);
    const { runId } = await world.submit("any");
    const draining = AbortSignal.abort();
    expect(await world.deliver([`run:${runId}:1`], { draining })).toMatchObject([
      { done: false, reason: "draining" },
    ]);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 1 });
  });

  test("five times during one healthy run costs it nothing", async () => {
    const { runId } = await world.submit("any");
    for (let seq = 1; seq <= 5; seq += 1) {
      const drain = new AbortController();
      body = numbered(7, (n) => {
        if (n === seq) drain.abort();
      });
      await world.deliver([`run:${runId}:${seq}`], { draining: drain.signal });
    }
    body = numbered(7, () => undefined);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: 7, enqueueSeq: 6 });
    expect(trace).toEqual([1, 2, 3, 4, 5, 6, 7].map((n) => `step ${n}`));
    const [row] = await db.admin("select losses, idle_yields from ghouls.runs where run_id = $1", [runId]);
    expect(row).toEqual({ losses: 0, idle_yields: 0 });
  });
});

test("a step in flight at the end of its invocation: the others settle, and the process is asked to end", async () => {
  const never = new Promise(() => undefined);
  body = (ctx) =>
    ctx.step("stuck", () => (ctx.requestedBy === "user:ada" && trace.length === 0 ? never : 1), {
      timeout: "1s",
    });
  const stuck = await world.submit("any");
  const exits = world.exits.length;
  const started = performance.now();
  const outcomes = await world.deliver(
    [`run:${stuck.runId}:1`],
    {},
    {
      limitMs: 60_000,
      remainingMs: () => 4_000 - (performance.now() - started),
    },
  );
  expect(world.exits.slice(exits)).toEqual(["1 steps are in flight at the end of the invocation"]);
  expect(outcomes).toMatchObject([{ done: false }]);
  expect((await world.view(stuck.runId)).status).toBe("RUNNING");
});

describe("a heartbeat", () => {
  test("keeps a long step's claim, and what is fenced is aborted and writes nothing", async () => {
    const gate = Promise.withResolvers<string>();
    let aborted = false;
    body = (ctx) =>
      ctx.step("long", async ({ signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          gate.resolve("late");
        });
        return gate.promise;
      });
    const { runId } = await world.submit("any");
    const settings = { ...world.deps.settings, leaseMs: 2_000, beatMs: 50 };
    const working = world.deliver([`run:${runId}:1`], { settings });
    const beats = async () =>
      Number(
        (
          await db.admin(
            "select extract(epoch from lease_until) as at from ghouls.deliveries where run_id = $1",
            [runId],
          )
        )[0]?.["at"],
      );
    await expect.poll(beats).toBeGreaterThan(0);
    const first = await beats();
    await expect.poll(beats).toBeGreaterThan(first);
    expect(aborted).toBe(false);

    await ledger.runs.cancel({ tenantId: "acme", runId }, { actor: "a", reason: "b" }, 60);
    await expect.poll(() => aborted).toBe(true);
    await working;
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED", steps: 0 });
  });

  test.each([
    ["its ledger cannot be reached", { fails: true, jumpMs: 0 }],
    ["its process was frozen: the wall clock tells", { fails: false, jumpMs: 60_000 }],
  ])("fences itself before its lease ends where %s", async (_name, { fails, jumpMs }) => {
    let aborted = false;
    body = (ctx) =>
      ctx.step("long", ({ signal }) => {
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            aborted = true;
            resolve("late");
          }),
        );
      });
    const { runId } = await world.submit("any");
    let jumped = 0;
    const working = world.deliver([`run:${runId}:1`], {
      settings: { ...world.deps.settings, leaseMs: 3_000, beatMs: 100 },
      clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() + jumped },
      faults: (point) => {
        if (fails && point === "worker.before-beat") throw new Error("Connection terminated unexpectedly");
      },
    });
    await expect.poll(async () => (await world.view(runId)).status).toBe("RUNNING");
    // A slow machine may come to the ledger only after the lease, which would judge the claim: it is asked what the worker
    // did by itself.
    await db.admin(
      "update ghouls.deliveries set lease_until = lease_until + interval '1 hour' where run_id = $1",
      [runId],
    );
    jumped = jumpMs;
    expect(await working).toMatchObject([{ done: false, reason: "claimed" }]);
    expect(aborted).toBe(true);
    expect((await world.view(runId)).steps).toBe(0);
    expect(
      await db.admin("select class from ghouls.evidence where run_id = $1 and class = 'rejected'", [runId]),
    ).toEqual([{ class: "rejected" }]);
  });

  test("fences itself before its lease ends, though its beat still waits for a connection", async () => {
    const proxy = await tcpProxy(db.address);
    const way = db.ledger({ connectionString: proxy.through(db.applicationUrl), connectPatienceMs: 8_000 });
    let aborted = false;
    const started = Promise.withResolvers<void>();
    body = (ctx) =>
      ctx.step("long", ({ signal }) => {
        started.resolve();
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            aborted = true;
            resolve("late");
          }),
        );
      });
    const { runId } = await world.submit("any");
    const settings = { ...world.deps.settings, leaseMs: 2_000, beatMs: 100 };
    const working = world.deliver([`run:${runId}:1`], { settings, ledger: way });
    await started.promise;
    const began = performance.now();
    proxy.refuse();
    await expect.poll(() => aborted, { timeout: 7_000 }).toBe(true);
    expect(performance.now() - began).toBeLessThan(7_000);
    proxy.restore();
    await working;
    expect((await world.view(runId)).steps).toBe(0);
  });
});
