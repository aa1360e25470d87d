import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { JobReport, JobSubmission } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const callsBack = jobService({}, { pollMs: null });
const mute = jobService({ lookup: "none", cancel: "none", submit: "once" }, { pollMs: null });
const named = { service, callsBack, mute };
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({
    to: z.enum(["service", "callsBack", "mute"]),
    deadline: z.enum(["1h"]).optional(),
    heartbeat: z.enum(["2m"]).optional(),
  }),
  run: (ctx, { to, deadline, heartbeat }) =>
    ctx.delegate(
      "sign",
      named[to],
      { what: "it" },
      { ...(deadline && { deadline }), ...(heartbeat && { heartbeat }) },
    ),
});
const world = await testWorld({ workflows: [delegates], services: named });
const { later, onlyAttempt: attempt } = world;

beforeEach(async () => {
  for (const one of Object.values(named)) one.forget();
  await world.reset();
});
async function started(to: keyof typeof named, more: object = {}) {
  const { runId } = await world.submit("delegates", { to, ...more });
  await world.drain();
  return runId;
}
const report = (to: keyof typeof named, said: JobReport) => {
  const { attemptId, callback } = named[to].only().submission;
  return world.attempts.report(attemptId, callback?.token, said);
};

describe("a job that says by callback that it runs", () => {
  test("is cancelled at its deadline all the same", async () => {
    await started("service", { deadline: "1h" });
    await world.advance(3_601);
    // The reconciler comes every minute; the job speaks every 20 seconds.
    for (let minute = 0; minute < 30; minute += 1) {
      for (let third = 0; third < 3; third += 1) {
        await world.advance(20);
        await report("service", { state: "running" }).catch(() => undefined);
      }
      await world.reconcile();
    }
    expect(service.asked).toContain("cancel");
  }, 60_000);

  test("is cancelled with its run all the same", async () => {
    const runId = await started("service");
    await world.control.cancel(SOMEBODY, runId, "enough");
    for (let minute = 0; minute < 30; minute += 1) {
      for (let third = 0; third < 3; third += 1) {
        await world.advance(20);
        await report("service", { state: "running" }).catch(() => undefined);
      }
      await world.reconcile();
    }
    expect(service.asked).toContain("cancel");
    expect((await world.view(runId)).status).toBe("CANCELLED");
  }, 60_000);

  test("once, is not left alone for a day after its run was cancelled", async () => {
    const runId = await started("callsBack");
    await world.control.cancel(SOMEBODY, runId, "enough");
    // One word that was on its way.
    await report("callsBack", { state: "running" });
    for (let minute = 0; minute < 120; minute += 1) await later(60);
    expect(callsBack.asked).toContain("cancel");
  }, 60_000);

  test("asks for a person where its cancel is never acknowledged", async () => {
    const runId = await started("service");
    service.misbehave = (question) =>
      Promise.resolve(question === "submit" ? undefined : { state: "unknown", why: "it answered 500" });
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.reconcile();
    expect(service.asked).toContain("cancel");
    for (let hour = 0; hour < 48; hour += 1) {
      for (let quarter = 0; quarter < 4; quarter += 1) {
        await world.advance(900);
        await world.reconcile();
      }
      await report("service", { state: "running" });
    }
    expect((await world.view(runId)).attention).not.toBeNull();
  }, 60_000);
});

describe("a job that calls back and is not polled", () => {
  test("of a cancelled run asks for a person soon, where the cancel is not acknowledged", async () => {
    const runId = await started("callsBack");
    callsBack.misbehave = () => Promise.resolve({ state: "unknown", why: "it answered 500" });
    await world.control.cancel(SOMEBODY, runId, "enough");
    for (let hour = 0; hour < 24; hour += 1) await later(3_600);
    expect((await world.view(runId)).attention).not.toBeNull();
  }, 60_000);

  test("whose deadline has passed is UNCERTAIN, with attention, where the cancel is not acknowledged", async () => {
    const runId = await started("callsBack", { deadline: "1h" });
    callsBack.misbehave = () => Promise.resolve({ state: "unknown", why: "it answered 500" });
    for (let hour = 0; hour < 24; hour += 1) await later(3_600);
    expect((await attempt()).status).toBe("UNCERTAIN");
    expect((await world.view(runId)).attention).not.toBeNull();
  }, 60_000);

  test("and that nobody can ask: a cancelled run asks for a person at once", async () => {
    const runId = await started("mute");
    await world.control.cancel(SOMEBODY, runId, "enough");
    for (let hour = 0; hour < 24; hour += 1) await later(3_600);
    expect((await world.view(runId)).status).toBe("CANCELLING");
    expect((await world.view(runId)).attention).not.toBeNull();
    await world.attempts.resolve(SOMEBODY, (await attempt()).attemptId, {
      outcome: "cancelled",
      reason: "I have looked",
    });
  }, 60_000);
});

test("a result that answers the submission is not lost to a word of its own job that came before it", async () => {
  mute.misbehave = async (question, job) => {
    if (question !== "submit") return undefined;
    const { attemptId, callback } = job as JobSubmission;
    await world.attempts.report(attemptId, callback?.token, { state: "running" });
    return { state: "succeeded", result: { done: "signed" } };
  };
  const runId = await started("mute");
  for (let day = 0; day < 30; day += 1) await later(86_400);
  const { status, attention } = await world.view(runId);
  expect(status === "DONE" || attention !== null).toBe(true);
}, 60_000);

describe("a heartbeat that a job has declared", () => {
  test("makes it UNCERTAIN where it lapses, and a lookup finds out", async () => {
    await started("service", { heartbeat: "2m" });
    service.says({ state: "running" });
    service.misbehave = (question) =>
      Promise.resolve(question === "lookUp" ? { state: "unknown", why: "503" } : undefined);
    await later(121);
    expect(await attempt()).toMatchObject({
      status: "UNCERTAIN",
      uncertain: expect.stringContaining("said nothing") as string,
    });
    service.misbehave = undefined;
    await later(61);
    expect(await attempt()).toMatchObject({ status: "RUNNING", uncertain: null });
  });

  test("leaves it as it is where it is refreshed", async () => {
    await started("service", { heartbeat: "2m" });
    service.misbehave = (question) =>
      Promise.resolve(question === "lookUp" ? { state: "unknown", why: "503" } : undefined);
    for (let round = 0; round < 4; round += 1) {
      await world.advance(100);
      await report("service", { state: "running" });
      await world.reconcile();
      if (round < 2) expect(await attempt()).toMatchObject({ status: "RUNNING" });
    }
    expect(await attempt()).toMatchObject({ uncertain: null });
  });
});

describe("a service that cannot be asked", () => {
  test("has its job left in peace until it calls back", async () => {
    const runId = await started("mute");
    await later(86_500);
    await later(86_500);
    expect([await attempt(), mute.asked]).toMatchObject([{ status: "SUBMITTED" }, ["submit"]]);
    await report("mute", { state: "succeeded", result: { done: "at last" } });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { result: { done: "at last" } },
    });
  });

  test("leaves a job whose submission got no answer to a person", async () => {
    mute.misbehave = () => Promise.reject(new Error("socket hang up"));
    const runId = await started("mute");
    for (let round = 0; round < 4; round += 1) await later(1_000);
    expect(await attempt()).toMatchObject({ status: "UNCERTAIN", submissions: 1 });
    expect((await world.view(runId)).attention?.reason).toContain("attempt_uncertain");
    expect(mute.asked).toEqual(["submit"]);
  });
});
