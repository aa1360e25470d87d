import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type Codec, type WorkflowContext } from "ghouls";
import { makeRun, type MadeRun } from "../support/factories.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let trace: string[] = [];
let encode: Codec["encode"] = (text) => Promise.resolve(text);
const world = await testWorld({
  workflows: [
    workflow({
      name: "fails",
      version: 1,
      onWorkerLoss: "fail",
      input: z.unknown(),
      run: (ctx) => body(ctx),
    }),
    workflow({
      name: "resumes",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: (ctx) => body(ctx),
    }),
  ],
  codec: { encode: (text, context) => encode(text, context), decode: (text) => Promise.resolve(text) },
});
const { db, ledger } = world;
const WORD = { actor: "user:ada", reason: "by a test" };
beforeEach(async () => {
  trace = [];
  encode = (text) => Promise.resolve(text);
  await world.reset();
});

const intend = (run: MadeRun) =>
  db.admin(
    `insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
     values ($1, $2, 0, '', 'step', 'pay', 1, 1, $3, $4, ghouls.clock())`,
    [run.tenantId, run.runId, run.seq, run.token],
  );
const lapse = (run: MadeRun, actsFor: string) =>
  db.admin(
    `update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second', acts_until = ghouls.clock() + $2::interval
     where run_id = $1`,
    [run.runId, actsFor],
  );
const paying =
  (probe: () => { outcome: "happened"; result: string } | { outcome: "unknown" }) => (ctx: WorkflowContext) =>
    ctx.step("pay", () => "paid", {
      effect: "once",
      probe: () => {
        trace.push("asked");
        return probe();
      },
    });

describe("an ending", () => {
  test("that its contain worker could not commit is found by the next look", async () => {
    const run = await makeRun(db, { status: "FAILING" });
    expect((await ledger.items.due({ limit: 10 })).found).toMatchObject([
      { tenantId: "acme", runId: run.runId },
    ]);
    await world.reconcile();
    expect((await world.view(run.runId)).status).toBe("FAILED");
  });

  test.each(["QUEUED", "RUNNING"] as const)(
    "of a quarantined run that was %s when it was cancelled comes to its end",
    async (status) => {
      const run = await makeRun(db, { status, quarantined: true, workflow: "fails", digest: "fails@1" });
      if (status === "RUNNING") await intend(run);
      body = paying(() => ({ outcome: "happened", result: "x" }));
      await ledger.runs.cancel(run, WORD, 1);
      await world.advance(1_000);
      await db.admin("update ghouls.containment_items set over_at = ghouls.clock() where kind = 'worker'");
      await world.reconcile();
      await world.drain();
      expect((await world.view(run.runId)).status).toBe("CANCELLED");
      expect((await ledger.doctor()).filter((check) => !check.ok).map((check) => check.check)).toEqual([
        "no run is quarantined",
      ]);
    },
  );

  test("asks for no person while a worker's time is not over, and while a contain delivery is open", async () => {
    const run = await makeRun(db, { status: "RUNNING", workflow: "fails", digest: "fails@1" });
    await intend(run);
    await lapse(run, "1 hour");
    await world.reconcile();
    await world.reconcile();
    expect(await world.view(run.runId)).toMatchObject({ status: "FAILING", attention: null });
  });
});

describe("a contain delivery", () => {
  async function ending(probe: Parameters<typeof paying>[0], act = paying(probe)): Promise<MadeRun> {
    body = act;
    const run = await makeRun(db, { status: "RUNNING", workflow: "fails", digest: "fails@1" });
    await intend(run);
    await lapse(run, "-1 second");
    await world.reconcile();
    return run;
  }

  test("waits for code that asks for its effect a little late", async () => {
    const run = await ending(
      () => ({ outcome: "happened", result: "x" }),
      async (ctx) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return paying(() => ({ outcome: "happened", result: "x" }))(ctx);
      },
    );
    await world.drain();
    expect(trace).toEqual(["asked"]);
    expect((await world.view(run.runId)).status).toBe("FAILED");
  });

  test("that meets an altered input is refused with attention, and the status stays", async () => {
    const run = await ending(() => ({ outcome: "unknown" }));
    await db.admin("update ghouls.runs set input_text = '7' where run_id = $1", [run.runId]);
    const outcomes = await world.drain();
    expect(outcomes).toMatchObject([{ done: true, reason: "contain_refused" }]);
    expect(await world.view(run.runId)).toMatchObject({ status: "FAILING", quarantine: null });
    expect((await world.view(run.runId)).attention?.reason).toContain("refused");
    expect(trace).toEqual([]);
  });

  test("whose claim is gone acknowledges nothing, whatever its probe says", async () => {
    const gate = Promise.withResolvers<void>();
    const run = await ending(
      () => ({ outcome: "unknown" }),
      (ctx) =>
        ctx.step("pay", () => "paid", {
          effect: "once",
          probe: async () => {
            trace.push("asked");
            await gate.promise;
            return { outcome: "happened", result: "late" };
          },
        }),
    );
    const working = world.drain();
    await expect.poll(() => trace).toEqual(["asked"]);
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1 and seq = 2",
      [run.runId],
    );
    await world.reconcile();
    gate.resolve();
    await working;
    const effect = (await ledger.items.ofRun(run)).find((item) => item.kind === "effect");
    expect(effect?.acknowledgedAt).toBeNull();
  });
});

