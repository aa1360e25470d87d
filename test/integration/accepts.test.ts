import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { sha256, type Codec } from "@ghouls/core";
import type { WorkflowContext } from "ghouls";
import { buildOf } from "../support/builds.ts";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** Code that changes under parked runs, and says which earlier digests it carries on. */

type Code = (ctx: WorkflowContext) => Promise<unknown>;
interface Version {
  readonly version?: number;
  readonly input?: z.ZodType;
  readonly code: Code;
  readonly accepts?: readonly string[];
}

const ran: string[] = [];
let failing: string | undefined;
const service = jobService();
const world = await testWorld({
  workflows: [],
  services: { signer: service },
  capacities: { gpu: 2 },
  faults: (point, detail) => {
    if (failing !== undefined && (detail === failing || point === failing)) throw new Error("by a test");
  },
});
const { db, ledger } = world;

beforeEach(async () => {
  ran.length = 0;
  service.forget();
  failing = undefined;
  world.logged.length = 0;
  await world.reset();
  await db.admin("truncate ghouls.workflows");
});

/** One build of the project: each digest with its code. */
const build = (name: string, digests: Readonly<Record<string, Version>>) =>
  buildOf(
    world,
    name,
    Object.entries(digests).map(([digest, { code, accepts = [], ...version }]) => ({
      ...version,
      accepts: accepts.map(sha256),
      digest: sha256(digest),
      run: code,
    })),
  );

const step = (ctx: WorkflowContext, name: string) =>
  ctx.step(name, () => {
    ran.push(name);
    return name;
  });

const before: Code = async (ctx) => {
  await step(ctx, "one");
  await ctx.sleep("1h");
  return step(ctx, "two");
};
/** The same until the park, and more after it. */
const longer: Code = async (ctx) => {
  await step(ctx, "one");
  await ctx.sleep("1h");
  await step(ctx, "two");
  await ctx.sleep("1h");
  return step(ctx, "three");
};
/** What was journaled is not asked for any more. */
const other: Code = async (ctx) => {
  await step(ctx, "zero");
  return step(ctx, "two");
};

async function pinOf(runId: string) {
  const [row] = await db.admin<{ version: number; digest: string }>(
    "select workflow_version as version, workflow_digest as digest from ghouls.runs where run_id = $1",
    [runId],
  );
  return row;
}

async function parked(): Promise<string> {
  const monday = build("monday", { first: { code: before } });
  const runId = await monday.submit();
  await monday.work();
  expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
  expect(ran).toEqual(["one"]);
  return runId;
}

async function anHourLater(): Promise<void> {
  await world.advance(3_700);
  await world.reconcile();
}

const broken = async () => (await ledger.doctor()).filter((check) => !check.ok);

describe("a run whose code has changed while units are held", () => {
  const holds =
    (units: number, last = "two"): Code =>
    (ctx) =>
      ctx.reserve("gpu", { units }, async () => {
        await step(ctx, "one");
        return step(ctx, last);
      });
  /** Its first hop ends inside of its function. */
  async function handedOver(): Promise<string> {
    const monday = build("monday", { first: { code: holds(1) } });
    const runId = await monday.submit();
    const drain = new AbortController();
    await monday.deliver(runId, 1, {
      draining: drain.signal,
      faults: (point) => (point === "worker.after-step" ? drain.abort() : undefined),
    });
    expect(ran).toEqual(["one"]);
    return runId;
  }

  test("is carried on by code that asks for the same", async () => {
    const runId = await handedOver();
    const tuesday = build("tuesday", { second: { code: holds(1, "three"), accepts: ["first"] } });
    expect(await tuesday.deliver(runId, 2)).toMatchObject([{ reason: "DONE" }]);
    expect(ran).toEqual(["one", "three"]);
    expect(await broken()).toEqual([]);
  });

  test("is not taken over by code that asks for other units: nothing of it runs, and the run is not lost", async () => {
    const runId = await handedOver();
    const tuesday = build("tuesday", { second: { code: holds(2), accepts: ["first"] } });
    expect(await tuesday.deliver(runId, 2)).toMatchObject([{ reason: "quarantined" }]);
    expect((await world.view(runId)).quarantine?.reason).toContain('had 1 of "gpu", and the code asks for 2');
    expect(ran).toEqual(["one"]);
    expect(await db.admin("select from ghouls.units_in_use")).toEqual([]);
  });
});

