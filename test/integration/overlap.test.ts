import { beforeEach, describe, expect, test } from "vitest";
import type { WorkflowContext } from "ghouls";
import { buildOf } from "../support/builds.ts";
import { makeRun, statusesOf } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

/** A deploy updates functions one after the other: a run may meet a build that does not have its workflow. */

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve("end");
let failing: string | undefined;
const world = await testWorld({
  workflows: [],
  faults: (point, detail) => {
    if (point === "ledger.before-statement" && detail === failing) throw new Error("by a test");
  },
});
const { db, ledger } = world;
const WORD = { actor: "user:ada", reason: "by a test" };

beforeEach(async () => {
  body = (ctx) => ctx.step("one", () => "end");
  failing = undefined;
  world.logged.length = 0;
  await world.reset();
  await db.admin("truncate ghouls.workflows");
});

/** One build of the project: digests by their versions. */
function build(name: string, digests: Readonly<Record<number, string>>) {
  const jobs = Object.entries(digests).map(([version, digest]) => ({
    digest,
    version: Number(version),
    run: (ctx: WorkflowContext) => body(ctx),
  }));
  const { deliver, ...parts } = buildOf(world, name, jobs);
  return {
    ...parts,
    deliver: async (...delivery: Parameters<typeof deliver>) => (await deliver(...delivery))[0],
  };
}

/** Version 1 as it was, beside which the next build has a new version, changes the old one, or drops it. */
const before = () => build("monday", { 1: "one" });
const after = () => build("tuesday", { 1: "one", 2: "two" });
const dropping = () => build("tuesday", { 2: "two" });
const changing = () => build("tuesday", { 1: "one, changed" });

interface RunRow {
  readonly status: string;
  readonly seq: number;
  readonly losses: number;
  readonly idle_yields: number;
  /** Seconds since the first give-back in a row. */
  readonly absent: number | null;
}

async function rowOf(runId: string): Promise<RunRow | undefined> {
  const [row] = await db.admin<RunRow & Record<string, unknown>>(
    `select status, enqueue_seq as seq, losses, idle_yields,
       extract(epoch from ghouls.clock() - workflow_absent_since)::double precision as absent
     from ghouls.runs where run_id = $1`,
    [runId],
  );
  return row;
}

/** A number of seconds, and what the test itself has taken since. */
const about = (seconds: number) =>
  expect.toSatisfy((found: number | null) => found !== null && found >= seconds && found < seconds + 20);

/** Time passes, and the relay publishes what has become due. */
async function later(seconds: number): Promise<number> {
  await world.advance(seconds);
  return (await world.reconcile()).relay.repaired;
}

const broken = async () => (await ledger.doctor()).filter((check) => !check.ok);

describe("a run that the new build admitted, at a worker of the old one,", () => {
  test.each([
    ["has a version that the old one lacks", after],
    ["has other code under the same version", changing],
  ])("%s: it goes back without a loss, is due in 30 s, and the new one ends it", async (_, next) => {
    const [old, now] = [before(), next()];
    const runId = await now.submit();
    expect(await old.work()).toMatchObject([{ done: true, reason: "handed_over" }]);
    expect(await rowOf(runId)).toMatchObject({
      status: "QUEUED",
      seq: 2,
      losses: 0,
      idle_yields: 0,
      absent: about(0),
    });
    expect(world.logged).toContainEqual(
      expect.objectContaining({
        level: "warn",
        message: expect.stringContaining("lacks the run's workflow"),
        fields: expect.objectContaining({ build: "tuesday", waitedSeconds: 0 }),
      }),
    );
    // Open for the reconciler's hint, and not due for its relay.
    const nextLook = (await ledger.nextLook()) ?? Infinity;
    expect(nextLook).toBeGreaterThan(25);
    // The worker knows the ledger's time from its claim, but for what that took on its way.
    expect(nextLook).toBeLessThan(33);
    expect(await later(20)).toBe(0);
    expect(await now.deliver(runId, 2)).toMatchObject({ done: false, reason: "early" });

    expect(await later(15)).toBe(1);
    expect(await now.work()).toMatchObject([{ reason: "DONE" }]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "end", enqueueSeq: 2 });
    expect(await rowOf(runId)).toMatchObject({ losses: 0, absent: null });
    expect(await broken()).toEqual([]);
  });

  test("among workers of both builds ends DONE, whoever takes its message how often", async () => {
    const [old, now] = [before(), after()];
    const runs = [await now.submit(), await old.submit(), await now.submit(), await old.submit()];
    for (let round = 0; round < 8; round += 1) {
      const [one, other] = round % 2 === 0 ? [old, now] : [now, old];
      await Promise.all([one.work(), other.work()]);
      await later(35);
    }
    await now.work();
    for (const runId of runs) expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(await broken()).toEqual([]);
  });
});

