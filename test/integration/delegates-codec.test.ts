import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { GhoulsError, type Codec, type JobReport } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const callsBack = jobService({ cancel: "advisory", lookup: "advisory", submit: "once" }, { pollMs: null });
const named = { service, callsBack };
const base = { version: 1, onWorkerLoss: "resume" } as const;
const delegates = workflow({
  ...base,
  name: "delegates",
  input: z.object({ to: z.enum(["service", "callsBack"]).default("service") }),
  run: (ctx, { to }) => ctx.delegate("sign", named[to], { what: "it" }),
});
const many = workflow({
  ...base,
  name: "many",
  input: z.unknown(),
  run: async (ctx) => {
    const jobs = Array.from({ length: 40 }, (_none, index) =>
      ctx.delegate(`job-${index}`, service, { what: String(index) }),
    );
    return (await Promise.all(jobs)).map(({ outcome }) => outcome);
  },
});
let key = "first";
let fails: string | undefined;
const codec: Codec = {
  encode: (text, { kind }) =>
    fails === `encode ${kind}` ? Promise.reject(new Error("down")) : Promise.resolve(text),
  decode: (text, { kind }) =>
    fails === `decode ${kind}` ? Promise.reject(new Error("down")) : Promise.resolve(text),
  digest: (canonical) => Promise.resolve(`${key} ${canonical}`),
};
const world = await testWorld({ workflows: [delegates, many], services: named, codec });
const { later, onlyAttempt: attempt } = world;
beforeEach(async () => {
  for (const one of Object.values(named)) one.forget();
  [key, fails] = ["first", undefined];
  await world.reset();
});
async function started(to: keyof typeof named = "service") {
  const { runId } = await world.submit("delegates", { to });
  await world.drain();
  return runId;
}
const report = (said: JobReport, to: keyof typeof named = "service") => {
  const { attemptId, callback } = named[to].only().submission;
  return world.attempts.report(attemptId, callback?.token, said);
};
const SIGNED: JobReport = { state: "succeeded", result: { done: "signed" } };

test("a job that was cancelled within its service's delay is asked about again soon, though it is not polled", async () => {
  const runId = await started("callsBack");
  await world.control.cancel(SOMEBODY, runId, "enough");
  await world.reconcile();
  expect(callsBack.asked).toContain("cancel");
  for (let minute = 0; minute < 60; minute += 1) await later(60);
  expect((await world.view(runId)).status).toBe("CANCELLED");
}, 60_000);

test("the same report again is no contradiction after the codec's key was changed", async () => {
  const runId = await started();
  await report(SIGNED);
  key = "second";
  await report(SIGNED).catch(() => undefined);
  await world.drain();
  expect((await attempt()).contradiction).toBeNull();
  expect((await world.view(runId)).attention).toBeNull();
});

test("the same word of an operator again is the same after the codec's key was changed", async () => {
  const runId = await started("callsBack");
  callsBack.misbehave = () => Promise.resolve({ state: "unknown", why: "500" });
  for (let day = 0; day < 5; day += 1) await later(86_400);
  const { attemptId, status } = await attempt();
  expect(status).toBe("UNCERTAIN");
  const word = { outcome: "succeeded", result: { done: "x" }, reason: "seen" } as const;
  await world.attempts.resolve(SOMEBODY, attemptId, word);
  key = "second";
  expect(await world.attempts.resolve(SOMEBODY, attemptId, word)).toMatchObject({ status: "SUCCEEDED" });
  void runId;
});

describe("a codec that cannot do its work just now", () => {
  test("refuses a report in a way that tells its sender to come again", async () => {
    await started();
    fails = "encode report";
    const error = await report(SIGNED).then(
      () => undefined,
      (refused: unknown) => refused,
    );
    expect(error).toBeInstanceOf(GhoulsError);
  });

  test("delays the hop that reads what a job ended with, and loses nothing", async () => {
    const runId = await started();
    await report(SIGNED);
    fails = "decode report";
    await world.drain();
    expect((await world.view(runId)).quarantine).toBeNull();
    fails = undefined;
    for (let minute = 0; minute < 5; minute += 1) await later(60);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "SUCCEEDED" } });
  });

  test("delays the park that freezes a request", async () => {
    fails = "encode job";
    const runId = await started();
    fails = undefined;
    for (let minute = 0; minute < 5; minute += 1) await later(60);
    service.says(SIGNED);
    for (let minute = 0; minute < 5; minute += 1) await later(60);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });
});

test("a run that is quarantined while its job ends goes on once it is cleared", async () => {
  const runId = await started();
  await world.db.admin(
    "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'by a test' where run_id = $1",
    [runId],
  );
  await report(SIGNED);
  await world.drain();
  expect((await world.view(runId)).status).toBe("AWAITING_DELEGATE");
  await world.control.clear(SOMEBODY, runId, "looked");
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE" });
});

test("forty jobs whose results are above the journal's cap together end their run, and nothing is left open", async () => {
  const { runId } = await world.submit("many");
  await world.drain();
  expect(service.jobs.size).toBe(40);
  for (const [id, job] of service.jobs)
    service.jobs.set(id, { ...job, state: { state: "succeeded", result: { done: '"'.repeat(500_000) } } });
  for (let round = 0; round < 6; round += 1) await later(600);
  const view = await world.view(runId);
  expect(["DONE", "FAILED"]).toContain(view.status);
  expect((await world.ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
}, 120_000);
