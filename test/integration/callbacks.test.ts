import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { JobReport, JobSubmission } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService({ cancel: "advisory" });
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ deadline: z.enum(["1h", "2h"]).optional() }),
  run: (ctx, { deadline }) =>
    ctx.delegate("sign", service, { what: "it" }, deadline === undefined ? {} : { deadline }),
});
const world = await testWorld({ workflows: [delegates], services: { signer: service } });

beforeEach(async () => {
  service.forget();
  await world.reset();
});

const SIGNED: JobReport = { state: "succeeded", result: { done: "signed" } };
async function started(
  input: object = {},
): Promise<{ runId: string; submission: JobSubmission; token: string }> {
  const before = new Set(service.jobs.keys());
  const { runId } = await world.submit("delegates", input);
  await world.drain();
  const made = [...service.jobs.values()].find((job) => !before.has(job.key));
  const callback = made?.submission.callback ?? null;
  if (made === undefined || callback === null) throw new Error("nothing was submitted");
  return { runId, submission: made.submission, token: callback.token };
}
const report = (attemptId: string, token: string | undefined, said: JobReport = SIGNED) =>
  world.attempts.report(attemptId, token, said);
const refused = (attemptId: string, token: string | undefined, said?: JobReport) =>
  report(attemptId, token, said).then(
    () => "taken",
    (error: { code: string }) => error.code,
  );
const statusOf = async (attemptId: string) => (await world.attempts.get("acme", attemptId))?.status;

test("a report by the token of a submission ends the job, brings the run back, and uses the token up", async () => {
  const { runId, submission, token } = await started();
  expect(await report(submission.attemptId, token)).toEqual({
    attemptId: submission.attemptId,
    status: "SUCCEEDED",
  });
  expect(await refused(submission.attemptId, token)).toBe("attempt_settled");
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { result: { done: "signed" } } });
  expect(await refused(submission.attemptId, token)).toBe("attempt_settled");
  expect(await world.attempts.get("acme", submission.attemptId)).toMatchObject({ closedBy: "callback" });
});

test("what is kept of a token is a digest, which is bound to its attempt", async () => {
  const [one, other] = [await started(), await started()];
  const kept = JSON.stringify(await world.db.admin("select * from ghouls.attempts"));
  for (const { token } of [one, other]) expect(kept).not.toContain(token);
  // Whoever could write the digest of one row into another would not have that one's token by it.
  await world.db.admin(
    "update ghouls.attempts set callback_digest = (select callback_digest from ghouls.attempts where attempt_id = $1) where attempt_id = $2",
    [one.submission.attemptId, other.submission.attemptId],
  );
  expect(await refused(other.submission.attemptId, one.token)).toBe("unauthenticated");
});

test.each<[string, (token: string) => string | undefined]>([
  ["none", () => undefined],
  ["an empty one", () => ""],
  ["a short one", (token) => token.slice(1)],
  ["a long one", (token) => token.repeat(1_000)],
  ["one that is not ASCII", (token) => `${token.slice(1)}é`],
  ["one with a NUL", (token) => `${token.slice(1)}\0`],
  ["another of the right form", () => "A".repeat(43)],
])("%s is no token, and changes nothing", async (_what, forge) => {
  const { submission, token } = await started();
  expect(await refused(submission.attemptId, forge(token))).toBe("unauthenticated");
  expect(await statusOf(submission.attemptId)).toBe("SUBMITTED");
});

test("a token is nobody else's: another attempt, and one that is not there, are answered alike", async () => {
  const [one, other] = [await started(), await started()];
  expect(await refused(other.submission.attemptId, one.token)).toBe("unauthenticated");
  expect(await refused("00000000-0000-4000-8000-000000000000", one.token)).toBe("unauthenticated");
  expect(await refused("nonsense'", one.token)).toBe("unauthenticated");
  await world.db.admin("update ghouls.attempts set callback_digest = null");
  expect(await refused(one.submission.attemptId, one.token)).toBe("unauthenticated");
});

test("a token has a time: a month beyond the job's deadline", async () => {
  const { submission, token } = await started({ deadline: "1h" });
  await world.advance(29 * 86_400);
  service.misbehave = () => Promise.resolve({ state: "unknown", why: "503" });
  // It is to be cancelled by now, and is not left alone because it runs.
  expect(await report(submission.attemptId, token, { state: "running" })).toMatchObject({
    status: "SUBMITTED",
  });
  await world.advance(2 * 86_400);
  expect(await refused(submission.attemptId, token)).toBe("unauthenticated");
});

