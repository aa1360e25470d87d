import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Codec, FaultPoint, Principal } from "@ghouls/core";
import { notDone, workflow, type WorkflowContext } from "ghouls";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

type Body = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const GRACE: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal", "operator"] };
/** Steps by name that fail. */
const failing = new Set<string>();
let trace: string[] = [];
let keys: Record<string, string[]> = {};
let body: Body = () => Promise.resolve();
let lost: FaultPoint | undefined;

const child = workflow({
  ...base,
  name: "child",
  run: async (ctx) => {
    await step(ctx, "in the child");
    return step(ctx, "child's last");
  },
});
const job = workflow({ ...base, name: "job", deadline: "1h", run: (ctx, input) => body(ctx, input) });

/** Binds what it keeps to its run, as encryption with additional data does. */
const binding: Codec = {
  encode: (text, { runId, kind }) => Promise.resolve(JSON.stringify({ runId, kind, text })),
  decode: (stored, { runId, kind }) => {
    const kept = JSON.parse(stored) as { runId: string; kind: string; text: string };
    if (kept.runId !== runId || kept.kind !== kind) throw new Error("it is bound to another run");
    return Promise.resolve(kept.text);
  },
};
const service = jobService();
const world = await testWorld({
  workflows: [job, child],
  services: { signer: service },
  capacities: { gpu: 1 },
  codec: binding,
  faults: (point) => {
    if (point === lost) throw new Error("by a test");
  },
});
const { db, admission } = world;

beforeEach(() => {
  failing.clear();
  trace = [];
  keys = {};
  lost = undefined;
  service.forget();
});
afterEach(async () => {
  expect(await world.broken()).toEqual([]);
  await world.reset();
});

const step = (ctx: WorkflowContext, name: string, options: object = {}) =>
  ctx.step(
    name,
    ({ idempotencyKey }) => {
      trace.push(name);
      (keys[name] ??= []).push(idempotencyKey);
      if (failing.has(name)) throw notDone(new Error(`${name} does not work`));
      return name;
    },
    options,
  );

async function ended(next: Body, input: unknown = { n: 1 }) {
  body = next;
  const { runId } = await world.submit("job", input);
  await world.drain();
  return runId;
}
const redrive = (runId: string, by = GRACE, reason = "mended") => admission.redrive(by, runId, reason);
async function redriven(runId: string) {
  trace = [];
  failing.clear();
  const { runId: again } = await redrive(runId);
  await world.drain();
  return world.view(again);
}
const four: Body = async (ctx) => {
  for (const name of ["one", "two", "three", "four"]) await step(ctx, name);
};

