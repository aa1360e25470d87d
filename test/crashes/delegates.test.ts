import { describe, expect, test } from "vitest";
import { isTerminalRun } from "@ghouls/core";
import { jobServicesAt } from "../support/crash-workflows.ts";
import { LEASE_SECONDS, crashWorld } from "../support/crash-world.ts";
import type { Fault, Passing } from "../support/fault-plan.ts";
import { jobServer } from "../support/job-server.ts";
import { until } from "../support/wait.ts";
import { killsOn, victims } from "../support/victims.ts";

const server = await jobServer();
const world = await crashWorld({ services: jobServicesAt(server.origin), origins: [server.origin] });
const start = () => world.start({ jobsOrigin: server.origin });
const survivor = await start();

/** What a worker has left that stands still: more than its submission may take. It is killed half as much later. */
const STANDS_MS = 12_000;

const victim = victims(start);

async function attemptOf(runId: string) {
  const { attempts } = await world.attempts.list("acme", { runId }, { limit: 2 });
  expect(attempts.length).toBeLessThanOrEqual(1);
  return attempts[0];
}

/** Lets the service do its work and time pass, until the run has ended or a person is asked for. */
async function heal(runId: string): Promise<void> {
  await until("the run has ended, or asks for a person", async () => {
    await world.reconcile();
    while ((await world.step(survivor)) !== undefined);
    const { status, attention } = await world.view(runId);
    if (isTerminalRun(status) || attention !== null) return true;
    server.finish();
    await world.advance(LEASE_SECONDS);
    return false;
  });
}

/** One job and one result; or, where nobody can know, at most one job, and a person who is asked for. */
async function holds(runId: string, workflow: "keyed" | "once"): Promise<void> {
  const view = await world.view(runId);
  const attempt = await attemptOf(runId);
  expect(server.effects(runId)).toBeLessThanOrEqual(1);
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
  if (workflow === "once" && view.status !== "DONE") {
    expect([view.status, attempt?.status, attempt?.submissions]).toEqual([
      "AWAITING_DELEGATE",
      "UNCERTAIN",
      1,
    ]);
    expect(view.attention?.reason).toContain("attempt_uncertain");
    await world.attempts.resolve(
      { tenantId: "acme", subject: "user:ada", roles: ["operator"] },
      attempt?.attemptId ?? "",
      { outcome: "cancelled", reason: "a test" },
    );
    while ((await world.step(survivor)) !== undefined);
    return;
  }
  expect(view).toMatchObject({
    status: "DONE",
    output: { outcome: "SUCCEEDED", result: { done: `${runId} was signed` } },
    attention: null,
  });
  expect(server.effects(runId)).toBe(1);
}

const killsFrom = (way: readonly Passing[], from: string) =>
  killsOn(way.slice(way.findIndex(({ point }) => point === from)));

/** What a worker passes from its park to the answer of the submission. */
async function wayOfWorker(): Promise<[string, Fault][]> {
  const worker = await victim();
  const { runId } = await world.submit("keyed");
  await world.step(worker);
  const { passings } = await worker.inspect();
  await heal(runId);
  worker.signal("SIGKILL");
  return killsFrom(passings, "worker.before-park");
}

/** A run whose job nobody has sent, and that somebody is to look after now. */
async function unsent(workflow: "keyed" | "once"): Promise<string> {
  const worker = await victim([{ point: "delegate.before-claim", action: "kill" }]);
  const { runId } = await world.submit(workflow);
  expect(await world.step(worker)).toEqual({ kind: "ended", how: "SIGKILL" });
  expect(await attemptOf(runId)).toMatchObject({ status: "DEFINED", submissions: 0 });
  await world.advance(60);
  return runId;
}

/** What a reconciler passes while it submits a job. */
async function wayOfReconciler(): Promise<[string, Fault][]> {
  const runId = await unsent("keyed");
  const worker = await victim();
  await worker.reconcile();
  const { passings } = await worker.inspect();
  await heal(runId);
  worker.signal("SIGKILL");
  return killsFrom(passings, "delegates.after-select").filter(([label]) => /delegate|attempts/.test(label));
}