describe("a parked run whose code has changed", () => {
  test("is carried on by code that accepts its digest, from its journal, and is pinned to that code", async () => {
    const runId = await parked();
    const tuesday = build("tuesday", { second: { code: longer, accepts: ["first"] } });
    await anHourLater();
    expect(await tuesday.work()).toMatchObject([{ reason: "AWAITING_TIMER" }]);
    expect(ran).toEqual(["one", "two"]);
    expect(await pinOf(runId)).toEqual({ version: 1, digest: sha256("second") });
    expect(await broken()).toEqual([]);
    const checkpoints = await db.admin("select workflow_digest from ghouls.checkpoints order by generation");
    expect(checkpoints.map((row) => row["workflow_digest"])).toEqual(
      ["first", "second", "second"].map(sha256),
    );
    await anHourLater();
    expect(await tuesday.work()).toMatchObject([{ reason: "DONE" }]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "three" });
    expect(ran).toEqual(["one", "two", "three"]);
  });

  test("is carried on by a new version that accepts it", async () => {
    const runId = await parked();
    const tuesday = build("tuesday", { second: { version: 2, code: longer, accepts: ["first"] } });
    await anHourLater();
    await tuesday.work();
    expect(await pinOf(runId)).toEqual({ version: 2, digest: sha256("second") });
  });

  test("once carried on is given back by a worker of the earlier code, which could not replay it", async () => {
    const runId = await parked();
    const tuesday = build("tuesday", { second: { code: longer, accepts: ["first"] } });
    await tuesday.announce();
    await anHourLater();
    await tuesday.work();
    await anHourLater();
    expect(await build("monday", { first: { code: before } }).work()).toMatchObject([
      { reason: "handed_over" },
    ]);
    await world.advance(40);
    await world.reconcile();
    expect(await tuesday.work()).toMatchObject([{ reason: "DONE" }]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "three" });
  });

  test("waits at a build without it for one that accepts it, whatever the version", async () => {
    const runId = await parked();
    await build("tuesday", { second: { version: 2, code: longer, accepts: ["first"] } }).announce();
    await db.admin("delete from ghouls.workflows where build = 'monday'");
    await anHourLater();
    const wednesday = build("wednesday", { third: { code: other } });
    expect(await wednesday.work()).toMatchObject([{ reason: "handed_over" }]);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED" });
  });

  test("and is accepted by code that does not fit its journal is quarantined, and goes on after a clear with code that fits", async () => {
    const runId = await parked();
    await anHourLater();
    expect(await build("tuesday", { second: { code: other, accepts: ["first"] } }).work()).toMatchObject([
      { done: true, reason: "quarantined" },
    ]);
    expect(ran).toEqual(["one"]);
    const { status, quarantine } = await world.view(runId);
    expect(status).toBe("QUEUED");
    expect(quarantine?.reason).toContain(`workflow digest ${sha256("second")} accepts the run's, but`);
    expect(quarantine?.reason).toContain('step "one"');
    expect(await pinOf(runId)).toEqual({ version: 1, digest: sha256("first") });
    await world.control.clear(SOMEBODY, runId, "the code is mended");
    const mended = build("wednesday", { third: { code: longer, accepts: ["first"] } });
    expect(await mended.work()).toMatchObject([{ reason: "AWAITING_TIMER" }]);
    expect(ran).toEqual(["one", "two"]);
    expect(await broken()).toEqual([]);
  });

  test("is refused by name where nothing accepts it, and nothing of the new code runs", async () => {
    const runId = await parked();
    await db.admin("truncate ghouls.workflows");
    await anHourLater();
    const tuesday = build("tuesday", { second: { code: other } });
    expect(await tuesday.work()).toMatchObject([{ reason: "FAILED" }]);
    expect(ran).toEqual(["one"]);
    const { error } = await world.view(runId);
    expect(error?.code).toBe("workflow_changed");
    expect(error?.message).toContain(sha256("first"));
    expect(error?.message).toContain(sha256("second"));
  });

  test.each([
    ["lost right before the new pin", "worker.before-adopt", "first"],
    ["that the ledger does not answer about the new pin", "runs.adopt", "first"],
  ])("by a worker %s leaves it to the next one, and nothing ran", async (_what, point, pin) => {
    const runId = await parked();
    const tuesday = build("tuesday", { second: { code: longer, accepts: ["first"] } });
    await anHourLater();
    failing = point;
    expect(await tuesday.work()).toMatchObject([{ done: false, reason: "unknown_outcome" }]);
    failing = undefined;
    expect(ran).toEqual(["one"]);
    expect(await pinOf(runId)).toMatchObject({ digest: sha256(pin) });
    await world.advance(200);
    await world.reconcile();
    await tuesday.work();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER", steps: 3 });
    expect(ran).toEqual(["one", "two"]);
  });

  test("whose claim is taken away before the new pin is left as it was", async () => {
    const runId = await parked();
    const tuesday = build("tuesday", { second: { code: longer, accepts: ["first"] } });
    await anHourLater();
    await tuesday.work({
      faults: async (point) => {
        if (point !== "worker.before-adopt") return;
        await ledger.runs.cancel({ tenantId: "acme", runId }, { actor: "user:ada", reason: "by a test" }, 60);
      },
    });
    expect(ran).toEqual(["one"]);
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("first") });
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED" });
  });
});

