import { beforeEach, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService({ cancel: "advisory" });
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => (await ctx.delegate("sign", service, { what: "it" })).outcome,
});
let atClaim: (() => Promise<void>) | undefined;
const world = await testWorld({
  workflows: [delegates],
  services: { service },
  maxConnections: 12,
  faults: async (point) => {
    if (point !== "delegate.after-claim" || atClaim === undefined) return;
    const act = atClaim;
    atClaim = undefined;
    await act();
  },
});
beforeEach(async () => {
  service.forget();
  await world.reset();
});
const attempt = async () => {
  const { attempts } = await world.attempts.list("acme", {}, { limit: 10 });
  return attempts[0] as (typeof attempts)[number];
};

test("an operator cannot say that a job is cancelled which a worker may still send", async () => {
  let said = "";
  // A worker stands still for three minutes between its claim and its request; it has fifteen.
  atClaim = async () => {
    service.misbehave = () => Promise.resolve({ state: "unknown", why: "it answered 503" });
    for (let minute = 0; minute < 3; minute += 1) {
      await world.advance(60);
      await world.reconcile();
    }
    const { attemptId, status } = await attempt();
    expect(status).toBe("UNCERTAIN");
    said = await world.attempts
      .resolve(SOMEBODY, attemptId, { outcome: "cancelled", reason: "the service does not have it" })
      .then(
        () => "taken",
        (error: { code: string }) => error.code,
      );
    service.misbehave = undefined;
  };
  await world.submit("delegates");
  await world.drain();
  await world.drain();
  // Taken, and sent after that: a job acts of which it was said that it does not.
  expect([said, service.jobs.size]).not.toEqual(["taken", 1]);
});

test("nor can one by the item of an ending run", async () => {
  let status = "";
  let runId = "";
  atClaim = async () => {
    service.misbehave = () => Promise.resolve({ state: "unknown", why: "it answered 503" });
    await world.control.cancel(SOMEBODY, runId, "enough");
    const [item] = (await world.view(runId)).containment;
    await world.control.resolve(SOMEBODY, runId, item?.id ?? "", "I have looked").catch((error: unknown) => {
      status = String(error);
    });
    status ||= (await world.view(runId)).status;
    service.misbehave = undefined;
  };
  ({ runId } = await world.submit("delegates"));
  await world.drain();
  expect([status, service.jobs.size]).not.toEqual(["CANCELLED", 1]);
});
