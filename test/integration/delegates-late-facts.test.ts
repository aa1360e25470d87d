import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { JobAnswer, JobReport } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { testWorld } from "../support/world.ts";

const service = jobService();
const mute = jobService({ lookup: "none", cancel: "none", submit: "once" }, { pollMs: null });
const named = { service, mute };
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ to: z.enum(["service", "mute"]), deadline: z.enum(["1h"]).optional() }),
  run: (ctx, { to, deadline }) =>
    ctx.delegate("sign", named[to], { what: "it" }, deadline === undefined ? {} : { deadline }),
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
const SIGNED: JobReport = { state: "succeeded", result: { done: "signed" } };

test("a job without a deadline that takes five weeks can report its result, or a person is asked", async () => {
  const runId = await started("mute");
  for (let day = 0; day < 35; day += 1) {
    await later(86_400);
    // It lives, and says so.
    await report("mute", { state: "running" }).catch(() => undefined);
  }
  const answered = await report("mute", SIGNED).then(
    () => "taken",
    (error: { code: string }) => error.code,
  );
  await later(60);
  const { status, attention } = await world.view(runId);
  expect({ answered, status, attention: attention !== null }).not.toEqual({
    answered: "unauthenticated",
    status: "AWAITING_DELEGATE",
    attention: false,
  });
}, 60_000);

describe("a failure that a service reports", () => {
  test.each([
    ["with a long message", { code: "no", message: "x".repeat(3_000) }],
    ["with a long code", { code: "c".repeat(300), message: "no" }],
    ["with a NUL in it", { code: "no", message: "a\0b" }],
    ["with a lone surrogate in it", { code: "no", message: "a\ud800b" }],
    ["without a code", { code: "", message: "it broke" }],
  ])("%s is one", async (_what, error) => {
    const runId = await started("service");
    service.says({ state: "failed", error });
    for (let round = 0; round < 10; round += 1) await later(600);
    const { status, output, attention } = await world.view(runId);
    expect({ status, output, attention }).toMatchObject({
      status: "DONE",
      output: { outcome: "FAILED" },
      attention: null,
    });
  });
});

test("an acknowledgement that comes after the state has moved is remembered: what was accepted is not sent again", async () => {
  let release: (() => void) | undefined;
  let taken: JobAnswer | undefined;
  // The first submission is answered late, as by a worker that stands still between the answer and its commit.
  const held = new Promise<void>((resolve) => (release = resolve));
  let posts = 0;
  service.misbehave = async (question) => {
    if (question === "submit") {
      posts += 1;
      if (posts > 1) return undefined;
      taken = { state: "accepted" };
      await held;
      return taken;
    }
    return { state: "unknown", why: "it answered 500" };
  };
  await world.submit("delegates", { to: "service" });
  const working = world.drain();
  await expect.poll(() => posts).toBe(1);
  // Others look meanwhile, and get no answer: nobody knows of it.
  for (let round = 0; round < 4; round += 1) {
    await world.advance(60);
    await world.reconcile();
  }
  expect((await attempt()).status).toBe("UNCERTAIN");
  release?.();
  await working;
  // The service has had it, done it, and does not know of it any more.
  service.misbehave = (question) => {
    if (question === "submit") posts += 1;
    return Promise.resolve(question === "submit" ? { state: "accepted" } : { state: "absent" });
  };
  for (let round = 0; round < 10; round += 1) await later(1_200);
  expect(posts).toBe(1);
}, 60_000);

test("an authentic report of a result that cannot be kept is not forgotten: a person is asked", async () => {
  const runId = await started("mute");
  const answered = await report("mute", { state: "succeeded", result: { done: "a\0b" } }).then(
    () => "taken",
    (error: { code: string }) => error.code,
  );
  expect(answered).toBe("invalid_request");
  for (let day = 0; day < 10; day += 1) await later(86_400);
  // The service has reported, and does not come again; nobody can ask it.
  expect((await world.view(runId)).attention).not.toBeNull();
});