describe("what stands beside the journal when other code takes a run over", () => {
  /** A run of the earlier code, parked and due, at the code that accepts it. */
  async function carriedOn(first: Code, second: Code, input?: z.ZodType) {
    const monday = build("monday", { first: { code: first } });
    const runId = await monday.submit();
    await monday.work();
    await anHourLater();
    const version = { code: second, accepts: ["first"], ...(input === undefined ? {} : { input }) };
    await build("tuesday", { second: version }).work();
    expect((await broken()).filter(({ kind }) => kind === "integrity")).toEqual([]);
    return world.view(runId);
  }
  const asks =
    (title: string): Code =>
    (ctx) =>
      Promise.all([ctx.sleep("1h"), ctx.consent(title, { deciders: ["role:legal"] })]);
  const sleeps: Code = (ctx) => ctx.sleep("1h");

  test("is not missed by a replay that a drain cuts off: the run is handed over, and is quarantined by nobody", async () => {
    const waits: Code = (ctx) => Promise.all([ctx.sleep("1h"), ctx.waitForSignal("go")]);
    const monday = build("monday", { first: { code: waits } });
    const runId = await monday.submit();
    await monday.work();
    await anHourLater();
    const tuesday = build("tuesday", { second: { code: waits, accepts: ["first"] } });
    const draining = new AbortController();
    await tuesday.deliver(runId, 2, {
      draining: draining.signal,
      faults: (point) => {
        if (point === "worker.after-claim") draining.abort();
      },
    });
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", quarantine: null });
    await world.reconcile();
    await tuesday.work();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_SIGNAL", quarantine: null });
  });

  test("a consent that stands open is the same, where the code asks for the very same", async () => {
    const { status, runId } = await carriedOn(asks("ship it"), asks("ship it"));
    expect(status).toBe("AWAITING_CONSENT");
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("second") });
    const { consents } = await world.consents.list("acme", { runId }, { limit: 10 });
    expect(consents.map((one) => one.status)).toEqual(["PENDING"]);
  });

  test.each<[string, Code, Code, z.ZodType | undefined]>([
    ["another consent than stands open", asks("ship it"), asks("ship now"), undefined],
    [
      "the same consent with other words",
      asks("ship it"),
      (ctx) => Promise.all([ctx.sleep("1h"), ctx.consent("ship it", { deciders: ["role:board"] })]),
      undefined,
    ],
    ["no consent any more", asks("ship it"), sleeps, undefined],
    ["an input that the run does not have", sleeps, sleeps, z.object({ b: z.number() })],
    ["what is refused in the replay", sleeps, (ctx) => ctx.sleep("60" as "60m"), undefined],
  ])("code that asks for %s quarantines the run, and loses nothing", async (_what, first, second, input) => {
    const { status, quarantine, runId } = await carriedOn(first, second, input);
    expect(status).toBe("QUEUED");
    expect(quarantine?.reason).toContain(`${sha256("second")} accepts the run's, but`);
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("first") });
  });

  test("a consent that the codec cannot read just now gives the delivery back, and is no loss", async () => {
    const runId = await build("monday", { first: { code: asks("ship it") } }).submit();
    await build("monday", { first: { code: asks("ship it") } }).work();
    await anHourLater();
    const tuesday = build("tuesday", { second: { code: asks("ship it"), accepts: ["first"] } });
    const { codec } = world.deps;
    const decode: Codec["decode"] = (stored, context) =>
      context.kind === "consent" ? Promise.reject(new Error("KMS is away")) : codec.decode(stored, context);
    expect(await tuesday.work({ codec: { ...codec, decode } })).toMatchObject([{ reason: "handed_over" }]);
    expect(await db.admin("select status, losses from ghouls.runs where run_id = $1", [runId])).toEqual([
      { status: "QUEUED", losses: 0 },
    ]);
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("first") });
    await world.advance(60);
    await world.reconcile();
    expect(await tuesday.work()).toMatchObject([{ reason: "AWAITING_CONSENT" }]);
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("second") });
  });

  test("a consent that was altered quarantines the run", async () => {
    const runId = await build("monday", { first: { code: asks("ship it") } }).submit();
    await build("monday", { first: { code: asks("ship it") } }).work();
    await anHourLater();
    await db.admin("update ghouls.consents set request_text = replace(request_text, 'legal', 'board')");
    const tuesday = build("tuesday", { second: { code: asks("ship it"), accepts: ["first"] } });
    expect(await tuesday.work()).toMatchObject([{ done: true, reason: "quarantined" }]);
    const { status, quarantine } = await world.view(runId);
    expect(status).toBe("QUEUED");
    expect(quarantine?.reason).toContain("a consent's request disagrees with its digest");
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("first") });
  });

  const delegatesTo =
    (what: string): Code =>
    (ctx) =>
      Promise.all([ctx.sleep("1h"), ctx.delegate("sign", service, { what })]).then(([, job]) => job);

  test("a job that stands open is the same, where the code asks for the very same", async () => {
    const { runId, status } = await carriedOn(delegatesTo("it"), delegatesTo("it"));
    expect(status).toBe("AWAITING_DELEGATE");
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("second") });
    expect(service.only().submissions).toBe(1);
    service.says({ state: "succeeded", result: { done: "signed" } });
    await world.advance(3_600);
    await world.reconcile();
    await build("tuesday", { second: { code: delegatesTo("it"), accepts: ["first"] } }).work();
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "SUCCEEDED", result: { done: "signed" } },
    });
  });

  test("code that asks for another job than stands open quarantines the run, and launches nothing", async () => {
    const { status, quarantine, runId } = await carriedOn(delegatesTo("it"), delegatesTo("something else"));
    expect(status).toBe("QUEUED");
    expect(quarantine?.reason).toContain("was frozen with another request");
    expect(await pinOf(runId)).toMatchObject({ digest: sha256("first") });
    expect(service.only().submissions).toBe(1);
  });

  test("an effect whose outcome is unknown is not launched again as a plain step", async () => {
    let paid = 0;
    const pay = () => {
      paid += 1;
    };
    const probe = () => ({ outcome: "unknown" as const });
    const monday = build("monday", {
      first: { code: (ctx) => ctx.step("pay", pay, { effect: "once", probe }) },
    });
    const runId = await monday.submit();
    failing = "worker.after-step";
    await monday.work();
    failing = undefined;
    const tuesday = build("tuesday", { second: { code: (ctx) => ctx.step("pay", pay), accepts: ["first"] } });
    await anHourLater();
    await tuesday.work();
    expect(paid).toBe(1);
    const { status, quarantine } = await world.view(runId);
    expect(status).toBe("QUEUED");
    expect(quarantine?.reason).toContain("nobody knows whether the effect");
  });
});

