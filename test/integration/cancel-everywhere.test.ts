import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { workflow, type WorkflowContext } from "ghouls";
import * as z from "zod";
import type { FaultPoint } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { ask } from "../support/reservations.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** A cancel in every state that a run can be in: it ends CANCELLED with every item acknowledged, or asks for a person. */

const service = jobService();
const { promise: never } = Promise.withResolvers<never>();
let passing: ((point: FaultPoint, detail: string) => unknown) | undefined;

type Code = (ctx: WorkflowContext) => Promise<unknown>;
const define = (name: string, run: Code) =>
  workflow({ name, version: 1, onWorkerLoss: "resume", input: z.unknown(), run });
const child = define("child", (ctx) => ctx.waitForSignal("never"));
const undone: string[] = [];
const CODE: Readonly<Record<string, Code>> = {
  plain: (ctx) => ctx.step("one", () => 1),
  slow: (ctx) => ctx.step("slow", () => gate.promise),
  consent: (ctx) => ctx.consent("ship it", { deciders: ["role:legal"] }),
  delegate: (ctx) => ctx.delegate("sign", service, { what: "it" }),
  parent: (ctx) => ctx.child(child, null),
  "letting-go": (ctx) => ctx.child(child, null, { parentClose: "abandon" }),
  signal: (ctx) => ctx.waitForSignal("paid"),
  timer: (ctx) => ctx.sleep("1d"),
  several: (ctx) =>
    ctx.first({
      signed: ctx.delegate("sign", service, { what: "it" }),
      granted: ctx.consent("ship it", { deciders: ["role:legal"] }),
      late: ctx.sleep("1d"),
    }),
  hardware: (ctx) => ctx.reserve("gpu", { wait: "1h" }, () => ctx.step("one", () => 1)),
  retry: (ctx) =>
    ctx.step("flaky", () => Promise.reject(new Error("no")), { tries: 9, backoff: { initial: "1h" } }),
  effect: (ctx) => ctx.step("pay", () => gate.promise, { effect: "once" }),
  probed: (ctx) =>
    ctx.step("pay", () => gate.promise, { effect: "once", probe: () => ({ outcome: "cannot_happen" }) }),
  undo: async (ctx) => {
    await ctx.step("one", () => 1, { undo: () => undone.push("one") });
    await ctx.waitForSignal("go");
  },
};
let gate = Promise.withResolvers<void>();
const world = await testWorld({
  workflows: [child, ...Object.entries(CODE).map(([name, run]) => define(name, run))],
  services: { service },
  capacities: { gpu: 1 },
  maxConnections: 12,
  faults: (point, detail) => passing?.(point, detail) as undefined,
});
const { db, ledger } = world;

beforeEach(async () => {
  gate.resolve();
  gate = Promise.withResolvers();
  passing = undefined;
  undone.length = 0;
  service.forget();
  service.misbehave = undefined;
  await world.reset();
});

const statusOf = async (runId: string) => (await world.view(runId)).status;
const submitted = async (name: string, extra = {}) => (await world.submit(name, null, extra)).runId;
const parked = async (name: string) => {
  const runId = await submitted(name);
  await world.drain();
  return runId;
};
/** Carried by a worker that is still at it. */
async function carried(name: string, status = "RUNNING"): Promise<string> {
  const runId = await submitted(name);
  void world.drain();
  await until("it is carried", async () => (await statusOf(runId)) === status);
  return runId;
}
/** Carried by a worker that stops for ever at a point. */
async function stuckAt(name: string, at: FaultPoint): Promise<string> {
  const reached = Promise.withResolvers<void>();
  passing = (point) => {
    if (point !== at) return undefined;
    reached.resolve();
    return never;
  };
  const runId = await submitted(name);
  void world.deliver([`run:${runId}:1`], { settings: { ...world.deps.settings, beatMs: 1_000_000 } });
  await reached.promise;
  passing = undefined;
  return runId;
}
const failingAt = (at: FaultPoint) => {
  passing = (point) => {
    if (point === at) throw new Error("by a test");
  };
};

