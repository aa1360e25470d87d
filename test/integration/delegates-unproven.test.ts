import { beforeEach, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const slow = jobService({ submit: "once", cancel: "advisory" }, { timeoutMs: 100 });
const named = { service, slow };
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ to: z.enum(["service", "slow"]) }),
  run: (ctx, { to }) => ctx.delegate("sign", named[to], { what: "it" }),
});
const world = await testWorld({ workflows: [delegates], services: named });
const { onlyAttempt: attempt } = world;
beforeEach(async () => {
  for (const one of Object.values(named)) one.forget();
  await world.reset();
});

test("a run is not CANCELLED while a submission of it is still under way in a process that lives", async () => {
  // The adapter fetches a token first, which takes longer than anybody waits; then it sends.
  const token = Promise.withResolvers<undefined>();
  slow.misbehave = (question) =>
    // Its cancel is advisory: cancelled is what is there, and there is nothing.
    question === "submit" ? token.promise : Promise.resolve({ state: "cancelled" });
  const { runId } = await world.submit("delegates", { to: "slow" });
  await world.drain();
  expect(await attempt()).toMatchObject({
    status: "SUBMITTING",
    trouble: { why: expect.stringContaining("no answer within") as string },
  });
  await world.control.cancel(SOMEBODY, runId, "enough");
  for (let minute = 0; minute < 3; minute += 1) {
    await world.advance(60);
    await world.reconcile();
  }
  const { status } = await world.view(runId);
  token.resolve(undefined);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(slow.jobs.size).toBe(1);
  // Its invocation had 900 s left, of which 180 have passed.
  expect([status, slow.jobs.size]).not.toEqual(["CANCELLED", 1]);
});

test("an answer that was given before its job was cancelled is no contradiction when it is heard after that", async () => {
  let runId = "";
  service.misbehave = async (question, job) => {
    if (question !== "submit") return undefined;
    service.misbehave = undefined;
    const answer = await service.submit(job as never, {} as never);
    // It was accepted; while that is on its way back, the run is cancelled, and the service says so.
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("CANCELLED");
    return answer;
  };
  ({ runId } = await world.submit("delegates", { to: "service" }));
  await world.drain();
  expect((await attempt()).contradiction).toBeNull();
  expect((await world.view(runId)).attention).toBeNull();
});
