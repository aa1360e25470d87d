import { afterEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { reconcile } from "@ghouls/engine";
import type { JobReport } from "@ghouls/core";
import { atPoint } from "../support/at-point.ts";
import { jobService } from "../support/job-service.ts";
import { heldInTheMiddle } from "../support/races.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const delegates = workflow({
  ...base,
  name: "delegates",
  run: async (ctx) => (await ctx.delegate("sign", service, { what: "it" }, { deadline: "1h" })).outcome,
});
/** Its second park takes the job over. */
const takesOver = workflow({
  ...base,
  name: "takes-over",
  run: async (ctx) => {
    const job = ctx.delegate("sign", service, { what: "it" });
    await ctx.waitForSignal("first");
    return (await job).outcome;
  },
});

const points = atPoint(() => world.db);
const world = await testWorld({
  workflows: [delegates, takesOver],
  services: { signer: service },
  maxConnections: 12,
  faults: points.faults,
});
const { db } = world;
afterEach(async () => {
  points.forget();
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
  service.forget();
  await world.reset();
});

async function attempt() {
  const { attempts } = await world.attempts.list("acme", {}, { limit: 10 });
  expect(attempts).toHaveLength(1);
  return attempts[0] as (typeof attempts)[number];
}
const report = (said: JobReport) => {
  const { attemptId, callback } = service.only().submission;
  return world.attempts.report(attemptId, callback?.token, said);
};
const SIGNED: JobReport = { state: "succeeded", result: { done: "signed" } };
async function deliveriesMade(runId: string): Promise<number> {
  return (await world.ledger.deliveries.ofRun({ tenantId: "acme", runId })).length;
}
describe("a callback in the middle of the park that takes its job over", () => {
  test.each([
    "runs.lock",
    "arms.open",
    "arms.of-run",
    "arms.close-steps",
    "consents.expire",
    "arms.facts",
    "deliveries.park",
    "ledger.before-commit deliveries.park",
    "ledger.after-commit deliveries.park",
  ])("at %s is consumed once, and brings the run back once", async (point) => {
    const { runId } = await world.submit("takes-over");
    await world.drain();
    await world.signals.send(SOMEBODY, runId, { name: "first", payloadText: undefined });
    let parking = false;
    const acted = points.at(
      point,
      () => report(SIGNED),
      async (name) => {
        parking ||=
          name === "arms.open" || (name === "runs.lock" && (await world.view(runId)).status === "RUNNING");
        return parking;
      },
    );
    await world.drain();
    await acted();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "SUCCEEDED", enqueueSeq: 3 });
    expect(await deliveriesMade(runId)).toBe(3);
  });
});

/** The points that a worker passes from its park to the answer of the submission. */
const WAY = [
  "arms.open",
  "attempts.open",
  "deliveries.park",
  "ledger.before-commit deliveries.park",
  "ledger.after-commit deliveries.park",
  "delegate.before-claim",
  "attempts.claim-submission",
  "ledger.before-commit attempts.claim-submission",
  "ledger.after-commit attempts.claim-submission",
  "delegate.after-claim",
  "delegate.after-submit",
  "attempts.lock",
  "attempts.change",
  "ledger.before-commit attempts.change",
  "ledger.after-commit attempts.change",
  "delegate.after-answer",
] as const;

describe.each(WAY)("while a job is submitted, at %s,", (point) => {
  test("a cancel leaves nothing that acts: CANCELLED, with at most one job, which is cancelled", async () => {
    const { runId } = await world.submit("delegates");
    const acted = points.at(point, () => world.control.cancel(SOMEBODY, runId, "enough"));
    await world.drain();
    await acted();
    for (let round = 0; round < 4; round += 1) {
      await world.advance(600);
      await world.reconcile();
      await world.drain();
    }
    expect((await world.view(runId)).status).toBe("CANCELLED");
    expect(service.jobs.size).toBeLessThanOrEqual(1);
    for (const job of service.jobs.values())
      expect(job).toMatchObject({ submissions: 1, state: { state: "cancelled" } });
  });

  test("a message that is handed out again submits nothing more", async () => {
    const { runId } = await world.submit("delegates");
    const acted = points.at(point, () => world.deliver([`run:${runId}:1`]));
    await world.drain();
    await acted();
    expect([service.only().submissions, (await attempt()).status]).toEqual([1, "SUBMITTED"]);
    await report(SIGNED);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "SUCCEEDED", enqueueSeq: 2 });
  });
});

