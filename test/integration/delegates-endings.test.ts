import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { FaultPoint } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
let failing: FaultPoint | undefined;

const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.delegate("sign", service, { what: "it" }),
});
const races = workflow({
  name: "races",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    const { winner } = await ctx.first({
      signed: ctx.delegate("sign", service, { what: "it" }),
      late: ctx.sleep("1h"),
    });
    return winner;
  },
});
const restarts = workflow({
  name: "restarts",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ again: z.boolean().default(true) }),
  run: async (ctx, { again }) => {
    if (!again) return "done";
    await ctx.first({ signed: ctx.delegate("sign", service, { what: "it" }), late: ctx.sleep("1h") });
    return ctx.restart({ again: false });
  },
});

const world = await testWorld({
  workflows: [delegates, races, restarts],
  services: { service },
  faults: (point) => {
    if (point === failing) throw new Error("by a test");
  },
});
const { db, later, broken, onlyAttempt: attempt } = world;

beforeEach(async () => {
  failing = undefined;
  service.forget();
  await world.reset();
});

async function started(name = "delegates") {
  const { runId } = await world.submit(name, {});
  await world.drain();
  return runId;
}
const view = (runId: string) => world.view(runId);

describe("the end of a run whose job may still act", () => {
  test("cancel: CANCELLED only once the service has acknowledged", async () => {
    const runId = await started();
    service.says({ state: "running" });
    let acknowledges = false;
    service.misbehave = (question) =>
      Promise.resolve(question === "cancel" && !acknowledges ? { state: "unknown", why: "503" } : undefined);
    expect(await world.control.cancel(SOMEBODY, runId, "enough")).toMatchObject({ status: "CANCELLING" });
    await later(1);
    expect(await view(runId)).toMatchObject({
      status: "CANCELLING",
      containment: [{ kind: "attempt", subject: "sign", acknowledgedAt: null }],
    });
    expect(await broken()).toEqual([]);
    acknowledges = true;
    await later(600);
    expect(await view(runId)).toMatchObject({
      status: "CANCELLED",
      containment: [{ acknowledgement: "its job is CANCELLED" }],
    });
    expect(await broken()).toEqual([]);
  });

  test("cancel before it was sent: nothing is sent any more", async () => {
    failing = "delegate.before-claim";
    const runId = await started();
    failing = undefined;
    expect(await world.control.cancel(SOMEBODY, runId, "enough")).toMatchObject({ status: "CANCELLED" });
    await later(600);
    expect([service.asked, (await attempt()).status]).toEqual([[], "CANCELLED"]);
    expect(await broken()).toEqual([]);
  });

  test("a return: COMPLETING, with the result as it is, until the loser is contained", async () => {
    const runId = await started("races");
    service.says({ state: "running" });
    service.misbehave = (question) =>
      Promise.resolve(question === "cancel" ? { state: "running" } : undefined);
    await later(3_601);
    expect(await view(runId)).toMatchObject({ status: "COMPLETING", output: "late" });
    expect(await broken()).toEqual([]);
    service.misbehave = undefined;
    await later(60);
    expect(await view(runId)).toMatchObject({ status: "DONE", output: "late" });
    expect(await broken()).toEqual([]);
  });

  test("a run that loses its last worker: FAILING until the job is contained", async () => {
    const runId = await started("races");
    service.says({ state: "running" });
    await world.advance(3_601);
    await world.reconcile();
    await db.admin("update ghouls.runs set losses = 2");
    const [delivery] = await world.ledger.deliveries
      .ofRun({ tenantId: "acme", runId })
      .then((all) => all.slice(-1));
    await world.ledger.deliveries.claimIfDue(
      [{ runId, enqueueSeq: delivery?.seq ?? 0, token: crypto.randomUUID() }],
      { worker: "w", leaseSeconds: 120, actsForSeconds: 130 },
    );
    await world.advance(125);
    await world.reconcile();
    expect(await view(runId)).toMatchObject({ status: "FAILING", errorCode: "ghoul_lost" });
    expect(await broken()).toEqual([]);
    await later(600);
    expect(await view(runId)).toMatchObject({ status: "FAILED" });
    expect(await broken()).toEqual([]);
  });

  test("an operator's word about the item ends the attempt with it", async () => {
    const runId = await started();
    service.misbehave = () => Promise.resolve({ state: "unknown", why: "503" });
    await world.control.cancel(SOMEBODY, runId, "enough");
    const [item] = (await view(runId)).containment;
    expect(await world.control.resolve(SOMEBODY, runId, item?.id ?? "", "asked by telephone")).toMatchObject({
      status: "CANCELLED",
    });
    expect(await attempt()).toMatchObject({ status: "CANCELLED", closedBy: "operator" });
    expect(await broken()).toEqual([]);
  });

  test("a restart: the job of the epoch before is cancelled, and the run ends only after that", async () => {
    const runId = await started("restarts");
    service.says({ state: "running" });
    service.misbehave = (question) =>
      Promise.resolve(question === "cancel" ? { state: "running" } : undefined);
    await later(3_601);
    expect(await view(runId)).toMatchObject({ status: "COMPLETING", output: "done" });
    service.misbehave = undefined;
    await later(60);
    expect(await view(runId)).toMatchObject({ status: "DONE" });
    expect([service.jobs.size, (await attempt()).status]).toEqual([1, "CANCELLED"]);
    expect(await broken()).toEqual([]);
  });
});