test("the token of an earlier submission is none any more: its job is proven not to be there", async () => {
  let lost: JobSubmission | undefined;
  service.misbehave = (question, job) => {
    if (question !== "submit") return Promise.resolve(undefined);
    lost = job as JobSubmission;
    service.misbehave = undefined;
    return Promise.reject(new Error("socket hang up"));
  };
  await world.submit("delegates", {});
  await world.drain();
  await world.advance(1_000);
  await world.reconcile();
  const { submission } = service.only();
  expect([submission.idempotencyKey, submission.attemptId]).toEqual([lost?.idempotencyKey, lost?.attemptId]);
  expect(await refused(submission.attemptId, lost?.callback?.token)).toBe("unauthenticated");
  expect(await refused(submission.attemptId, submission.callback?.token)).toBe("taken");
});

test("a report that comes before the answer to its submission is the job's end; the answer moves nothing", async () => {
  service.misbehave = async (question, job) => {
    if (question !== "submit") return undefined;
    const { attemptId, callback } = job as JobSubmission;
    await report(attemptId, callback?.token);
    return undefined;
  };
  const { runId } = await world.submit("delegates", {});
  await world.drain();
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "SUCCEEDED" } });
  const [attempt] = (await world.attempts.list("acme", {}, { limit: 1 })).attempts;
  expect(attempt).toMatchObject({ status: "SUCCEEDED", contradiction: null, submissions: 1 });
});

describe("a report", () => {
  test.each<[string, JobReport, string]>([
    ["of a failure", { state: "failed", error: { code: "no", message: "no" } }, "FAILED"],
    ["that it is accepted", { state: "accepted" }, "SUBMITTED"],
    ["that it runs", { state: "running" }, "RUNNING"],
  ])("%s is kept", async (_what, said, status) => {
    const { submission, token } = await started();
    expect(await report(submission.attemptId, token, said)).toMatchObject({ status });
  });

  test("that it is cancelled counts once nothing can be on its way: the token stays until then", async () => {
    const { submission, token } = await started();
    expect(await report(submission.attemptId, token, { state: "cancelled" })).toMatchObject({
      status: "SUBMITTED",
    });
    await world.advance(10);
    expect(await report(submission.attemptId, token, { state: "cancelled" })).toMatchObject({
      status: "CANCELLED",
    });
  });

  test("that repeats its token is refused: what is reported is kept", async () => {
    const { submission, token } = await started();
    const said: JobReport = { state: "succeeded", result: { done: token } };
    expect(await refused(submission.attemptId, token, said)).toBe("invalid_request");
    expect(JSON.stringify(await world.db.admin("select * from ghouls.attempts"))).not.toContain(token);
  });

  test("of a lookup that repeats the token is no answer either", async () => {
    const { submission, token } = await started();
    service.says({ state: "succeeded", result: { done: `Bearer ${token}` } });
    await world.advance(31);
    await world.reconcile();
    expect(await statusOf(submission.attemptId)).toBe("SUBMITTED");
    expect(JSON.stringify(await world.db.admin("select * from ghouls.attempts"))).not.toContain(token);
    service.says({ state: "succeeded", result: { done: "A".repeat(43) } });
    await world.advance(61);
    await world.reconcile();
    expect(await statusOf(submission.attemptId)).toBe("SUCCEEDED");
  });

  test("of what the ledger could not give back unchanged is refused, and the token stays", async () => {
    const { submission, token } = await started();
    const said: JobReport = { state: "succeeded", result: { done: "a\0b" } };
    expect(await refused(submission.attemptId, token, said)).toBe("invalid_request");
    expect(await refused(submission.attemptId, token)).toBe("taken");
  });

  test("after the end of the run is told so, and what it says against that is kept", async () => {
    const { runId, submission, token } = await started();
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.advance(10);
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("CANCELLED");
    expect(await refused(submission.attemptId, token)).toBe("attempt_settled");
    const attempt = await world.attempts.get("acme", submission.attemptId);
    expect(attempt).toMatchObject({
      status: "CANCELLED",
      contradiction: expect.stringContaining("succeeded") as string,
    });
    expect((await world.view(runId)).attention?.reason).toContain("attempt_contradicted");
  });
});
