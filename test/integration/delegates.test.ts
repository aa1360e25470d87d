import { beforeEach, describe, expect, test } from "vitest";
import { workflow, type DelegateOptions } from "ghouls";
import * as z from "zod";
import type { Codec, FaultPoint } from "@ghouls/core";
import { reconcile, work } from "@ghouls/engine";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const silent = jobService({ lookup: "none", cancel: "none", submit: "once" }, { pollMs: null });
let options: DelegateOptions;
let failing: FaultPoint | undefined;
let request: unknown;
let key = "first";

const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ to: z.enum(["signer", "silent"]).default("signer") }),
  run: async (ctx, { to }) => {
    await ctx.step("before", () => "before");
    return ctx.delegate("sign", to === "silent" ? silent : service, request as { what: string }, options);
  },
});
const twice = workflow({
  name: "twice",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => [
    await ctx.delegate("sign", service, { what: "one" }),
    await ctx.delegate("sign", service, { what: "one" }),
  ],
});

/** Seals what it keeps, with a digest that only whoever has its key can make. */
const codec: Codec = {
  encode: (text, context) => Promise.resolve(`${context.kind}:${Buffer.from(text).toString("base64")}`),
  decode: (stored) =>
    Promise.resolve(Buffer.from(stored.slice(stored.indexOf(":") + 1), "base64").toString()),
  digest: (canonical) => Promise.resolve(`${key} ${canonical.length}`),
};

const world = await testWorld({
  workflows: [delegates, twice],
  services: { signer: service, silent },
  codec,
  faults: (point) => {
    if (point === failing) throw new Error("by a test");
  },
});
const { db, later, broken, onlyAttempt: attempt } = world;

beforeEach(async () => {
  [options, failing, request, key] = [{}, undefined, { what: "it" }, "first"];
  service.forget();
  silent.forget();
  world.logged.length = 0;
  await world.reset();
});

async function attempts() {
  return (await world.attempts.list(SOMEBODY.tenantId, {}, { limit: 50 })).attempts;
}
async function started(name = "delegates", input: unknown = {}) {
  const { runId } = await world.submit(name, input);
  await world.drain();
  return runId;
}
const view = (runId: string) => world.view(runId);

describe("a delegated job", () => {
  test("is known in the ledger before it is sent, parks its run, and brings it back with its result", async () => {
    service.misbehave = async (question) => {
      if (question !== "submit") return undefined;
      const [one] = await attempts();
      expect(one).toMatchObject({ status: "SUBMITTING", submissions: 1, service: "signer" });
      return undefined;
    };
    const runId = await started();
    expect(await view(runId)).toMatchObject({
      status: "AWAITING_DELEGATE",
      waits: [{ kind: "delegate", name: "sign", attemptId: (await attempt()).attemptId }],
    });
    const { submission, submissions } = service.only();
    expect(submission).toMatchObject({
      tenantId: "acme",
      requestText: '{"what":"it"}',
      idempotencyKey: (await attempt()).idempotencyKey,
      callback: { url: `https://ghouls.example/v1/attempts/${submission.attemptId}/callback` },
    });
    service.says({ state: "succeeded", result: { done: "signed" } });
    await later(31);
    expect(await view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "SUCCEEDED", attemptId: submission.attemptId, result: { done: "signed" } },
    });
    expect([submissions, service.asked]).toEqual([1, ["submit", "lookUp"]]);
    expect(await world.attempts.get("acme", submission.attemptId)).toMatchObject({
      status: "SUCCEEDED",
      closedBy: "service",
      request: { what: "it" },
      result: { done: "signed" },
    });
    expect(await broken()).toEqual([]);
  });

  test("that fails says why, and no other is started by itself", async () => {
    const runId = await started();
    service.says({ state: "failed", error: { code: "no_key", message: "there is no key" } });
    await later(31);
    expect(await view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "FAILED", error: { code: "no_key", message: "there is no key" } },
    });
    expect(service.asked).toEqual(["submit", "lookUp"]);
  });

  test("whose result its schema does not know is INVALID, and the result is kept", async () => {
    const runId = await started();
    service.says({ state: "succeeded", result: { other: 1 } });
    await later(31);
    expect(await view(runId)).toMatchObject({
      output: {
        outcome: "INVALID",
        result: { other: 1 },
        problem: expect.stringContaining("done") as string,
      },
    });
  });

  test("that is asked for again is another attempt, under another key", async () => {
    const runId = await started("twice");
    service.says({ state: "failed", error: { code: "no", message: "no" } });
    await later(31);
    expect(await view(runId)).toMatchObject({ status: "AWAITING_DELEGATE" });
    expect(service.jobs.size).toBe(2);
    expect(new Set((await attempts()).map((one) => one.idempotencyKey)).size).toBe(2);
    expect(await broken()).toEqual([]);
  });

  test("is polled at growing distances while it says nothing new", async () => {
    await started();
    service.says({ state: "running" });
    const looks: number[] = [];
    for (let minute = 0; minute < 24; minute += 1) {
      await later(60);
      looks.push(service.asked.filter((one) => one === "lookUp").length);
    }
    // After 30 s, then after 30, 60, 120, 240 and 480 s.
    expect(looks.at(-1)).toBeLessThanOrEqual(7);
    expect(looks.at(-1)).toBeGreaterThanOrEqual(5);
  });

  test.each<[string, unknown, string]>([
    ["a request that does not fit", { what: 1 }, "does not fit the service's schema"],
    [
      "a live handle in the request",
      { what: "it", socket: setTimeout(() => undefined, 0) },
      "cannot be sent",
    ],
    ["a function in the request", { what: "it", after: () => undefined }, "cannot be sent"],
  ])("with %s is refused before anything is kept", async (_what, asked, words) => {
    request = asked;
    const runId = await started();
    expect(await view(runId)).toMatchObject({
      status: "FAILED",
      error: { code: "invalid_call", message: expect.stringContaining(words) as string },
    });
    expect(await attempts()).toEqual([]);
  });
});

