import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workflow, type ChildOptions } from "ghouls";
import * as z from "zod";
import type { Codec, FaultPoint } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
let options: ChildOptions;
let failing: FaultPoint | undefined;
const calls: string[] = [];

const child = workflow({
  ...base,
  name: "child",
  input: z.object({
    do: z.enum(["return", "nothing", "throw", "sleep", "stand"]),
    what: z.string().default("it"),
  }),
  run: async (ctx, { do: what, what: which }) => {
    calls.push(`${what} ${which}`);
    if (what === "throw") throw new TypeError("the child is bad");
    if (what === "sleep") await ctx.sleep("1h");
    if (what === "stand") await ctx.consent("go on", { deciders: ["user:grace"] });
    return what === "nothing" ? undefined : { what: which, by: ctx.requestedBy, agent: ctx.agent };
  },
});
const unregistered = workflow({ ...base, name: "unregistered", run: () => Promise.resolve(1) });
const parent = workflow({
  ...base,
  name: "parent",
  run: (ctx, input) => ctx.child(child, input as { do: "return" }, options),
});
const many = workflow({
  ...base,
  name: "many",
  run: async (ctx) => {
    const ended = await ctx.map("parts", ["a", "b", "c"], (what) => ctx.child(child, { do: "sleep", what }));
    return ended.map((one) => (one.outcome === "DONE" ? (one.result as { what: string }).what : one.outcome));
  },
});
const beside = workflow({
  ...base,
  name: "beside",
  run: (ctx) =>
    Promise.all([
      ctx.child(child, { do: "return", what: "beside" }),
      ctx.step("long", () => until(() => calls.includes("return beside"))),
    ]),
});
const loses = workflow({
  ...base,
  name: "loses",
  run: async (ctx) => {
    const { winner } = await ctx.first({
      child: ctx.child(child, { do: "stand" }, options),
      late: ctx.sleep("1m"),
    });
    return winner;
  },
});
const leaves = workflow({
  ...base,
  name: "leaves",
  run: async (ctx) => {
    void ctx.child(child, { do: "stand" }, options);
    return ctx.step("one", () => 1);
  },
});
const restarts = workflow({
  ...base,
  name: "restarts",
  run: async (ctx, input) => {
    if (input === "again") return ctx.sleep("1h").then(() => "second");
    await ctx.step("one", () => 1);
    await ctx.first({ child: ctx.child(child, { do: "stand" }, options), late: ctx.sleep("1m") });
    return ctx.restart("again");
  },
});
const grandparent = workflow({
  ...base,
  name: "grandparent",
  run: (ctx) => ctx.child(parent, { do: "stand" }),
});

let asking: { workflow: unknown; input: unknown };
const asks = workflow({
  ...base,
  name: "asks",
  run: (ctx) => ctx.child(asking.workflow as typeof unregistered, asking.input, options),
});

async function until(done: () => boolean): Promise<string> {
  while (!done()) await world.drain();
  return "seen";
}

let codecDown = false;
/** Seals what it keeps. */
const codec: Codec = {
  encode: (text, { kind, runId }) =>
    codecDown && kind === "input"
      ? Promise.reject(new Error("the key service is away"))
      : Promise.resolve(`${kind} of ${runId}:${Buffer.from(text).toString("base64")}`),
  decode: (stored, { kind, runId }) => {
    const prefix = `${kind} of ${runId}:`;
    if (!stored.startsWith(prefix)) throw new Error(`sealed for another place than ${prefix}`);
    return Promise.resolve(Buffer.from(stored.slice(prefix.length), "base64").toString());
  },
};

const world = await testWorld({
  workflows: [child, parent, many, beside, loses, leaves, restarts, grandparent, asks],
  codec,
  faults: (point) => {
    if (point === failing) throw new Error("by a test");
  },
});

beforeEach(async () => {
  [options, failing, calls.length] = [{}, undefined, 0];
  world.logged.length = 0;
  await world.reset();
});
afterEach(async () => {
  expect(await world.broken()).toEqual([]);
});

const start = async (workflow: string, input?: unknown, extra = {}) => {
  const { runId } = await world.submit(workflow, input, extra);
  await world.drain();
  return runId;
};
const childrenOf = async (runId: string) =>
  world.db.admin<{ run_id: string; status: string }>(
    "select run_id, status from ghouls.runs where parent_run_id = $1 order by created_at, run_id",
    [runId],
  );
const onlyChild = async (runId: string) => (await childrenOf(runId))[0]?.run_id ?? "";
const grant = async (runId: string) => {
  const { consents } = await world.consents.list(SOMEBODY.tenantId, { runId }, { limit: 1 });
  const word = { verdict: "grant", digest: consents[0]?.digest ?? "" } as const;
  await world.consents.decide({ ...SOMEBODY, subject: "grace" }, consents[0]?.consentId ?? "", word);
  await world.drain();
};