describe("versions side by side", () => {
  test("carry each their own runs, and a request gets the newest where it names none", async () => {
    const both = build("monday", {
      one: { version: 1, code: (ctx) => step(ctx, "of one") },
      two: { version: 2, code: (ctx) => step(ctx, "of two"), accepts: ["one"] },
    });
    const newest = await both.submit();
    const admitted = build("old", { one: { version: 1, code: () => Promise.resolve(0) } });
    const older = await admitted.submit();
    await both.work();
    expect(await world.view(newest)).toMatchObject({ output: "of two", workflow: { version: 2 } });
    // Its own code is there, so that which accepts it is not asked.
    expect(await world.view(older)).toMatchObject({ output: "of one", workflow: { version: 1 } });
  });

  test("that accept the same digest are refused: nobody could say which carries its runs", () => {
    const code = () => Promise.resolve();
    expect(() =>
      build("monday", {
        two: { version: 2, code, accepts: ["one"] },
        three: { version: 3, code, accepts: ["one"] },
      }),
    ).toThrow(/versions 2 and 3 of workflow "job" both accept/);
  });
});

describe("200 runs that are admitted while the code switches", () => {
  const old = () => build("monday", { first: { code: before } });
  const next = () => build("tuesday", { second: { version: 2, code: longer }, first: { code: before } });

  test.each([
    ["the API before the workers", "api"],
    ["the workers before the API", "workers"],
  ])("%s: none is refused, none fails, no step is repeated", async (_order, sooner) => {
    const [monday, tuesday] = [old(), next()];
    const runs: string[] = [];
    for (let batch = 0; batch < 10; batch += 1) {
      const [api, workers] = sooner === "api" ? [batch >= 3, batch >= 7] : [batch >= 7, batch >= 3];
      const admission = api ? tuesday : monday;
      runs.push(...(await Promise.all(Array.from({ length: 20 }, () => admission.submit()))));
      await (workers ? tuesday : monday).work();
    }
    // What the old workers gave back, then the timers of all, twice for the longer code.
    for (const seconds of [40, 3_700, 3_700]) {
      await world.advance(seconds);
      for (let pass = 0; pass < 5; pass += 1) {
        await world.reconcile();
        await tuesday.work();
      }
    }
    const ends = await db.admin(
      "select status, losses, count(*)::integer as runs from ghouls.runs group by status, losses",
    );
    expect(ends).toEqual([{ status: "DONE", losses: 0, runs: 200 }]);
    const steps = Map.groupBy(ran, (name) => name);
    const admittedLater = sooner === "api" ? 140 : 60;
    expect(steps.get("one")).toHaveLength(200);
    expect(steps.get("two")).toHaveLength(200);
    expect(steps.get("three")).toHaveLength(admittedLater);
    expect(await broken()).toEqual([]);
  });
});
