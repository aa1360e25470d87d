import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Codec, JobAnswer, JobSubmission } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const other = jobService();
const once = jobService({ lookup: "none", cancel: "none", submit: "once" });
const mute = jobService({ lookup: "none", cancel: "none", submit: "once" }, { pollMs: null });
const slow = jobService({ submit: "once", cancel: "advisory", lookup: "advisory" }, { timeoutMs: 100 });
const named = { service, other, once, mute, slow };
const base = { version: 1, onWorkerLoss: "resume" } as const;
const delegates = workflow({
  ...base,
  name: "delegates",
  input: z.object({ to: z.enum(["service", "once", "mute", "slow"]) }),
  run: (ctx, { to }) => ctx.delegate("sign", named[to], { what: "it" }),
});
const pairs = workflow({
  ...base,
  name: "pairs",
  input: z.unknown(),
  run: async (ctx) => {
    const jobs = [ctx.delegate("a", service, { what: "it" }), ctx.delegate("b", other, { what: "it" })];
    return (await Promise.all(jobs)).map(({ outcome }) => outcome);
  },
});

/** Of which kind the codec can do nothing just now. */
let away: string | undefined;
const pass: Codec["encode"] = (text, { kind }) =>
  kind === away ? Promise.reject(new Error("the key service is down")) : Promise.resolve(text);
const world = await testWorld({
  workflows: [delegates, pairs],
  services: named,
  codec: { encode: pass, decode: pass },
});
const { later, onlyAttempt: attempt } = world;

beforeEach(async () => {
  for (const one of Object.values(named)) one.forget();
  away = undefined;
  await world.reset();
});
const started = async (to: "service" | "once" | "mute" | "slow") => {
  const { runId } = await world.submit("delegates", { to });
  await world.drain();
  return runId;
};
/** Submissions of a service are answered so, one after the other, and then as ever; lookups as told. */
function submissions(one: typeof service, answers: readonly JobAnswer[], lookUp?: JobAnswer) {
  const left = [...answers];
  const count = { sent: 0 };
  one.misbehave = (question) => {
    if (question !== "submit") return Promise.resolve(lookUp);
    count.sent += 1;
    return Promise.resolve(left.shift());
  };
  return count;
}
const UNSENT: JobAnswer = { state: "unsent", why: "no connection" };
const UNKNOWN: JobAnswer = { state: "unknown", why: "reset" };

describe("what was certainly not sent", () => {
  test("is sent again, also where nobody may send twice and nobody can look", async () => {
    const count = submissions(once, [UNSENT]);
    await started("once");
    for (let minute = 0; minute < 5; minute += 1) await later(60);
    expect([count.sent, (await attempt()).status]).toEqual([2, "SUBMITTED"]);
  });

  test("is known as that where the attempt was looked at before", async () => {
    const count = submissions(once, [UNSENT]);
    away = "job";
    await started("once");
    await later(60);
    expect(count.sent).toBe(0);
    away = undefined;
    for (let minute = 0; minute < 10; minute += 1) await later(60);
    expect([count.sent, (await attempt()).status]).toEqual([2, "SUBMITTED"]);
  });

  test("is known as that of a submission after one that never arrived", async () => {
    const count = submissions(service, [UNKNOWN, UNSENT, UNSENT], { state: "absent" });
    await started("service");
    for (let turn = 0; turn < 200 && count.sent < 2; turn += 1) await later(10);
    expect((await attempt()).trouble?.why).toBe("no connection");
  });

  test("takes none of the submissions that one job may have", async () => {
    const count = submissions(service, [...Array.from({ length: 5 }, () => UNSENT), UNKNOWN]);
    await started("service");
    for (let minute = 0; minute < 40; minute += 1) await later(60);
    expect([count.sent, (await attempt()).status]).toEqual([7, "SUBMITTED"]);
    expect((await attempt()).submissions).toBe(2);
  });

  test("is that however long the words about it are", async () => {
    const count = submissions(once, [{ state: "unsent", why: "x".repeat(2_500) }]);
    await started("once");
    for (let minute = 0; minute < 5; minute += 1) await later(60);
    expect(count.sent).toBe(2);
  });

  test("asks for a person still while another job of its run says that it lives", async () => {
    service.misbehave = (question) => Promise.resolve(question === "submit" ? UNSENT : undefined);
    const { runId } = await world.submit("pairs");
    await world.drain();
    for (let turn = 0; turn < 5; turn += 1) await later(31);
    const asks = { reason: expect.stringContaining('"a"') as string };
    expect((await world.view(runId)).attention).toMatchObject(asks);
    const { attemptId, callback } = other.only().submission;
    await world.attempts.report(attemptId, callback?.token, { state: "running" });
    expect((await world.view(runId)).attention).toMatchObject(asks);
  });
});

