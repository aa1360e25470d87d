import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { LedgerError } from "@ghouls/ledger";
import { notDone, workflow, type StepOptions, type WorkflowContext } from "ghouls";
import { makeRun } from "../support/factories.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let trace: string[] = [];
beforeEach(async () => {
  trace = [];
  await world.reset();
});

const make = (name: string, onWorkerLoss: "resume" | "fail") =>
  workflow({ name, version: 1, onWorkerLoss, input: z.unknown(), run: (ctx) => body(ctx) });
const world = await testWorld({ workflows: [make("resumes", "resume"), make("fails", "fail")] });
const { db, ledger } = world;

/** A worker that stops for good at a point of its hop: its promise never settles, as of a process that was killed. */
function stopAt(point: string, detail?: string) {
  const reached = Promise.withResolvers<void>();
  const faults = (at: string, what: string): void | Promise<void> => {
    if (at !== point || (detail !== undefined && what !== detail)) return;
    reached.resolve();
    return new Promise(() => undefined);
  };
  return { faults, reached: reached.promise };
}

/** Claims a delivery with a worker that is lost at this point, and lets its lease lapse. */
async function lose(runId: string, seq: number, point: string, detail?: string): Promise<void> {
  const { faults, reached } = stopAt(point, detail);
  void world.deliver([`run:${runId}:${seq}`], { faults, worker: `lost-${seq}` });
  await reached;
  await db.admin(
    "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1 and seq = $2",
    [runId, seq],
  );
}

const step = (ctx: WorkflowContext, name: string, options?: StepOptions<string>) =>
  ctx.step(
    name,
    ({ idempotencyKey }) => {
      trace.push(`${name} ${idempotencyKey.slice(0, 8)}`);
      return name;
    },
    options,
  );

const threeSteps = async (ctx: WorkflowContext) => {
  for (const name of ["one", "two", "three"]) await step(ctx, name);
  return "end";
};