const STATES: Readonly<Record<string, () => Promise<string>>> = {
  "QUEUED, at once after its admission": () => submitted("plain"),
  "QUEUED, and nobody has published it": async () => {
    failingAt("queue.before-publish");
    const runId = await submitted("plain");
    passing = undefined;
    return runId;
  },
  "QUEUED, and held": () => submitted("plain", { held: true }),
  "QUEUED, to start later": () => submitted("plain", { startAfter: "1h" }),
  "QUEUED, and quarantined": async () => {
    const runId = await submitted("plain");
    await db.admin(
      "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'by a test' where run_id = $1",
      [runId],
    );
    return runId;
  },
  "claimed, and its code has not begun": () => stuckAt("plain", "worker.after-claim"),
  "RUNNING in a step that ignores its signal": () => carried("slow"),
  "RUNNING, and its worker is lost": async () => {
    const runId = await stuckAt("slow", "worker.before-step");
    await world.advance(130);
    return runId;
  },
  "RUNNING, resumed after a loss": async () => {
    const runId = await stuckAt("slow", "worker.before-step");
    await world.advance(130);
    await world.reconcile();
    return runId;
  },
  "about to hand over": () => stuckAt("timer", "worker.before-park"),
  "RUNNING at an effect that its probe knows": () => stuckAt("probed", "worker.after-intent"),
  AWAITING_HARDWARE: async () => {
    await ledger.capacities.say({ gpu: 1 });
    // Who holds it asks for it no more, whatever becomes of its claim.
    const [holder] = await ledger.deliveries.claimIfDue(
      [{ runId: await submitted("plain"), enqueueSeq: 1, token: randomUUID() }],
      { worker: "w", leaseSeconds: 120, actsForSeconds: 960 },
    );
    if (holder === undefined) throw new Error("it was not claimed");
    expect(await ledger.reservations.takeIfClaimed(holder, ask())).toMatchObject({ kind: "held" });
    return carried("hardware", "AWAITING_HARDWARE");
  },
  AWAITING_CONSENT: () => parked("consent"),
  AWAITING_SIGNAL: () => parked("signal"),
  AWAITING_TIMER: () => parked("timer"),
  "AWAITING_TIMER for the next try of a step": () => parked("retry"),
  AWAITING_CHILD: () => parked("parent"),
  "AWAITING_CHILD, one that it lets go": () => parked("letting-go"),
  "AWAITING several at once": () => parked("several"),
  "AWAITING_DELEGATE, and nothing was sent": async () => {
    failingAt("delegate.before-claim");
    const runId = await parked("delegate");
    passing = undefined;
    return runId;
  },
  "AWAITING_DELEGATE, and it is being sent": async () => {
    const sending = Promise.withResolvers<void>();
    service.misbehave = (question) => {
      if (question === "submit") sending.resolve();
      return question === "submit" ? never : Promise.resolve(undefined);
    };
    const runId = await submitted("delegate");
    void world.drain();
    await sending.promise;
    service.misbehave = undefined;
    return runId;
  },
  "AWAITING_DELEGATE, and it runs": async () => {
    const runId = await parked("delegate");
    service.says({ state: "running" });
    return runId;
  },
  "AWAITING_DELEGATE, and nobody knows whether it runs": async () => {
    service.misbehave = (question) =>
      Promise.resolve(question === "cancel" ? undefined : { state: "unknown", why: "502" });
    const runId = await parked("delegate");
    await world.later(60);
    service.misbehave = undefined;
    return runId;
  },
  "parked, with what can be undone": () => parked("undo"),
};

test.each(Object.entries(STATES))(
  "a run that is %s, is CANCELLED with every item acknowledged",
  async (_, prepare) => {
    const runId = await prepare();
    await world.control.cancel(SOMEBODY, runId, "no longer wanted");
    expect(["CANCELLING", "CANCELLED"]).toContain(await statusOf(runId));
    gate.resolve();
    for (let round = 0; round < 12 && (round === 0 || (await statusOf(runId)) !== "CANCELLED"); round += 1)
      await world.later(400);
    const view = await world.view(runId);
    expect([
      view.status,
      view.waits,
      view.containment.filter(({ acknowledgedAt }) => acknowledgedAt === null),
    ]).toEqual(["CANCELLED", [], []]);
    expect(await world.broken()).toEqual([]);
    expect((await world.control.cancel(SOMEBODY, runId, "again")).cancelled).toBe(false);
  },
);

test("a run of whose effect nobody knows stays CANCELLING, and asks for a person with what is open", async () => {
  const runId = await stuckAt("effect", "worker.after-intent");
  await world.control.cancel(SOMEBODY, runId, "no longer wanted");
  for (let round = 0; round < 12; round += 1) await world.later(400);
  const view = await world.view(runId);
  expect(view).toMatchObject({
    status: "CANCELLING",
    attention: { reason: expect.stringContaining("contain") },
  });
  expect(view.containment.filter(({ acknowledgedAt }) => acknowledgedAt === null)).toMatchObject([
    { kind: "effect", subject: "pay" },
  ]);
  expect(await world.broken()).toEqual([]);
});

test("a cancel of one of a hundred equal runs touches that one", async () => {
  const runs = await Promise.all(Array.from({ length: 100 }, () => submitted("signal")));
  await world.drain();
  const [one = "", ...others] = runs;
  await world.control.cancel(SOMEBODY, one, "no longer wanted");
  await world.later(1);
  expect(await statusOf(one)).toBe("CANCELLED");
  const found = await db.admin<{ status: string; n: number }>(
    "select status, count(*)::integer as n from ghouls.runs where run_id = any($1::uuid[]) group by status",
    [others],
  );
  expect(found).toEqual([{ status: "AWAITING_SIGNAL", n: 99 }]);
  expect(await ledger.items.ofRun({ tenantId: "acme", runId: others[0] ?? "" })).toEqual([]);
});
