import { AsyncLocalStorage } from "node:async_hooks";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type ResourceContext } from "ghouls";
import { blameHop } from "@ghouls/engine";
import { makeRun } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

const events: string[] = [];
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

class Pool {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
    events.push(`built ${name}`);
  }
  query(text: string): string {
    events.push(`${text} on ${this.name}`);
    return text;
  }
  async end(): Promise<void> {
    await dispose(this.name);
    events.push(`ended ${this.name}`);
  }
}

/** What building and disposing do in a test. */
let build: (name: string, context: ResourceContext) => Promise<void> = () => Promise.resolve();
let dispose: (name: string) => Promise<void> = () => Promise.resolve();
let duringFirst: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
const pool = (name: string) => ({
  build: async (context: ResourceContext) => {
    await build(name, context);
    return new Pool(name);
  },
  dispose: (built: Pool) => built.end(),
});

const uses = workflow({
  ...base,
  name: "uses",
  grants: ["db:connect"],
  resources: { one: pool("one"), two: pool("two"), plain: { build: () => 7 } },
  run: async (ctx) => {
    const { one, two } = ctx.resources;
    await ctx.step("first", async ({ signal }) => {
      one.query("first");
      await duringFirst(signal);
    });
    await ctx.sleep("1h");
    return [await ctx.step("second", () => two.query("second")), ctx.resources.plain];
  },
});
const pays = workflow({
  ...base,
  name: "pays",
  onWorkerLoss: "fail",
  authority: { roles: ["nobody has it"] },
  resources: { bank: pool("bank") },
  run: (ctx) =>
    ctx.step("pay", () => "paid", {
      effect: "once",
      probe: () => ({ outcome: "happened", result: ctx.resources.bank.query("probe") }),
    }),
});
const looks = workflow({
  ...base,
  name: "looks",
  resources: { one: pool("one") },
  run: (ctx) => Promise.resolve(ctx.resources.one.query("look")),
});

let onFault: (point: string, detail: string) => void | Promise<void> = () => undefined;
const world = await testWorld({
  workflows: [uses, pays, looks],
  grants: {
    acquire: ({ name }) =>
      Promise.resolve({
        outcome: "granted",
        value: `token of ${name}`,
        release: () => void events.push(`released ${name}`),
      }),
  },
  faults: (point, detail) => {
    if (["worker.after-park", "worker.after-settle", "worker.after-handover"].includes(point))
      events.push(point);
    return onFault(point, detail);
  },
});
const { db } = world;
/** Nothing is waited for in earnest: for owners that hang, and never for one that asks the ledger. */
const impatient = { settings: { ...world.deps.settings, ownerDeadlineMs: 50 } };
beforeEach(async () => {
  await world.reset();
  await db.admin("update ghouls.test_clock set ahead = '0 seconds'");
  [build, dispose, onFault] = [() => Promise.resolve(), () => Promise.resolve(), () => undefined];
  duringFirst = () => Promise.resolve();
  [events.length, world.logged.length] = [0, 0];
});
const warned = () => world.logged.filter(({ level }) => level === "warn");
const BUILT = ["built one", "built two"];
const GONE = ["ended two", "ended one", "released db:connect"];