describe("a lost worker", () => {
  test("with resume goes on at its step with the same key; earlier ones are not repeated", async () => {
    body = threeSteps;
    const { runId } = await world.submit("resumes");
    await lose(runId, 1, "worker.after-step", "two");
    expect(await world.reconcile()).toMatchObject({ reanimation: { found: 1, repaired: 1 } });
    await world.drain();
    const names = trace.map((line) => line.split(" ")[0]);
    expect(names).toEqual(["one", "two", "two", "three"]);
    expect(trace[1]).toBe(trace[2]);
    expect(await world.view(runId)).toMatchObject({
      status: "COMPLETING",
      output: "end",
      steps: 3,
      enqueueSeq: 2,
    });

    // Its lost worker may still act until its time is over: DONE is not said before.
    expect(await world.reconcile()).toMatchObject({ containment: { repaired: 0 } });
    await world.advance(1_000);
    expect(await world.reconcile()).toMatchObject({ containment: { found: 1, repaired: 1 } });
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "end" });
  });

  test("with fail is FAILING in one pass, and FAILED once its process is known to be gone", async () => {
    body = threeSteps;
    const { runId } = await world.submit("fails");
    await lose(runId, 1, "worker.after-journal", "one");
    expect(await world.reconcile()).toMatchObject({ reanimation: { repaired: 1 } });
    expect(await world.view(runId)).toMatchObject({ status: "FAILING", error: { code: "ghoul_lost" } });
    expect(await world.reconcile()).toMatchObject({ containment: { repaired: 0 } });

    await ledger.deliveries.recordWorkerEnd({
      worker: "lost-1",
      how: "signal SIGKILL",
      actsMarginSeconds: 30,
    });
    await world.advance(29);
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("FAILING");
    await world.advance(2);
    await world.reconcile();
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "ghoul_lost" } });
    expect(await ledger.items.ofRun({ tenantId: "acme", runId })).toMatchObject([
      { kind: "worker", acknowledgedBy: "time" },
    ]);
  });

  test("whose end a supervisor has seen is judged without waiting for its lease", async () => {
    body = threeSteps;
    const { runId } = await world.submit("resumes");
    const { faults, reached } = stopAt("worker.after-claim");
    void world.deliver([`run:${runId}:1`], { faults, worker: "seen" });
    await reached;
    expect((await world.reconcile()).reanimation.found).toBe(0);
    expect(await ledger.deliveries.recordWorkerEnd({ worker: "seen", how: "exit 1" })).toBe(1);
    await world.advance(1);
    expect((await world.reconcile()).reanimation).toMatchObject({ found: 1, repaired: 1 });
  });

  test("is news also by its message that reappears: it is judged at once, and the message may go", async () => {
    body = threeSteps;
    const { runId } = await world.submit("resumes");
    await lose(runId, 1, "worker.after-claim");
    expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ done: true, reason: "settled" }]);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
    await world.drain();
    expect((await world.view(runId)).output).toBe("end");
  });

  test("again and again ends at maxLosses; a new journal entry begins the count anew", async () => {
    body = threeSteps;
    const { runId } = await world.submit("resumes");
    await lose(runId, 1, "worker.after-step", "one");
    await world.reconcile();
    await lose(runId, 2, "worker.after-step", "two");
    await world.reconcile();
    await lose(runId, 3, "worker.after-step", "two");
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("QUEUED");
    await lose(runId, 4, "worker.after-step", "two");
    await world.reconcile();
    expect(await world.view(runId)).toMatchObject({ status: "FAILING", error: { code: "ghoul_lost" } });
    expect((await world.view(runId)).error?.message).toContain("used up its losses (3)");
  });

  test("that comes back while another carries the run on writes nothing; its result is rejected evidence", async () => {
    let release: () => void = () => undefined;
    let first = true;
    body = async (ctx) => {
      await ctx.step("slow", () => {
        if (!first) return "second";
        first = false;
        return new Promise((resolve) => {
          release = () => resolve("first");
        });
      });
      return "end";
    };
    const { runId } = await world.submit("resumes");
    const zombie = world.deliver([`run:${runId}:1`], { worker: "zombie" });
    await expect.poll(() => first).toBe(false);
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1",
      [runId],
    );
    await world.reconcile();
    await world.drain();
    expect((await world.view(runId)).steps).toBe(1);
    release();
    expect(await zombie).toMatchObject([{ done: true }]);

    expect((await world.view(runId)).steps).toBe(1);
    const evidence = await db.admin(
      "select class, seq, outcome, body_text from ghouls.evidence where run_id = $1 and class = 'rejected'",
      [runId],
    );
    expect(evidence).toEqual([{ class: "rejected", seq: 1, outcome: "ok", body_text: '"first"' }]);
    // It has said itself that nothing of it acts any more, so that DONE need not wait for its time.
    expect(await ledger.items.ofRun({ tenantId: "acme", runId })).toMatchObject([
      { acknowledgedBy: "worker" },
    ]);
    expect((await world.view(runId)).status).toBe("DONE");
  });

  test("judged by three reconcilers at once is judged once", async () => {
    body = threeSteps;
    const { runId } = await world.submit("resumes");
    await lose(runId, 1, "worker.after-claim");
    const reports = await Promise.all([world.reconcile(), world.reconcile(), world.reconcile()]);
    expect(reports.reduce((sum, report) => sum + report.reanimation.repaired, 0)).toBe(1);
    const [row] = await db.admin("select count(*)::integer as n from ghouls.deliveries where run_id = $1", [
      runId,
    ]);
    expect(row).toEqual({ n: 2 });
  });
});