describe("the words of an adapter", () => {
  test("are kept though a NUL is among them, and a person is asked for", async () => {
    service.misbehave = () => Promise.reject(new Error("bad\0frame \ud800"));
    const runId = await started("service");
    for (let round = 0; round < 6; round += 1) await later(600);
    expect((await attempt()).trouble?.why).toContain("bad\ufffdframe");
    expect((await world.view(runId)).attention).not.toBeNull();
  });

  test("are not kept where they repeat the callback's token", async () => {
    let token = "";
    service.misbehave = (question, job) => {
      if (question !== "submit") return Promise.resolve(UNKNOWN);
      token = (job as JobSubmission).callback?.token ?? "";
      return Promise.reject(new Error(`request failed: ghouls-callback-token: ${token}`));
    };
    await started("service");
    expect((await attempt()).trouble?.why).toContain("a secret");
    expect(token).not.toBe("");
    expect(JSON.stringify(await world.db.admin("select * from ghouls.attempts"))).not.toContain(token);
    expect(JSON.stringify(world.logged)).not.toContain(token);
  });
});

test("a job that is cancelled by callback at once, and that nobody can ask about, asks for a person", async () => {
  const runId = await started("mute");
  const { attemptId, callback } = mute.only().submission;
  await world.attempts.report(attemptId, callback?.token, { state: "cancelled" });
  expect((await attempt()).status).toBe("UNCERTAIN");
  expect((await world.view(runId)).attention).not.toBeNull();
});

test("one that can be looked up is asked about soon", async () => {
  const runId = await started("slow");
  slow.says({ state: "cancelled" });
  const { attemptId, callback } = slow.only().submission;
  await world.attempts.report(attemptId, callback?.token, { state: "cancelled" });
  await later(31);
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "CANCELLED" } });
});

test("no word of an operator ends a run while a submission of it is under way", async () => {
  const token = Promise.withResolvers<undefined>();
  slow.misbehave = (question) => (question === "submit" ? token.promise : Promise.resolve(UNKNOWN));
  const runId = await started("slow");
  await world.control.cancel(SOMEBODY, runId, "enough");
  for (let turn = 0; turn < 8 && (await attempt()).status !== "UNCERTAIN"; turn += 1) await later(45);
  const { attemptId, status } = await attempt();
  expect(status).toBe("UNCERTAIN");
  for (const outcome of ["succeeded", "failed", "cancelled"] as const)
    await expect(
      world.attempts.resolve(SOMEBODY, attemptId, { outcome, reason: "it says so" }),
    ).rejects.toMatchObject({ code: "attempt_under_way" });
  token.resolve(undefined);
});

test("who asks while the codec is away is told to come again", async () => {
  once.misbehave = () => Promise.resolve(UNKNOWN);
  await started("once");
  for (let round = 0; round < 6; round += 1) await later(600);
  const { attemptId } = await attempt();
  away = "report";
  const word = { outcome: "succeeded", result: { done: "x" }, reason: "seen" } as const;
  await expect(world.attempts.resolve(SOMEBODY, attemptId, word)).rejects.toMatchObject({
    code: "codec_unavailable",
  });
  away = "job";
  await expect(world.attempts.get("acme", attemptId)).rejects.toMatchObject({ code: "codec_unavailable" });
});