const worker = await wayOfWorker();
const reconciler = await wayOfReconciler();

test("their ways pass every fault point of a submission", () => {
  for (const way of [worker, reconciler]) {
    const points = way.map(([, { point }]) => point);
    for (const point of [
      "delegate.before-claim",
      "delegate.after-claim",
      "delegate.after-submit",
      "delegate.after-answer",
    ] as const)
      expect(points).toContain(point);
  }
  expect(worker.map(([label]) => label)).toContain("ledger.before-commit attempts.claim-submission #1");
  expect(reconciler.map(([label]) => label)).toContain("ledger.after-commit attempts.change #1");
});

describe.each([
  ["whose lookups prove what is not there", "keyed"],
  ["that cannot say what is not there", "once"],
] as const)("at a service %s", (_what, workflow) => {
  test.each(worker)("kill -9 of the worker at %s: one job, or none and a person", async (_label, fault) => {
    const dying = await victim([fault]);
    const { runId } = await world.submit(workflow);
    const messages = await world.receive();
    expect(await dying.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    await heal(runId);
    await holds(runId, workflow);
  });

  test.each(reconciler)("kill -9 of the reconciler at %s: the same", async (_label, fault) => {
    const runId = await unsent(workflow);
    const dying = await victim([fault]);
    expect(await dying.reconcile()).toEqual({ kind: "ended", how: "SIGKILL" });
    await heal(runId);
    await holds(runId, workflow);
  });

  test("a worker that stands still after its claim, and wakes when nobody believes in it any more, sends nothing", async () => {
    const frozen = await victim([{ point: "delegate.after-claim", action: "stop" }]);
    const { runId } = await world.submit(workflow);
    const began = performance.now();
    const working = world.step(frozen, STANDS_MS);
    await frozen.untilStopped();
    for (let round = 0; round < 3; round += 1) {
      await world.advance(LEASE_SECONDS);
      await world.reconcile();
    }
    // Proven not to be there it was sent by somebody else; where that cannot be proven it was not.
    const sent = workflow === "keyed" ? 1 : 0;
    expect(server.submissions(runId)).toBe(sent);
    await until("its time is over", () => performance.now() - began > STANDS_MS + 500);
    frozen.signal("SIGCONT");
    await working;
    frozen.signal("SIGKILL");
    expect(server.submissions(runId)).toBe(sent);
    await heal(runId);
    await holds(runId, workflow);
  });
});

test("a supervisor's word about a worker that was killed in its submission makes that certain sooner", async () => {
  const dying = await victim([{ point: "delegate.after-claim", action: "kill" }]);
  const { runId } = await world.submit("keyed");
  await world.step(dying);
  const word = { worker: dying.name, how: await dying.ended, actsMarginSeconds: 1 };
  await world.ledger.deliveries.recordWorkerEnd(word);
  await world.advance(5);
  await world.reconcile();
  expect(await attemptOf(runId)).toMatchObject({ status: "SUBMITTED", submissions: 2 });
  expect(server.submissions(runId)).toBe(1);
  await heal(runId);
  await holds(runId, "keyed");
});

test("a message that is handed out twice while its worker submits is one job", async () => {
  const release = server.hold();
  const { runId } = await world.submit("keyed");
  const messages = await world.receive();
  const slow = await victim();
  const working = slow.work(messages);
  await until("the submission", () => server.submissions(runId) === 1);
  expect(await survivor.work(messages)).toMatchObject({ kind: "answered" });
  await world.control.cancel({ tenantId: "acme", subject: "user:ada", roles: [] }, runId, "enough");
  release();
  await working;
  slow.signal("SIGKILL");
  await until("the run is cancelled", async () => {
    await world.advance(LEASE_SECONDS);
    await world.reconcile();
    return (await world.view(runId)).status === "CANCELLED";
  });
  expect([server.submissions(runId), (await attemptOf(runId))?.status]).toEqual([1, "CANCELLED"]);
});