describe("an effect that happens once", () => {
  /** A service that counts: what it was asked under each key. */
  const service = { calls: 0, keys: new Set<string>() };
  beforeEach(() => {
    service.calls = 0;
    service.keys.clear();
  });
  const pay =
    (options: StepOptions<string> = {}, act: (calls: number) => string = () => "paid") =>
    async (ctx: WorkflowContext) =>
      ctx.step(
        "pay",
        ({ idempotencyKey }) => {
          service.calls += 1;
          service.keys.add(idempotencyKey);
          return act(service.calls);
        },
        { effect: "once", ...options },
      );
  const probeOf =
    (answer: () => "happened" | "cannot_happen" | "unknown" | Error) =>
    (): { outcome: "happened"; result: string } | { outcome: "cannot_happen" | "unknown" } => {
      trace.push("asked");
      const said = answer();
      if (said instanceof Error) throw said;
      return said === "happened" ? { outcome: said, result: "paid before" } : { outcome: said };
    };

  test("is journaled as any step where nothing goes wrong, and its intent is closed", async () => {
    body = pay();
    const { runId } = await world.submit("resumes");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "paid" });
    expect(await db.admin("select outcome from ghouls.intents where run_id = $1", [runId])).toEqual([
      { outcome: "happened" },
    ]);
  });

  test("notDone alone is tried again, and used-up tries are a failure that the code may catch", async () => {
    body = pay({ tries: 3 }, (calls) => {
      if (calls < 3) throw notDone(new Error("refused at the door"));
      return "paid";
    });
    const { runId } = await world.submit("resumes");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "paid" });
    expect([service.calls, service.keys.size]).toEqual([3, 1]);

    body = pay({ tries: 2 }, () => {
      throw notDone(new Error("refused at the door"));
    });
    const second = await world.submit("resumes");
    await world.drain();
    expect(await world.view(second.runId)).toMatchObject({
      status: "FAILED",
      error: { code: "step_failed" },
    });
  });

  test.each([
    ["happened", "paid before", 1],
    ["cannot_happen", "paid", 2],
  ] as const)(
    "lost after its call, its probe says %s: the output is %j after %i calls",
    async (answer, output, calls) => {
      body = pay({ tries: 2, probe: probeOf(() => answer) });
      const { runId } = await world.submit("resumes");
      await lose(runId, 1, "worker.after-step", "pay");
      expect(service.calls).toBe(1);
      await world.reconcile();
      // The claim that made the call may still act: the next hop waits for its end before it asks.
      await world.drain();
      expect(trace).toEqual([]);
      expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 3 });
      await world.advance(1_000);
      await world.reconcile();
      await world.drain();
      expect(trace).toEqual(["asked"]);
      expect([service.calls, service.keys.size]).toEqual([calls, 1]);
      expect(await world.view(runId)).toMatchObject({ status: "DONE", output });
    },
  );

  test.each(["unknown", new Error("the probe's service is down")] as const)(
    "its probe says %s: FAILING with attention, never called again, until an operator's word",
    async (answer) => {
      body = pay({ tries: 5, probe: probeOf(() => answer) });
      const { runId } = await world.submit("resumes");
      await lose(runId, 1, "worker.after-intent", "pay");
      await world.reconcile();
      await world.drain();
      await world.advance(1_000);
      await world.reconcile();
      await world.drain();
      expect(service.calls).toBe(0);
      const view = await world.view(runId);
      expect(view).toMatchObject({ status: "FAILING", error: { code: "effect_unknown", step: "pay" } });
      expect(view.attention?.reason).toContain("effect_unknown");

      // The ending asks again, a bounded number of times, with growing delay.
      for (let round = 0; round < 6; round += 1) {
        await world.advance(1_000);
        await world.reconcile();
        await world.drain();
      }
      expect(trace.length).toBe(4);
      expect(await world.view(runId)).toMatchObject({ status: "FAILING" });

      const [item] = (await ledger.items.ofRun({ tenantId: "acme", runId })).filter(
        (one) => one.kind === "effect",
      );
      const resolved = await ledger.items.acknowledge(
        { tenantId: "acme", runId },
        {
          kind: "effect",
          key: item?.key ?? "",
          by: "operator",
          words: "the bank says that nothing was paid",
        },
        { actor: SOMEBODY.subject, reason: "the bank says that nothing was paid" },
      );
      expect(resolved).toEqual({ openItems: 0, ended: "FAILED" });
      expect(await db.admin("select actor, act from ghouls.audit where run_id = $1", [runId])).toEqual([
        { actor: "user:ada", act: "resolve" },
      ]);
      expect(service.calls).toBe(0);
    },
  );

  test("without a probe a throw is unknown: FAILING, and no catch of the code hides it", async () => {
    body = async (ctx) => {
      try {
        return await pay({}, () => {
          throw new Error("timed out at the bank");
        })(ctx);
      } catch {
        return "hidden";
      }
    };
    const { runId } = await world.submit("resumes");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "FAILING", error: { code: "effect_unknown" } });
    expect(service.calls).toBe(1);
  });

  test("with a probe a throw is asked about once its own claim is over", async () => {
    body = pay({ probe: probeOf(() => "happened") }, () => {
      throw new Error("the answer was lost");
    });
    const { runId } = await world.submit("resumes");
    await world.drain();
    expect([service.calls, trace]).toEqual([1, []]);
    await world.advance(2);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "paid before" });
    expect([service.calls, trace]).toEqual([1, ["asked"]]);
  });

  test("goes back to be asked about though the ledger is out of reach when its hop ends", async () => {
    body = pay({ probe: probeOf(() => "happened") }, () => {
      throw new Error("the answer was lost");
    });
    const { runId } = await world.submit("resumes");
    let tries = 0;
    await world.drain({
      deps: {
        faults: (point) => {
          if (point !== "worker.before-handover") return;
          tries += 1;
          if (tries <= 2) throw new LedgerError("unavailable", "deliveries.give-back", undefined, undefined);
        },
      },
    });
    expect(tries).toBe(3);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
  });

  test("lost with fail: the ending asks its probe, and FAILED comes with the answer", async () => {
    body = pay({ probe: probeOf(() => "happened") });
    const { runId } = await world.submit("fails");
    await lose(runId, 1, "worker.after-step", "pay");
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("FAILING");
    await world.advance(1_000);
    await world.reconcile();
    await world.drain();
    expect(trace).toEqual(["asked"]);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "ghoul_lost" } });
    expect(service.calls).toBe(1);
  });
});

