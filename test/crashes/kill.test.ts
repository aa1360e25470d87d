import { describe, expect, test } from "vitest";
import {
  HANDS_OVER,
  LEASE_SECONDS,
  MARGIN_SECONDS,
  OVER_SECONDS,
  crashWorld,
} from "../support/crash-world.ts";
import type { Passing } from "../support/fault-plan.ts";
import { until } from "../support/wait.ts";
import { killsOn, victims } from "../support/victims.ts";

const world = await crashWorld();
const { stub, ledger } = world;
const survivor = await world.start();

const victim = victims(() => world.start());

/** What a worker passes on its way through one run; with `shortly` it hands over after the first step. */
async function wayOf(workflow: string, input: unknown, shortly = false): Promise<readonly Passing[]> {
  const worker = await victim();
  const { runId } = await world.submit(workflow, input);
  if (shortly) await world.workShortly(worker, await world.receive(), runId);
  else await world.step(worker);
  const { passings } = await worker.inspect();
  await world.heal([runId], survivor);
  worker.signal("SIGKILL");
  return passings;
}

const threeWay = killsOn(await wayOf("three", null));
const handoverWay = killsOn(await wayOf("many", HANDS_OVER, true)).filter(([label]) =>
  /handover|yield|publish|queue/.test(label),
);

test("the way of a run passes every fault point of a worker", () => {
  const points = new Set([...threeWay, ...handoverWay].map(([, fault]) => fault.point));
  for (const point of [
    "ledger.before-statement",
    "ledger.after-statement",
    "queue.before-publish",
    "queue.after-publish",
    "admission.after-publish",
    "worker.after-claim",
    "worker.before-intent",
    "worker.after-intent",
    "worker.before-step",
    "worker.after-step",
    "worker.after-journal",
    "worker.before-handover",
    "worker.after-handover",
    "worker.before-settle",
    "worker.after-settle",
  ] as const) {
    expect(points, point).toContain(point);
  }
});