describe("a run that the old build admitted, at a worker of the new one,", () => {
  test("which still has its version, is carried at once", async () => {
    const runId = await before().submit();
    expect(await after().work()).toMatchObject([{ reason: "DONE" }]);
    expect((await rowOf(runId))?.seq).toBe(1);
  });

  test.each([
    ["dropped", dropping, "has none of that name and version"],
    ["changed", changing, "this worker has one, changed"],
  ])("which %s its version, goes back until the overlap ends, then fails by name", async (_, next, words) => {
    const now = next();
    const runId = await before().submit();
    await now.announce();
    for (let seconds = 0; seconds < 3_600; seconds += 300) {
      expect(await now.work()).toMatchObject([{ reason: "handed_over" }]);
      expect(await later(seconds === 3_300 ? 270 : 300)).toBe(1);
    }
    // Half a minute before the end of the hour.
    expect(await now.work()).toMatchObject([{ reason: "handed_over" }]);
    expect(await rowOf(runId)).toMatchObject({ status: "QUEUED", losses: 0, idle_yields: 0 });
    await later(35);
    expect(await now.work()).toMatchObject([{ reason: "FAILED" }]);
    const { error } = await world.view(runId);
    expect(error).toMatchObject({ code: "workflow_changed", message: expect.stringContaining(words) });
    expect(error?.message).toContain('build "monday" is known to have it, and it was given back for 36');
    expect(await broken()).toEqual([]);
  });

  test("is carried by a worker of the old one that is still up, from its journal", async () => {
    const [old, now] = [before(), dropping()];
    const drain = new AbortController();
    let calls = 0;
    body = async (ctx) => {
      await ctx.step("one", () => {
        calls += 1;
        drain.abort();
      });
      return ctx.step("two", () => "end");
    };
    const runId = await old.submit();
    await old.deliver(runId, 1, { draining: drain.signal });
    await now.announce();
    expect(await now.deliver(runId, 2)).toMatchObject({ reason: "handed_over" });
    await world.advance(35);
    expect(await old.deliver(runId, 3)).toMatchObject({ reason: "DONE" });
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "end", steps: 2 });
    expect(calls).toBe(1);
  });
});

describe("the overlap", () => {
  test("is counted from the first give-back in a row, and anew once a hop has started", async () => {
    const [old, now] = [before(), after()];
    const drain = new AbortController();
    body = async (ctx) => {
      await ctx.step("one", () => drain.abort());
      return ctx.step("two", () => "end");
    };
    const runId = await now.submit();
    await old.deliver(runId, 1);
    await world.advance(1_800);
    await old.deliver(runId, 2);
    expect((await rowOf(runId))?.absent).toEqual(about(1_800));
    await world.advance(1_500);
    // The new build starts a hop, and hands over.
    await now.deliver(runId, 3, { draining: drain.signal });
    expect(await rowOf(runId)).toMatchObject({ status: "QUEUED", seq: 4, absent: null });
    expect(await old.deliver(runId, 4)).toMatchObject({ reason: "handed_over" });
    await world.advance(3_500);
    expect(await old.deliver(runId, 5)).toMatchObject({ reason: "handed_over" });
    expect(await rowOf(runId)).toMatchObject({ status: "QUEUED", absent: about(3_500) });
    await world.advance(200);
    expect(await old.deliver(runId, 6)).toMatchObject({ reason: "FAILED" });
  });

  test("is a setting: with none a build that lacks the workflow fails the run at once", async () => {
    const [old, now] = [before(), after()];
    const runId = await now.submit();
    await old.work({ settings: { ...world.deps.settings, deployOverlapMs: 0 } });
    expect((await world.view(runId)).error).toMatchObject({
      code: "workflow_changed",
      message: expect.stringMatching(/build "tuesday" is known to have it, and it was never given back$/),
    });
  });

  test("is none where no build is known to have the workflow", async () => {
    const made = await makeRun(db, { workflow: "job", digest: "of nobody" });
    await before().deliver(made.runId, 1);
    expect((await world.view(made.runId)).error).toMatchObject({
      code: "workflow_changed",
      message: expect.stringContaining("no build is known to have it"),
    });
  });

  test("goes on through what else gives the delivery back", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    await db.admin(
      "update ghouls.runs set workflow_absent_since = ghouls.clock() - interval '100 seconds' where run_id = $1",
      [run.runId],
    );
    expect(await ledger.deliveries.giveBackIfClaimed(run, new Date())).not.toBeNull();
    expect(await rowOf(run.runId)).toMatchObject({ status: "QUEUED", absent: about(100) });
  });
});