describe("ctx.child", () => {
  test("is another run of its parent's authority, whose result is the parent's", async () => {
    const runId = await start("parent", { do: "return" }, { agent: "careful", priority: 8 });
    const childRunId = await onlyChild(runId);
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: {
        outcome: "DONE",
        runId: childRunId,
        result: { what: "it", by: SOMEBODY.subject, agent: "careful" },
      },
    });
    expect(await world.view(childRunId)).toMatchObject({
      status: "DONE",
      parentRunId: runId,
      priority: 8,
      workflow: { name: "child" },
      requestedBy: SOMEBODY.subject,
    });
    expect(calls).toEqual(["return it"]);
  });

  test("that returns nothing has an undefined result", async () => {
    expect((await world.view(await start("parent", { do: "nothing" }))).output).toEqual({
      outcome: "DONE",
      runId: expect.any(String) as string,
    });
  });

  test("that fails is an outcome, with its error, and throws nothing", async () => {
    expect(await world.view(await start("parent", { do: "throw" }))).toMatchObject({
      status: "DONE",
      output: {
        outcome: "FAILED",
        error: { code: "workflow_failed", name: "TypeError", message: "the child is bad" },
      },
    });
  });

  test("that is cancelled by a person is an outcome", async () => {
    const runId = await start("parent", { do: "stand" });
    expect(await world.view(runId)).toMatchObject({
      status: "AWAITING_CHILD",
      waits: [{ kind: "child", name: "child", childRunId: await onlyChild(runId) }],
    });
    await world.control.cancel(SOMEBODY, await onlyChild(runId), "by hand");
    await world.later(1);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "CANCELLED" } });
  });

  test("starts at once, beside a step that goes on", async () => {
    expect(await world.view(await start("beside"))).toMatchObject({
      status: "DONE",
      output: [{ outcome: "DONE" }, "seen"],
    });
  });

  test("of a map: each item its own, and their parent comes back with all of them", async () => {
    const runId = await start("many");
    const { status, waits } = await world.view(runId);
    expect(status).toBe("AWAITING_CHILD");
    expect(waits.map(({ scope }) => scope).toSorted()).toEqual(["parts[0]", "parts[1]", "parts[2]"]);
    await world.later(3_601);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: ["a", "b", "c"] });
  });

  test("is not started again by a later hop, nor by one after a loss", async () => {
    const runId = await start("parent", { do: "stand" });
    await world.deliver([`run:${runId}:1`]);
    expect(await childrenOf(runId)).toHaveLength(1);

    await world.reset();
    failing = "worker.before-park";
    const lost = await start("parent", { do: "stand" });
    failing = undefined;
    expect(await world.view(lost)).toMatchObject({ status: "RUNNING" });
    const before = await childrenOf(lost);
    await world.later(1_000);
    await world.later(1_000);
    expect(await world.view(lost)).toMatchObject({ status: "AWAITING_CHILD" });
    expect((await childrenOf(lost)).map(({ run_id }) => run_id)).toEqual(before.map(({ run_id }) => run_id));
    await grant(await onlyChild(lost));
    expect(await world.view(lost)).toMatchObject({ status: "DONE", output: { outcome: "DONE" } });
  });

  test.each(["worker.after-settle", "worker.before-tell-parent", "worker.after-tell-parent"] as const)(
    "whose worker ends at %s of the child is told by the reconciler",
    async (point) => {
      const runId = await start("parent", { do: "stand" });
      const childRunId = await onlyChild(runId);
      failing = point;
      await grant(childRunId);
      failing = undefined;
      expect(await world.view(childRunId)).toMatchObject({ status: "DONE" });
      await world.later(60);
      expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "DONE" } });
      expect(await world.db.admin("select from ghouls.child_ends")).toEqual([]);
    },
  );

  test("whose input the codec cannot write just now is started later, and no loss is counted", async () => {
    const { runId } = await world.submit("parent", { do: "return" });
    codecDown = true;
    await world.drain();
    await world.later(31);
    codecDown = false;
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED" });
    expect(await childrenOf(runId)).toEqual([]);
    await world.later(31);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(await world.db.admin("select from ghouls.deliveries where outcome = 'lost'")).toEqual([]);
  });

  test("that ends while its parent works is found by the parent's park, and forgotten later", async () => {
    await start("beside");
    await world.later(1_000);
    expect(await world.db.admin("select from ghouls.child_ends")).toEqual([]);
  });
});