describe("a redrive of a run that failed at step 3 of 4", () => {
  test("repeats neither of the first two, and keeps their keys", async () => {
    failing.add("three");
    const runId = await ended(four);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", steps: 3, redrivenAs: null });
    const view = await redriven(runId);
    expect(trace).toEqual(["three", "four"]);
    expect(view).toMatchObject({
      status: "DONE",
      redriveOf: runId,
      redrivenAs: null,
      steps: 4,
    });
    expect(view).toMatchObject({ requestedBy: "user:grace", input: { n: 1 }, idempotencyKey: null });
    expect(keys["three"]?.[0]).toBe(keys["three"]?.at(-1));
    expect(view.startsAt).toBe((await world.view(runId)).createdAt);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", redrivenAs: view.runId });
  });

  test("tells what it keeps, and where it goes on", async () => {
    failing.add("three");
    const runId = await ended(four);
    expect(await redrive(runId)).toMatchObject({
      redriveOf: runId,
      created: true,
      status: "QUEUED",
      kept: 2,
      from: { kind: "step", name: "three" },
    });
    const [audit] = await db.admin("select actor, act, reason from ghouls.audit where run_id = $1", [runId]);
    expect(audit).toEqual({ actor: "user:grace", act: "redrive", reason: "mended" });
    const [row] = await db.admin(
      `select run.journal_length, run.journal_bytes::integer as bytes,
         (select sum(octet_length(j.result_text))::integer from ghouls.journal j where j.run_id = run.run_id) as kept,
         extract(epoch from run.deadline_at - run.created_at)::integer as deadline
       from ghouls.runs run where run.redrive_of = $1`,
      [runId],
    );
    expect(row).toEqual({ journal_length: 2, bytes: row?.["kept"], kept: row?.["kept"], deadline: 3_600 });
  });

  test("draws what was drawn before the cut", async () => {
    failing.add("two");
    const drawn: unknown[] = [];
    const runId = await ended(async (ctx) => {
      await step(ctx, "one");
      drawn.push([ctx.random(), ctx.uuid(), ctx.now().getTime()]);
      await step(ctx, "two");
    });
    await redriven(runId);
    expect(new Set(drawn.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(drawn.length).toBeGreaterThanOrEqual(2);
  });

  test("may fail again, and is redriven in its turn with the same keys", async () => {
    failing.add("three");
    const runId = await ended(four);
    failing.clear();
    failing.add("four");
    const { runId: second } = await redrive(runId);
    await world.drain();
    expect(await world.view(second)).toMatchObject({ status: "FAILED", steps: 4 });
    await expect(redrive(runId, GRACE, "once more")).rejects.toMatchObject({
      code: "redriven_before",
      fix: `Redrive that one: \`ghouls redrive ${second}\`.`,
    });
    expect(await redriven(second)).toMatchObject({ status: "DONE", redriveOf: second });
    expect(trace).toEqual(["four"]);
    expect(new Set(keys["four"]).size).toBe(1);
  });
});

describe("what a redrive keeps", () => {
  test("a consent that was granted is not asked again, with the words that came with it", async () => {
    failing.add("ship");
    const runId = await ended(async (ctx) => {
      const consent = await ctx.consent("ship it", { deciders: ["role:legal"] });
      await step(ctx, "ship");
      return consent;
    });
    const { consents } = await world.consents.list("acme", {}, { limit: 5 });
    const { consentId, digest } = consents[0]!;
    await world.consents.decide(GRACE, consentId, { verdict: "grant", digest, comment: "go" });
    await world.drain();
    const view = await redriven(runId);
    expect(view).toMatchObject({
      status: "DONE",
      output: { outcome: "GRANTED", decisions: [{ by: "user:grace", comment: "go" }] },
    });
    expect((await world.consents.list("acme", {}, { limit: 5 })).consents).toHaveLength(1);
  });

  test("a cancelled run that stood in a wait asks for it again", async () => {
    const runId = await ended(async (ctx) => {
      await step(ctx, "one");
      return ctx.consent("ship it", { deciders: ["role:legal"] });
    });
    await world.control.cancel(SOMEBODY, runId, "by mistake");
    const view = await redriven(runId);
    expect(trace).toEqual([]);
    expect(view).toMatchObject({ status: "AWAITING_CONSENT", waits: [{ name: "ship it" }] });
    await world.control.cancel(SOMEBODY, view.runId, "the test is over");
  });

  test("an effect before the cut does not happen again; one that certainly did not happen does", async () => {
    failing.add("pay");
    const runId = await ended(async (ctx) => {
      await step(ctx, "order", { effect: "once" });
      await step(ctx, "pay", { effect: "once", tries: 1 });
    });
    expect(await world.view(runId)).toMatchObject({ status: "FAILED" });
    expect(await redriven(runId)).toMatchObject({ status: "DONE" });
    expect(trace).toEqual(["pay"]);
  });

  test("a child that failed is started again, and its steps have the keys of before", async () => {
    failing.add("child's last");
    const runId = await ended(async (ctx) => {
      await step(ctx, "one");
      const { outcome } = await ctx.child(child, null);
      if (outcome !== "DONE") throw new Error(outcome);
      return outcome;
    });
    await world.later(1);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED" });
    const view = await redriven(runId);
    await world.later(1);
    expect(await world.view(view.runId)).toMatchObject({ status: "DONE", output: "DONE" });
    expect(trace).toEqual(["in the child", "child's last"]);
    expect(keys["in the child"]).toHaveLength(2);
    expect(new Set(keys["in the child"]).size).toBe(1);
  });

  test("units are taken again for what is left of their function", async () => {
    failing.add("train");
    const runId = await ended((ctx) =>
      ctx.reserve("gpu", { units: 1, wait: "1m" }, async () => {
        await step(ctx, "load");
        return step(ctx, "train");
      }),
    );
    expect(await redriven(runId)).toMatchObject({ status: "DONE" });
    expect(trace).toEqual(["train"]);
  });

  test("of a run that went on as new, what came since, under its keys", async () => {
    failing.add("two");
    const go: Body = async (ctx, input) => {
      const { n } = input as { n: number };
      await step(ctx, "one");
      if (n === 1) return ctx.restart({ n: 2 });
      await step(ctx, "two");
      return n === 2 ? ctx.restart({ n: 3 }) : n;
    };
    const runId = await ended(go);
    const view = await redriven(runId);
    // Then it goes on as new once more, with an input of its own.
    expect(view).toMatchObject({ status: "DONE", input: { n: 3 }, output: 3 });
    expect(trace).toEqual(["two", "one", "two"]);
    expect(keys["two"]?.[0]).toBe(keys["two"]?.[1]);
  });
});

describe("the same word again", () => {
  test("of the same person answers the same run, and another's is told which", async () => {
    failing.add("three");
    const runId = await ended(four);
    const made = await redrive(runId);
    expect(await redrive(runId)).toMatchObject({ runId: made.runId, created: false, kept: null, from: null });
    for (const [by, reason] of [
      [GRACE, "another"],
      [SOMEBODY, "mended"],
    ] as const)
      await expect(redrive(runId, by, reason)).rejects.toMatchObject({
        code: "redriven_before",
        message: expect.stringContaining(made.runId),
        fix: expect.stringContaining(`ghouls watch ${made.runId}`),
      });
    failing.clear();
    await world.drain();
    await expect(redrive(runId, GRACE, "more")).rejects.toMatchObject({
      fix: expect.stringContaining("is done"),
    });
    expect(await db.admin("select from ghouls.runs")).toHaveLength(2);
  });

  test("after an answer that was lost finds the run, and it is published once it is asked for again", async () => {
    failing.add("three");
    const runId = await ended(four);
    lost = "redrive.after-commit";
    await expect(redrive(runId)).rejects.toThrow("by a test");
    lost = undefined;
    failing.clear();
    expect(await redrive(runId)).toMatchObject({ created: false, redriveOf: runId });
    await world.drain();
    expect(trace.slice(3)).toEqual(["three", "four"]);
  });

  test("of another tenant, or of no run, is told in one way", async () => {
    failing.add("three");
    const runId = await ended(four);
    for (const id of [runId, "none"])
      await expect(redrive(id, { ...GRACE, tenantId: "other" })).rejects.toMatchObject({ code: "not_found" });
  });
});
