import { afterEach, expect } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import type { FaultPoint } from "@ghouls/core";
import { until } from "./wait.ts";
import { testWorld } from "./world.ts";

export type Code = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;

/** What the workflow under test does, and what happens at fault points: each test sets its own. */
interface UnderTest {
  body: Code;
  passing: ((point: FaultPoint, detail: string) => void | Promise<void>) | undefined;
}

/** Runs that reserve the one GPU and five licences. After each test no two had the GPU at once, and the ledger is whole. */
export async function reserveWorld() {
  const under: UnderTest = { body: () => Promise.resolve(null), passing: undefined };
  const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
  const free = workflow({ ...base, name: "free", run: (ctx, input) => under.body(ctx, input) });

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

  const world = await testWorld({
    workflows: [free, job, needs],
    capacities: { gpu: 1, licences: 5 },
    maxConnections: 12,
    settings: { residentDelayMs: 50 },
    faults: (point, detail) => under.passing?.(point, detail),
  });
  const { db } = world;
  const { promise: never } = Promise.withResolvers<never>();

  afterEach(async () => {
    under.passing = undefined;
    expect(gpu.most).toBeLessThanOrEqual(1);
    Object.assign(gpu, { now: 0, most: 0, uses: [] });
    expect(await world.broken()).toEqual([]);
    await world.reset();
    world.logged.length = 0;
  });

  const started = async (code: Code, input: unknown = null) => {
    under.body = code;
    return (await world.submit("free", input)).runId;
  };
  const carried = async (code: Code, input: unknown = null) => {
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
        "select status from ghouls.reservations where run_id = $1 order by asked_at, seq, released_at nulls last, reservation_id",
        [runId],
      )
    ).map(({ status }) => status);
  const takes = () => {
    const counts = { taken: 0, released: 0 };
    under.passing = (point) => {
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
      const before = under.body;
      under.body = (ctx, input) =>
        input === "holds"
          ? ctx.reserve(capacity, { units }, () => ctx.step("hold", () => gate.promise))
          : before(ctx, input);
      return world.deliver([`run:${runId}:1`]);
    })();
    await until("it is held", async () => (await rowsOf(runId)).includes("HELD"));
    return { runId, working, letGo: () => gate.resolve() };
  }

  return { under, world, job, gpu, use, never, started, carried, journalOf, rowsOf, takes, held };
}