describe("an ending", () => {
  test("of a cancelled run waits for its worker, and its result is evidence only", async () => {
    let release: () => void = () => undefined;
    body = (ctx) => ctx.step("slow", () => new Promise((resolve) => (release = () => resolve("late"))));
    const { runId } = await world.submit("resumes");
    const working = world.deliver([`run:${runId}:1`]);
    await expect.poll(async () => (await world.view(runId)).status).toBe("RUNNING");
    expect(
      await ledger.runs.cancel({ tenantId: "acme", runId }, { actor: "user:ada", reason: "enough" }, 60),
    ).toEqual({
      cancelled: true,
      status: "CANCELLING",
    });
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("CANCELLING");
    release();
    await working;
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED", steps: 0, output: null });
    expect(
      await db.admin("select body_text from ghouls.evidence where run_id = $1 and class = 'rejected'", [
        runId,
      ]),
    ).toEqual([{ body_text: '"late"' }]);
  });

  test("of a run that was never claimed is immediate", async () => {
    const run = await makeRun(db, { workflow: "resumes" });
    expect(await ledger.runs.cancel(run, { actor: "a", reason: "b" }, 60)).toEqual({
      cancelled: true,
      status: "CANCELLED",
    });
    expect(await ledger.runs.cancel(run, { actor: "a", reason: "b" }, 60)).toEqual({
      cancelled: false,
      status: "CANCELLED",
    });
  });
});