describe("the deadline of a job", () => {
  test("has it cancelled, and brings the run back with that once it is acknowledged", async () => {
    options = { deadline: "1h" };
    const runId = await started();
    await later(3_601);
    expect(await view(runId)).toMatchObject({ status: "DONE", output: { outcome: "DEADLINE" } });
    expect(service.asked.filter((one) => one === "cancel")).toHaveLength(1);
    expect(await broken()).toEqual([]);
  });

  test("leaves it parked and UNCERTAIN, with attention, where nobody acknowledges", async () => {
    options = { deadline: "1h" };
    const runId = await started();
    service.misbehave = () => Promise.resolve({ state: "unknown", why: "503" });
    await later(3_601);
    for (let round = 0; round < 8; round += 1) await later(600);
    expect(await attempt()).toMatchObject({ status: "UNCERTAIN" });
    expect(await view(runId)).toMatchObject({
      status: "AWAITING_DELEGATE",
      attention: { reason: expect.stringContaining("attempt_uncertain") as string },
    });
    // It turns out later, and the person is not needed any more.
    service.misbehave = undefined;
    await later(3_601);
    expect(await view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "DEADLINE" },
      attention: null,
    });
  });

  test("takes the result of a job that ended before the cancel reached it", async () => {
    options = { deadline: "1h" };
    const runId = await started();
    service.says({ state: "running" });
    await world.advance(3_601);
    service.says({ state: "succeeded", result: { done: "just in time" } });
    await later(1);
    expect(await view(runId)).toMatchObject({
      output: { outcome: "SUCCEEDED", result: { done: "just in time" } },
    });
  });

  test("of a job that nobody has sent drops it: nothing of it can act", async () => {
    options = { deadline: "1h" };
    failing = "delegate.before-claim";
    const runId = await started();
    await world.advance(3_601);
    failing = undefined;
    await later(1);
    expect(await view(runId)).toMatchObject({ status: "DONE", output: { outcome: "DEADLINE" } });
    expect(service.asked).toEqual([]);
  });
});