describe("a worker that is slow in its submission, while the pass looks:", () => {
  const held = () => {
    const released = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    return { ...released, sent };
  };

  test("what is not found yet is sent by nobody else", async () => {
    const { resolve, promise, sent } = held();
    service.misbehave = async (question) => {
      if (question === "submit") {
        sent.resolve();
        await promise;
      }
      return undefined;
    };
    const { runId } = await world.submit("delegates");
    const working = world.drain();
    await sent.promise;
    for (let round = 0; round < 3; round += 1) {
      await world.advance(120);
      await world.reconcile();
    }
    expect([(await attempt()).status, service.asked.filter((one) => one === "submit").length]).toEqual([
      "SUBMITTING",
      1,
    ]);
    resolve();
    await working;
    expect([(await attempt()).status, service.only().submissions]).toEqual(["SUBMITTED", 1]);
    await report(SIGNED);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "SUCCEEDED" });
  });

  test("what is found is adopted, and the slow answer moves nothing any more", async () => {
    const { resolve, promise, sent } = held();
    service.misbehave = async (question, job) => {
      if (question !== "submit") return undefined;
      service.misbehave = undefined;
      const answer = await service.submit(
        { ...job, requestText: "{}", callback: null },
        {
          signal: AbortSignal.timeout(1_000),
          origins: [],
        },
      );
      sent.resolve();
      await promise;
      return answer;
    };
    const { runId } = await world.submit("delegates");
    const working = world.drain();
    await sent.promise;
    service.says(SIGNED);
    await world.advance(120);
    await world.reconcile();
    expect((await attempt()).status).toBe("SUCCEEDED");
    resolve();
    await working;
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "SUCCEEDED" });
    expect([service.only().submissions, (await attempt()).contradiction]).toEqual([1, null]);
  });

  test("what is absent when nothing can be on its way is sent again, under the same key: one job", async () => {
    const { resolve, promise, sent } = held();
    let first = true;
    service.misbehave = async (question) => {
      if (question !== "submit" || !first) return undefined;
      first = false;
      sent.resolve();
      await promise;
      return undefined;
    };
    const { runId } = await world.submit("delegates");
    const working = world.drain();
    await sent.promise;
    // The invocation's 900 s, the margin of 60 s, and the delay.
    await world.advance(1_000);
    await world.reconcile();
    expect(await attempt()).toMatchObject({ status: "SUBMITTED", submissions: 2 });
    // Against all that was declared it arrives after all: the key is the same.
    resolve();
    await working;
    expect([service.jobs.size, service.only().submissions]).toEqual([1, 2]);
    await report(SIGNED).catch(() => undefined);
    service.says(SIGNED);
    await world.advance(31);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "SUCCEEDED" });
  });
});

describe("the claim of a submission", () => {
  const held = (holder: { query(text: string, values: unknown[]): Promise<unknown> }, runId: string) =>
    holder.query("select from ghouls.runs where run_id = $1 for update", [runId]);
  async function defined() {
    points.hear((name) => {
      if (name === "delegate.before-claim") throw new Error("by a test");
    });
    const { runId } = await world.submit("delegates");
    await world.drain();
    points.forget();
    await world.advance(60);
    return runId;
  }
  const once = () =>
    reconcile({
      ...world.deps,
      queue: world.queue,
      pageSize: 10,
      pageBudgetMs: 10,
      remainingMs: () => 60_000,
    });

  test("that waits for a cancel sends nothing", async () => {
    const runId = await defined();
    await heldInTheMiddle(
      db,
      (holder) => held(holder, runId),
      once,
      async (holder) => {
        await holder.query("update ghouls.runs set status = 'CANCELLING' where run_id = $1", [runId]);
        await holder.query(
          "update ghouls.runs set status = 'CANCELLED', finished_at = ghouls.clock() where run_id = $1",
          [runId],
        );
      },
    );
    expect([service.asked, (await attempt()).status]).toEqual([[], "CANCELLED"]);
  });

  test("that waits while its run is brought back by something else sends nothing until that parks again", async () => {
    const runId = await defined();
    await heldInTheMiddle(
      db,
      (holder) => held(holder, runId),
      once,
      (holder) =>
        holder.query(
          "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'x' where run_id = $1",
          [runId],
        ),
    );
    expect([service.asked, (await attempt()).status]).toEqual([[], "DEFINED"]);
    await world.control.clear(SOMEBODY, runId, "a test");
    await world.advance(120);
    await world.reconcile();
    expect((await attempt()).status).toBe("SUBMITTED");
  });

  test("is taken by one of two reconcilers and a worker", async () => {
    await defined();
    await Promise.all([once(), once(), once()]);
    expect([service.only().submissions, (await attempt()).submissions]).toEqual([1, 1]);
  });

  test("whose answer was lost is known by its token: what was claimed is sent", async () => {
    let lost = false;
    points.hear((name) => {
      if (name !== "ledger.after-commit attempts.claim-submission" || lost) return;
      lost = true;
      throw new Error("the answer was lost");
    });
    await world.submit("delegates");
    await world.drain();
    expect([lost, service.only().submissions, (await attempt()).status]).toEqual([true, 1, "SUBMITTED"]);
  });
});

describe("two words about one job", () => {
  test("the same callback twice at once: one is taken, the other is told so", async () => {
    const { runId } = await world.submit("delegates");
    await world.drain();
    const told = await Promise.allSettled([report(SIGNED), report(SIGNED)]);
    expect(told.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(told.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "attempt_settled" },
    });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", enqueueSeq: 2 });
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ["a callback", () => report(SIGNED), "SUCCEEDED"],
    ["a cancel", async () => world.control.cancel(SOMEBODY, (await attempt()).runId, "enough"), "RUNNING"],
  ])("an answer that was read before %s moves nothing after it", async (_what, act, status) => {
    await world.submit("delegates");
    await world.drain();
    service.misbehave = async (question) => {
      if (question !== "lookUp") return undefined;
      service.misbehave = undefined;
      await act();
      return { state: "running" };
    };
    await world.advance(31);
    await world.reconcile();
    expect((await attempt()).status).toBe(status);
  });

  test("what contradicts the end of a job is kept, and asks for a person", async () => {
    const { runId } = await world.submit("delegates");
    await world.drain();
    service.says(SIGNED);
    await world.advance(31);
    await world.reconcile();
    await expect(report({ state: "failed", error: { code: "no", message: "no" } })).rejects.toMatchObject({
      code: "attempt_settled",
    });
    expect(await attempt()).toMatchObject({
      status: "SUCCEEDED",
      contradiction: expect.stringContaining("failed") as string,
    });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      attention: { reason: expect.stringContaining("attempt_contradicted") as string },
    });
    expect((await world.ledger.doctor()).filter(({ ok }) => !ok).map(({ kind }) => kind)).toEqual([
      "attention",
    ]);
  });
});