describe("the resources of a workflow", () => {
  test("are built for each hop in their order, and disposed in the reverse one once its end is committed", async () => {
    const { runId } = await world.submit("uses");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    const first = [...BUILT, "first on one", "worker.after-park", ...GONE];
    expect(events).toEqual(first);
    await world.later(3_601);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: ["second", 7] });
    expect(events).toEqual([...first, ...BUILT, "second on two", "worker.after-settle", ...GONE]);
  });

  test("may use the grants of the hop, and know whose they are", async () => {
    const contexts: ResourceContext[] = [];
    build = (_name, context) => {
      contexts.push(context);
      return Promise.resolve();
    };
    const { runId } = await world.submit("uses");
    await world.drain();
    expect(contexts).toHaveLength(2);
    expect(contexts[0]).toMatchObject({
      tenantId: "acme",
      runId,
      grants: { "db:connect": { value: "token of db:connect" } },
    });
    expect(contexts[0]?.signal.aborted).toBe(false);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no route to host"))],
    ["hangs", () => new Promise<never>(() => undefined)],
  ])(
    "of which one %s while it is built give the hop back with what was built, and are built later",
    async (_how, trouble) => {
      build = (name) => (name === "two" ? trouble() : Promise.resolve());
      const { runId } = await world.submit("uses");
      await world.drain({ deps: impatient });
      expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
      expect(events).toEqual(["built one", "worker.after-handover", "ended one", "released db:connect"]);
      build = () => Promise.resolve();
      await world.later(31);
      expect((await world.view(runId)).status).toBe("AWAITING_TIMER");
      const [row] = await db.admin("select losses from ghouls.runs where run_id = $1", [runId]);
      expect(row).toEqual({ losses: 0 });
    },
  );

  test("of which one comes too late are disposed at once", async () => {
    const late = Promise.withResolvers<void>();
    build = (name) => (name === "two" ? late.promise : Promise.resolve());
    await world.submit("uses");
    await world.drain({ deps: impatient });
    expect(events).not.toContain("built two");
    late.resolve();
    await expect.poll(() => events.slice(-2)).toEqual(["built two", "ended two"]);
  });

  test("whose disposal throws or hangs are told of, and the rest is disposed all the same", async () => {
    dispose = (name) => (name === "two" ? new Promise(() => undefined) : Promise.reject(new Error("gone")));
    const { runId } = await world.submit("uses");
    await world.drain({ deps: impatient });
    expect((await world.view(runId)).status).toBe("AWAITING_TIMER");
    expect(events.slice(-2)).toEqual(["worker.after-park", "released db:connect"]);
    expect(warned()).toMatchObject([
      { fields: { name: 'the resource "two"' } },
      { message: 'the resource "one" could not be given back', fields: { error: "Error" } },
    ]);
  });

  test("of a hop that was fenced are disposed when its step has ended, before its worker says that it is over", async () => {
    const { runId } = await world.submit("uses");
    duringFirst = async (signal) => {
      await world.ledger.runs.cancel({ tenantId: "acme", runId }, { actor: "a", reason: "by a test" }, 60);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      events.push("stopped");
    };
    onFault = (point, detail) => {
      if (point === "ledger.before-statement" && detail === "items.acknowledge") events.push("over");
    };
    const settings = { ...world.deps.settings, leaseMs: 60_000, beatMs: 10 };
    expect(await world.deliver([`run:${runId}:1`], { settings })).toMatchObject([{ done: true }]);
    expect(events).toEqual([...BUILT, "first on one", "stopped", ...GONE, "over"]);
    await world.reconcile();
    expect((await world.view(runId)).status).toBe("CANCELLED");
  });

  test("that leave an error to the process fail their own run while its hop lasts, and nobody's after it", async () => {
    const leave: (() => boolean)[] = [];
    build = () => {
      const inPool = AsyncLocalStorage.snapshot();
      leave.push(() => inPool(() => blameHop(new Error("an idle client was ended"))));
      return Promise.resolve();
    };
    duringFirst = () => {
      expect(leave[0]?.()).toBe(true);
      return Promise.resolve();
    };
    const { runId } = await world.submit("uses");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "FAILED",
      error: { code: "workflow_failed", message: "an idle client was ended" },
    });
    expect(events.slice(-3)).toEqual(GONE);
    expect(leave[1]?.()).toBe(true);
    expect(warned().at(-1)).toMatchObject({
      message: "what a hop holds has left an error to the process",
      fields: { error: "Error" },
    });
  });

  test("of a lost worker keep nobody: the next hop has its own", async () => {
    const { runId } = await world.submit("uses");
    const stuck = Promise.withResolvers<void>();
    const inStep = Promise.withResolvers<void>();
    onFault = (point) => {
      if (point !== "worker.before-step") return undefined;
      inStep.resolve();
      return stuck.promise;
    };
    const lost = world.deliver([`run:${runId}:1`]);
    await inStep.promise;
    onFault = () => undefined;
    await world.later(200);
    await world.later(1);
    expect((await world.view(runId)).status).toBe("AWAITING_TIMER");
    expect(events).toEqual([...BUILT, ...BUILT, "first on one", "worker.after-park", ...GONE]);
    stuck.resolve();
    await lost;
  });
});

describe("a contain delivery", () => {
  async function ending() {
    const run = await makeRun(db, { status: "RUNNING", workflow: "pays", digest: "pays@1" });
    await db.admin(
      `insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
       values ($1, $2, 0, '', 'step', 'pay', 1, 1, $3, $4, ghouls.clock())`,
      [run.tenantId, run.runId, run.seq, run.token],
    );
    await db.admin(
      `update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second',
         acts_until = ghouls.clock() - interval '1 second' where run_id = $1`,
      [run.runId],
    );
    await world.reconcile();
    return run;
  }

  test("has the workflow's resources for its probes, and asks no authority", async () => {
    const { runId } = await ending();
    expect(await world.drain()).toMatchObject([{ done: true, reason: "contain_done" }]);
    expect((await world.view(runId)).status).toBe("FAILED");
    expect(events).toEqual(["built bank", "probe on bank", "ended bank"]);
  });

  test("that cannot build them is refused with attention, and the status stays", async () => {
    build = () => Promise.reject(new Error("no route to host"));
    const { runId } = await ending();
    expect(await world.drain()).toMatchObject([{ done: true, reason: "contain_refused" }]);
    expect(await world.view(runId)).toMatchObject({
      status: "FAILING",
      attention: { reason: 'containment refused: the resource "bank": Error: no route to host' },
    });
  });
});

test("the replay check of where workflows are written looks at nothing that is disposed", async () => {
  const { runId } = await world.submit("looks");
  await world.drain({ deps: { settings: { ...world.deps.settings, replayCheck: true } } });
  expect((await world.view(runId)).status).toBe("DONE");
  expect(events).toEqual(["built one", "look on one", "worker.after-settle", "look on one", "ended one"]);
  expect(warned()).toEqual([]);
});
