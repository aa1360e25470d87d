import { beforeEach, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { JobReport } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const pairs = workflow({
  ...base,
  name: "pairs",
  run: async (ctx) => {
    const jobs = ["a", "b", "c"].map((name) => ctx.delegate(name, service, { what: name }));
    const first = await ctx.first({ one: jobs[0]!, two: jobs[1]!, three: jobs[2]! });
    return first.winner;
  },
});
const world = await testWorld({ workflows: [pairs], services: { service }, maxConnections: 24 });
beforeEach(async () => {
  service.forget();
  await world.reset();
});

/** Everybody at once, many times: no deadlock, no error, one end. */
test("callbacks, cancels, passes, workers and operators at once leave one end and nothing open", async () => {
  const failures: string[] = [];
  const note = (what: string) => (error: unknown) => {
    const code = (error as { code?: string }).code ?? String(error);
    if (!["attempt_settled", "unauthenticated", "run_ended", "conflict"].includes(code))
      failures.push(`${what}: ${code} ${String(error)}`);
  };
  const ends = new Map<string, number>();
  for (let round = 0; round < 25; round += 1) {
    service.forget();
    const { runId } = await world.submit("pairs");
    await world.drain();
    const jobs = [...service.jobs.values()];
    expect(jobs).toHaveLength(3);
    await world.advance(61);
    const say = (index: number, said: JobReport) => {
      const { submission } = jobs[index]!;
      return world.attempts
        .report(submission.attemptId, submission.callback?.token, said)
        .catch(note("report"));
    };
    const acts = [
      () => say(0, { state: "succeeded", result: { done: "a" } }),
      () => say(0, { state: "succeeded", result: { done: "a" } }),
      () => say(1, { state: "failed", error: { code: "x", message: "y" } }),
      () => say(1, { state: "running" }),
      () => say(2, { state: "running" }),
      () => world.reconcile().catch(note("reconcile")),
      () => world.reconcile().catch(note("reconcile")),
      () => world.drain({ copies: 2 }).catch(note("drain")),
      ...(round % 2 === 0
        ? [() => world.control.cancel(SOMEBODY, runId, "enough").catch(note("cancel"))]
        : []),
      () =>
        world.ledger.deliveries
          .recordWorkerEnd({ worker: "worker-9", how: "killed", actsMarginSeconds: 60 })
          .catch(note("end")),
    ];
    // Another order each time.
    const turned = acts.map((act, index) => acts[(index * 7 + round) % acts.length] ?? act);
    await Promise.all(turned.map((act) => act()));
    for (let again = 0; again < 6; again += 1) {
      await world.advance(120);
      await world.reconcile();
      await world.drain();
    }
    const { status } = await world.view(runId);
    ends.set(status, (ends.get(status) ?? 0) + 1);
    expect(["DONE", "CANCELLED"]).toContain(status);
    for (const job of service.jobs.values()) expect(job.submissions).toBe(1);
  }
  expect(failures).toEqual([]);
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
}, 240_000);