describe("kill -9 of a worker", () => {
  test.each(threeWay)(
    "at %s: the run ends once, and what was journaled is not repeated",
    async (_, fault) => {
      const worker = await victim([fault]);
      const { runId } = await world.submit("three");
      const messages = await world.receive();
      expect(await worker.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
      const journal = await world.journalOf(runId);
      const before = stub.names(runId);

      await world.lapse(messages);
      await world.heal([runId], survivor);
      await world.audit({ [runId]: "DONE" });
      const after = stub.names(runId).slice(before.length);
      for (const name of journal) expect(after).not.toContain(name);
      expect(stub.calls(runId, "pay").length).toBe(1);
      for (const name of ["one", "three"]) expect(stub.calls(runId, name).length).toBeLessThanOrEqual(2);
      expect(await world.journalOf(runId)).toEqual(["one", "pay", "three"]);
      expect((await world.view(runId)).output).toBe("pay was done");
    },
  );

  test.each(handoverWay)("at %s, while it hands over: nothing is lost or repeated", async (_, fault) => {
    const worker = await victim([fault]);
    const { runId } = await world.submit("many", HANDS_OVER);
    const messages = await world.receive();
    expect(await world.workShortly(worker, messages, runId)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    await world.heal([runId], survivor);
    await world.audit({ [runId]: "DONE" });
    expect(stub.names(runId)).toEqual(["s1", "s2"]);
  });

  test.each([
    { point: "worker.before-beat" },
    { point: "ledger.before-statement", detail: "deliveries.beat" },
    { point: "ledger.after-statement", detail: "deliveries.beat" },
    { point: "queue.before-visibility" },
    { point: "queue.after-visibility" },
  ] as const)("in the middle of a step, at $point of a beat", async (place) => {
    stub.hold("held");
    const worker = await victim();
    const { runId } = await world.submit("held");
    const messages = await world.receive();
    const working = worker.work(messages);
    await until("the step", () => stub.names(runId).length === 1);
    await worker.faults([{ ...place, action: "kill" }]);
    expect(await working).toEqual({ kind: "ended", how: "SIGKILL" });
    expect(stub.names(runId)).toEqual(["held"]);
    stub.release("held");
    await world.lapse(messages);
    await world.heal([runId], survivor);
    await world.audit({ [runId]: "DONE" });
    expect(stub.names(runId)).toEqual(["held", "held", "after"]);
  });

  test("with fail: FAILING within a lease and a pass, FAILED with its supervisor's word and the margin", async () => {
    const worker = await victim([{ point: "worker.after-step", detail: "pay", action: "kill" }]);
    const { runId } = await world.submit("three-or-fail");
    expect(await world.step(worker)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.advance(LEASE_SECONDS);
    expect(await world.reconcile()).toMatchObject({ reanimation: { repaired: 1 } });
    expect(await world.view(runId)).toMatchObject({ status: "FAILING", error: { code: "ghoul_lost" } });

    // No word, and its time is not over: nothing of it is asked or ended.
    await world.reconcile();
    expect(await world.statusOf(runId)).toBe("FAILING");
    const key = stub.calls(runId, "pay")[0]?.key ?? "";
    expect(stub.probes(key)).toBe(0);

    await ledger.deliveries.recordWorkerEnd({
      worker: worker.name,
      how: await worker.ended,
      actsMarginSeconds: MARGIN_SECONDS,
    });
    await world.reconcile();
    expect(await world.statusOf(runId)).toBe("FAILING");
    await world.advance(MARGIN_SECONDS + 0.1);
    await world.reconcile();
    // Its effect is asked about by a worker; then it is FAILED, and the effect is known.
    expect((await world.step(survivor))?.kind).toBe("answered");
    await world.audit({ [runId]: "FAILED" });
    expect(stub.probes(key)).toBe(1);
    expect(stub.names(runId)).toEqual(["one", "pay"]);
  });

  test("again and again ends at maxLosses, and the same key was used each time", async () => {
    const { runId } = await world.submit("three");
    for (let loss = 1; loss <= 3; loss += 1) {
      const worker = await victim([{ point: "worker.after-step", detail: "one", action: "kill" }]);
      expect(await world.step(worker)).toEqual({ kind: "ended", how: "SIGKILL" });
      await world.advance(LEASE_SECONDS);
      await world.reconcile();
    }
    expect(await world.view(runId)).toMatchObject({ status: "FAILING", error: { code: "ghoul_lost" } });
    expect(stub.names(runId)).toEqual(["one", "one", "one"]);
    await world.heal([runId], survivor);
    await world.audit({ [runId]: "FAILED" });
  });
});

describe("kill -9 of a reconciler", () => {
  /** A run to resume, one to end, one whose message was lost and one that nobody released: work for every pass. */
  async function work(): Promise<Record<string, "DONE" | "FAILED">> {
    const worker = await victim([{ point: "worker.after-step", detail: "pay", action: "kill" }]);
    const resumes = await world.submit("three");
    const fails = await world.submit("three-or-fail");
    expect((await world.step(worker))?.kind).toBe("ended");
    const lost = await world.submit("three");
    for (const { receiptHandle } of await world.receive()) await world.queue.delete("runs", receiptHandle);
    const held = await world.submit("three", null, { held: true, holdFor: "1m" });
    // Both are judged, and their time is over; the fate of the message shows after a minute.
    await world.advance(OVER_SECONDS);
    return {
      [resumes.runId]: "DONE",
      [fails.runId]: "FAILED",
      [lost.runId]: "DONE",
      [held.runId]: "FAILED",
    };
  }

  test("at each of its points: the next pass finishes, and nothing happens twice", async () => {
    const runs = await work();
    const tracer = await victim();
    await tracer.reconcile();
    await world.advance(10);
    await tracer.reconcile();
    const way = killsOn((await tracer.inspect()).passings);
    await world.heal(Object.keys(runs), survivor);
    await world.audit(runs);
    tracer.signal("SIGKILL");
    const points = new Set(way.map(([, { point }]) => point));
    for (const point of [
      "relay.after-select",
      "relay.after-publish",
      "reanimation.after-select",
      "reanimation.after-judgement",
      "containment.after-select",
      "containment.after-look",
      "holds.after-select",
      "holds.after-expiry",
      "ledger.before-commit",
      "ledger.after-commit",
    ] as const) {
      expect(points, point).toContain(point);
    }
    const first = way.filter(
      ([, { point, nth }]) => nth === 1 && /commit|relay|reanimation|containment|holds/.test(point),
    );
    for (const [, fault] of first) {
      const trial = await work();
      const reconciler = await victim([fault]);
      await reconciler.reconcile();
      await world.advance(10);
      await reconciler.reconcile();
      expect(await until("its end", () => !reconciler.alive())).toBe(true);
      expect(await reconciler.ended).toBe("SIGKILL");
      await world.heal(Object.keys(trial), survivor);
      await world.audit(trial);
    }
  });
});