describe("a run that was given back", () => {
  async function givenBack(): Promise<string> {
    const runId = await after().submit();
    await before().work();
    return runId;
  }

  test("is CANCELLED at once, and what the relay would have published is fenced", async () => {
    const runId = await givenBack();
    const answer = await ledger.runs.cancel({ tenantId: "acme", runId }, WORD, 60);
    expect(answer).toEqual({ cancelled: true, status: "CANCELLED" });
    expect(await later(35)).toBe(0);
    expect(await after().deliver(runId, 2)).toMatchObject({ done: true, reason: "terminal" });
    expect(await broken()).toEqual([]);
  });

  test("by a worker that is lost right after its commit is published when due, and carried", async () => {
    const now = after();
    const runId = await now.submit();
    const reached = Promise.withResolvers<void>();
    // Its promise never settles, as of a process that was killed.
    void before().deliver(runId, 1, {
      faults: (point) => {
        if (point !== "worker.after-handover") return;
        reached.resolve();
        return new Promise(() => undefined);
      },
    });
    await reached.promise;
    expect(await later(35)).toBe(1);
    // The first message comes as well, and is of no use any more.
    const outcomes = await now.work();
    expect(outcomes).toHaveLength(2);
    expect(outcomes).toContainEqual(expect.objectContaining({ done: true, reason: "DONE" }));
    expect(await rowOf(runId)).toMatchObject({ status: "DONE", losses: 0 });
    expect(await broken()).toEqual([]);
  });
});

describe("the ledger cannot be reached when a worker", () => {
  test("asks for a build that has the workflow: the run is not failed, and its claim stays", async () => {
    const runId = await after().submit();
    failing = "workflows.build-of";
    expect(await before().deliver(runId, 1)).toMatchObject({ done: false, reason: "unknown_outcome" });
    expect(await rowOf(runId)).toMatchObject({ status: "RUNNING", absent: null });
  });

  test("says that a hop starts: nothing of the workflow runs, and its claim stays", async () => {
    const now = after();
    const runId = await now.submit();
    await before().deliver(runId, 1);
    await world.advance(35);
    let ran = false;
    body = () => {
      ran = true;
      return Promise.resolve();
    };
    failing = "runs.clear-absence";
    expect(await now.deliver(runId, 2)).toMatchObject({ done: false, reason: "unknown_outcome" });
    expect(ran).toBe(false);
    expect((await rowOf(runId))?.status).toBe("RUNNING");
  });

  test("whose claim was taken away says that a hop starts: it is fenced, and nothing runs", async () => {
    const now = after();
    const runId = await now.submit();
    await before().deliver(runId, 1);
    await world.advance(35);
    let ran = false;
    body = () => {
      ran = true;
      return Promise.resolve();
    };
    await now.deliver(runId, 2, {
      faults: async (point) => {
        if (point === "worker.after-claim") await ledger.runs.cancel({ tenantId: "acme", runId }, WORD, 60);
      },
    });
    expect(ran).toBe(false);
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED" });
  });
});

test("a contain delivery at a build without the workflow is refused with attention, and the status stays", async () => {
  const run = await makeRun(db, { status: "RUNNING", workflow: "job", digest: "one" });
  await before().announce();
  await db.admin(
    `insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
     values ($1, $2, 0, '', 'step', 'pay', 1, 1, 1, $3, ghouls.clock())`,
    [run.tenantId, run.runId, run.token],
  );
  await db.admin("update ghouls.deliveries set acts_until = ghouls.clock() where run_id = $1", [run.runId]);
  await ledger.runs.cancel(run, WORD, 60);
  await later(1_000);
  expect(await dropping().work()).toMatchObject([{ done: true, reason: "contain_refused" }]);
  expect(await world.view(run.runId)).toMatchObject({
    status: "CANCELLING",
    attention: { reason: expect.stringContaining("containment refused") },
  });
  expect(await statusesOf(db, { ...run, seq: 2 })).toMatchObject({ delivery: "SETTLED" });
  expect((await rowOf(run.runId))?.absent).toBeNull();
  expect(world.logged.map((line) => line.message)).toContain(
    "a contain delivery has come to a worker without the run's code",
  );
});