test("a failure of a hop that has parked, and whose run has moved on, contains nothing of the next hop", async () => {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  body = async (ctx) => {
    await ctx.waitForSignal("go");
    return ctx.step("next", () => {
      entered.resolve();
      return gate.promise;
    });
  };
  const { runId } = await world.submit("resumes");
  const [claim] = (await db.admin<MadeRun>(
    `select tenant_id as "tenantId", run_id as "runId", seq from ghouls.deliveries where run_id = $1`,
    [runId],
  )) as [MadeRun];
  await world.drain();
  const [first] = await db.admin<{ token: string }>(
    "select token from ghouls.deliveries where run_id = $1 and seq = 1",
    [runId],
  );
  await world.signals.send(SOMEBODY, runId, { name: "go", payloadText: undefined });
  const working = world.drain();
  await entered.promise;
  const rows = () =>
    Promise.all(
      ["runs", "deliveries", "containment_items", "undos", "intents"].map((table) =>
        db.admin(`select * from ghouls.${table} where run_id = $1`, [runId]),
      ),
    );
  const before = await rows();
  // The answer of its park was cut off, and it believes that it has failed.
  const old = { ...claim, token: first?.token ?? "" };
  const failed = {
    status: "FAILED",
    errorCode: "workflow_failed",
    errorText: "{}",
    errorDigest: "d",
  } as const;
  expect(await ledger.deliveries.settleIfClaimed(old, failed)).toMatchObject({ settled: false });
  await ledger.items.acknowledgeWorker(old);
  expect(await rows()).toEqual(before);
  gate.resolve();
  await working;
  expect(await world.view(runId)).toMatchObject({ status: "DONE" });
});

test("one tenant's failing codec keeps nobody else's lost worker waiting", async () => {
  const [bad, good] = [
    await makeRun(db, { status: "RUNNING", tenantId: "bad", workflow: "fails" }),
    await makeRun(db, { status: "RUNNING", workflow: "fails" }),
  ];
  for (const run of [bad, good]) await lapse(run, "1 hour");
  encode = (text, { tenantId }) =>
    tenantId === "bad" ? Promise.reject(new Error("its key is gone")) : Promise.resolve(text);
  expect((await world.reconcile()).reanimation).toMatchObject({ found: 2, repaired: 1, failed: 1 });
  expect((await world.view(good.runId)).status).toBe("FAILING");
  encode = (text) => Promise.resolve(text);
  // It stands aside until its own turn.
  await world.advance(31);
  expect((await world.reconcile()).reanimation).toMatchObject({ found: 1, repaired: 1 });
});

test("a drain that comes while a claim is on its way is heard", async () => {
  body = async (ctx) => {
    for (const n of [1, 2, 3]) await ctx.step(`step ${n}`, () => trace.push(`step ${n}`));
    return null;
  };
  const { runId } = await world.submit("resumes");
  const drain = new AbortController();
  await world.deliver([`run:${runId}:1`], {
    draining: drain.signal,
    faults: (point) => {
      if (point === "worker.after-claim") drain.abort();
    },
  });
  expect(trace).toEqual([]);
  expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
});

test("a delivery that waits for an earlier worker is due in the commit that acknowledges it", async () => {
  body = paying(() => ({ outcome: "happened", result: "paid before" }));
  const run = await makeRun(db, { status: "RUNNING", workflow: "resumes", digest: "resumes@1" });
  await db.admin("update ghouls.runs set on_worker_loss = 'resume' where run_id = $1", [run.runId]);
  await intend(run);
  await lapse(run, "1 hour");
  await world.reconcile();
  await world.drain();
  expect(await world.view(run.runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 3 });
  await ledger.items.acknowledge(run, {
    kind: "worker",
    key: "1",
    by: "operator",
    words: "the machine is gone",
  });
  await world.reconcile();
  await world.drain();
  expect(await world.view(run.runId)).toMatchObject({ status: "DONE", output: "paid before" });
});

test("a worker that fenced itself before anybody judged it leaves an item that is over at once", async () => {
  const run = await makeRun(db, { status: "RUNNING", workflow: "fails" });
  await lapse(run, "1 hour");
  expect(await ledger.items.acknowledgeWorker(run)).toBeNull();
  await world.reconcile();
  expect((await world.view(run.runId)).status).toBe("FAILED");
});
