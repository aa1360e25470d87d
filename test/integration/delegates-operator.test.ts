import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService({ cancel: "advisory" });
const silent = jobService({ lookup: "none", cancel: "none", submit: "once" }, { pollMs: null });
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ to: z.enum(["service", "silent"]).default("service") }),
  run: (ctx, { to }) => ctx.delegate("sign", to === "silent" ? silent : service, { what: "it" }),
});
let atClaim: (() => Promise<void>) | undefined;
const world = await testWorld({
  workflows: [delegates],
  services: { service, silent },
  maxConnections: 12,
  faults: async (point) => {
    if (point !== "delegate.after-claim" || atClaim === undefined) return;
    const act = atClaim;
    atClaim = undefined;
    await act();
  },
});
const { db, broken, onlyAttempt: attempt } = world;
beforeEach(async () => {
  service.forget();
  silent.forget();
  await world.reset();
});

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
  await world.submit("delegates", {});
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
  ({ runId } = await world.submit("delegates", {}));
  await world.drain();
  expect([status, service.jobs.size]).not.toEqual(["CANCELLED", 1]);
});

async function started(to: "service" | "silent" = "service") {
  const { runId } = await world.submit("delegates", { to });
  await world.drain();
  return runId;
}

describe("an operator", () => {
  const resolve = (attemptId: string, outcome: "succeeded" | "failed" | "cancelled", result?: unknown) =>
    world.attempts.resolve(SOMEBODY, attemptId, {
      outcome,
      reason: "asked by telephone",
      ...(result === undefined ? {} : { result }),
    });
  async function uncertain() {
    const runId = await started("silent");
    silent.says({ state: "accepted" });
    await db.admin("update ghouls.attempts set status = 'UNCERTAIN', uncertain_reason = 'a test'");
    return { runId, attemptId: (await attempt()).attemptId };
  }

  test.each([
    ["succeeded", { done: "by hand" }, { outcome: "SUCCEEDED", result: { done: "by hand" } }],
    ["failed", undefined, { outcome: "FAILED", error: { code: "operator", message: "asked by telephone" } }],
    ["cancelled", undefined, { outcome: "CANCELLED" }],
  ] as const)(
    "says that a job of which nobody knows has %s, and the run goes on",
    async (word, result, output) => {
      const { runId, attemptId } = await uncertain();
      await world.advance(10);
      expect(await resolve(attemptId, word, result)).toMatchObject({ resumed: true });
      await world.drain();
      expect(await world.view(runId)).toMatchObject({ status: "DONE", output });
      const [audit] = await db.admin("select actor, act, subject, reason from ghouls.audit");
      expect(audit).toEqual({
        actor: "user:ada",
        act: "resolve",
        subject: `attempt ${attemptId}`,
        reason: "asked by telephone",
      });
      expect((await attempt()).closedBy).toBe("operator user:ada");
      // The same word again is told the same; another is not taken.
      expect(await resolve(attemptId, word, result)).toMatchObject({ resumed: false });
      await expect(resolve(attemptId, word === "failed" ? "cancelled" : "failed")).rejects.toMatchObject({
        code: "attempt_settled",
      });
      expect(await broken()).toEqual([]);
    },
  );

  test("is refused about a job that somebody knows of, about another's, and about none", async () => {
    await started();
    const { attemptId } = await attempt();
    await expect(resolve(attemptId, "cancelled")).rejects.toMatchObject({ code: "attempt_settled" });
    await expect(resolve("nonsense", "cancelled")).rejects.toMatchObject({ code: "not_found" });
    const other = { ...SOMEBODY, tenantId: "other" };
    await expect(
      world.attempts.resolve(other, attemptId, { outcome: "cancelled", reason: "x" }),
    ).rejects.toMatchObject({ code: "not_found" });
  });

  test("is refused a result that the ledger could not give back", async () => {
    const { attemptId } = await uncertain();
    await expect(resolve(attemptId, "succeeded", { text: "a\0b" })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});