describe("a submission of which nobody knows yet whether it arrives", () => {
  /** Lets the run park, with a submission that gets no answer. */
  async function unanswered() {
    service.misbehave = (question) =>
      question === "submit" ? Promise.reject(new Error("socket hang up")) : Promise.resolve(undefined);
    return started();
  }

  test("is cancelled only once it cannot arrive any more, where a cancel says nothing of what comes later", async () => {
    const runId = await unanswered();
    await db.admin("update ghouls.attempts set cancel = 'advisory'");
    await world.control.cancel(SOMEBODY, runId, "enough");
    await later(20);
    expect(service.asked).toContain("cancel");
    expect([(await attempt()).status, (await view(runId)).status]).toEqual(["SUBMITTING", "CANCELLING"]);
    // The margin of 60 s and the delay.
    await later(60);
    expect([(await attempt()).status, (await view(runId)).status]).toEqual(["CANCELLED", "CANCELLED"]);
  });

  test("is not sent again before that, and then is", async () => {
    await unanswered();
    for (let look = 0; look < 4; look += 1) await later(12);
    expect(service.asked.filter((one) => one === "submit")).toHaveLength(1);
    service.misbehave = undefined;
    await later(60);
    expect([service.only().submissions, (await attempt()).submissions]).toEqual([1, 2]);
  });
});

test("a worker whose process nothing ends by force sends no job: nobody could say until when it may", async () => {
  const { runId } = await world.submit("delegates", {});
  const message = { messageId: "m", receiptHandle: "none", body: `run:${runId}:1` };
  const options = { queue: "runs", limitMs: 900_000, remainingMs: () => 900_000, endsByForce: false };
  await work([message], world.deps, options);
  expect([(await attempt()).status, service.asked]).toEqual(["DEFINED", []]);
  await later(20);
  expect((await attempt()).status).toBe("SUBMITTED");
});

describe("what is kept of a job", () => {
  test("passes the codec, and is read with its key", async () => {
    const runId = await started();
    service.says({ state: "succeeded", result: { done: "signed" } });
    await later(31);
    const [kept] = await db.admin<{ request_text: string; report_text: string }>(
      "select * from ghouls.attempts",
    );
    expect([kept?.request_text.slice(0, 4), kept?.report_text.slice(0, 7)]).toEqual(["job:", "report:"]);
    expect(await view(runId)).toMatchObject({ output: { result: { done: "signed" } } });
  });

  test("and was altered since is not sent: a person is asked for", async () => {
    failing = "delegate.before-claim";
    const runId = await started();
    failing = undefined;
    await db.admin("update ghouls.attempts set request_text = 'job:e30='");
    for (let look = 0; look < 3; look += 1) await later(60);
    expect(service.asked).toEqual([]);
    expect((await view(runId)).attention?.reason).toContain("a job's request disagrees with its digest");
  });

  test("and whose report was altered in the journal quarantines the run", async () => {
    const runId = await started();
    service.says({ state: "succeeded", result: { done: "signed" } });
    await world.advance(31);
    await world.reconcile();
    await db.admin(
      `update ghouls.journal set result_text = replace(result_text, 'report:', 'report:x'),
         result_digest = encode(sha256(convert_to(replace(result_text, 'report:', 'report:x'), 'UTF8')), 'hex')
       where kind = 'delegate'`,
    );
    await world.drain();
    expect((await view(runId)).quarantine?.reason).toContain("the report of a job disagrees with its digest");
  });

  test("is asked about by nobody but the executor that it was made for", async () => {
    const runId = await started();
    const elsewhere = jobService({}, {}, { identity: "elsewhere" });
    const deps = { ...world.deps, delegation: { ...world.deps.delegation, services: { signer: elsewhere } } };
    const pass = () =>
      reconcile({ ...deps, queue: world.queue, pageSize: 100, pageBudgetMs: 100, remainingMs: () => 60_000 });
    await world.advance(31);
    await pass();
    // The next one to look may be of a build that has it.
    expect([(await attempt()).status, (await view(runId)).attention]).toEqual(["SUBMITTED", null]);
    for (let look = 0; look < 2; look += 1) {
      await world.advance(31);
      await pass();
    }
    expect([elsewhere.asked, (await attempt()).status]).toEqual([[], "UNCERTAIN"]);
    expect((await view(runId)).attention?.reason).toContain("attempt_");
    // With the executor that was meant it goes on.
    service.says({ state: "succeeded", result: { done: "signed" } });
    await later(600);
    expect(await view(runId)).toMatchObject({ status: "DONE" });
  });
});