describe("a child that is refused", () => {
  test.each([
    ["no such choice", { do: "fly" }, {}, "its input does not fit workflow"],
    ["no JSON", 1n, {}, "its input"],
    ["an unknown option", { do: "return" }, { parentclose: "wait" }, 'option "parentclose" is not known'],
    [
      "an unknown close",
      { do: "return" },
      { parentClose: "forget" },
      "parentClose is one of cancel, wait, abandon",
    ],
    ["an unknown queue", { do: "return" }, { queue: "nowhere" }, 'there is no queue "nowhere"'],
    ["an odd priority", { do: "return" }, { priority: 10 }, "priority is a whole number from 0 to 9"],
    ["an empty name", { do: "return" }, { name: "" }, "a text of 1 to 200 characters"],
  ])("for %s", async (_, input, asked, words) => {
    options = asked as ChildOptions;
    asking = { workflow: child, input };
    const runId = await start("asks");
    expect(await world.view(runId)).toMatchObject({
      status: "FAILED",
      error: { code: "invalid_call", message: expect.stringContaining(words) as string },
    });
    expect(await childrenOf(runId)).toEqual([]);
  });

  test("for a workflow that is not in the configuration, and for none", async () => {
    for (const [workflow, words] of [
      [unregistered, "not in the configuration"],
      [{}, "its first argument is a workflow"],
    ] as const) {
      asking = { workflow: workflow as typeof unregistered, input: 1 };
      expect(await world.view(await start("asks"))).toMatchObject({
        error: { code: "invalid_call", message: expect.stringContaining(words) as string },
      });
    }
  });
});

describe("the end of a parent", () => {
  test("cancels a child that stands, and comes when that has ended", async () => {
    const runId = await start("loses");
    await world.advance(61);
    await world.reconcile();
    await world.drain();
    const childRunId = await onlyChild(runId);
    expect(await world.view(runId)).toMatchObject({
      status: "COMPLETING",
      containment: [{ kind: "child", subject: `run ${childRunId}`, acknowledgedAt: null }],
    });
    await world.later(1);
    expect(await world.view(childRunId)).toMatchObject({ status: "CANCELLED" });
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: "late",
      containment: [{ kind: "child", acknowledgedBy: "child" }],
    });
  });

  test("waits for a child whose close is wait, and nobody's word takes that end's place", async () => {
    options = { parentClose: "wait" };
    const runId = await start("leaves");
    await world.later(1_000);
    const view = await world.view(runId);
    expect(view).toMatchObject({ status: "COMPLETING" });
    await expect(
      world.control.resolve(SOMEBODY, runId, view.containment[0]?.id ?? "", "it must be over"),
    ).rejects.toMatchObject({ code: "child_open" });
    await grant(await onlyChild(runId));
    await world.later(700);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: 1 });
    expect(await world.view(await onlyChild(runId))).toMatchObject({ status: "DONE" });
  });

  test("leaves a child alone whose close is abandon", async () => {
    options = { parentClose: "abandon" };
    const runId = await start("leaves");
    expect(await world.view(runId)).toMatchObject({ status: "DONE", containment: [] });
    expect(await childrenOf(runId)).toMatchObject([{ status: "AWAITING_CONSENT" }]);
    await grant(await onlyChild(runId));
    expect(await childrenOf(runId)).toMatchObject([{ status: "DONE" }]);
    await world.later(1);
    expect(await world.db.admin("select from ghouls.child_ends")).toEqual([]);
  });

  test("by a cancel goes down to the grandchildren, and up again", async () => {
    const runId = await start("grandparent");
    const middle = await onlyChild(runId);
    const last = await onlyChild(middle);
    await world.control.cancel(SOMEBODY, runId, "no more");
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLING" });
    for (const seconds of [1, 10, 30]) await world.later(seconds);
    for (const id of [runId, middle, last])
      expect(await world.view(id)).toMatchObject({ status: "CANCELLED" });
  });

  test("cancels each of its children, whatever happens to one", async () => {
    const runId = await start("many");
    await world.control.cancel(SOMEBODY, runId, "no more");
    failing = "containment.after-cancel";
    await world.reconcile();
    failing = undefined;
    expect((await childrenOf(runId)).map(({ status }) => status)).toEqual([
      "CANCELLED",
      "CANCELLED",
      "CANCELLED",
    ]);
    expect(world.logged.filter(({ message }) => message === "a child could not be cancelled")).toHaveLength(
      3,
    );
    await world.later(60);
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED" });
  });

  test("by a restart contains the child while the run goes on", async () => {
    const runId = await start("restarts");
    await world.later(61);
    await world.later(1);
    expect(await childrenOf(runId)).toMatchObject([{ status: "CANCELLED" }]);
    expect(await world.view(runId)).toMatchObject({
      status: "AWAITING_TIMER",
      containment: [{ kind: "child", acknowledgedBy: "child" }],
    });
    await world.later(3_601);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "second" });
  });
});
