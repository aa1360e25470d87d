import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type pg from "pg";
import type { WakeHint } from "@ghouls/core";
import { hintWorld } from "../support/hint-world.ts";
import { SOMEBODY, requestOf } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("hello"),
});
const world = await hintWorld({ workflows: [hello] });
const { db, hint, ledger, clock } = world;

beforeEach(async () => {
  await world.idle();
  // The hourly look is due, so that the reconciler of each race connects.
  await world.pass(3_600);
});

/** An admission in a transaction of its own: the hint is lowered and the run written, then it is committed. */
function admitter() {
  let client: pg.Client;
  return {
    lowers: async () => {
      client = await db.client("application");
      await client.query("set idle_in_transaction_session_timeout = 0");
      await client.query("begin");
      await world.admission.admitIn(client, SOMEBODY, requestOf({ workflow: "hello", input: null }));
    },
    commits: () => client.query("commit"),
  };
}

/** A reconciler that stops before each of its three dealings with hint and ledger, until the race lets it go on. */
function reconciler() {
  const steps = ["reads", "looks", "raises"] as const;
  const gates = new Map(
    steps.map((step) => [
      step,
      { open: Promise.withResolvers<void>(), passed: Promise.withResolvers<void>() },
    ]),
  );
  const past = async <T>(step: (typeof steps)[number], call: () => Promise<T>): Promise<T> => {
    const gate = gates.get(step);
    await gate?.open.promise;
    try {
      return await call();
    } finally {
      gate?.passed.resolve();
    }
  };
  let raised: boolean | undefined;
  const gated: WakeHint = {
    keeps: hint.keeps,
    read: () => past("reads", () => hint.read()),
    lower: () => Promise.reject(new Error("a reconciler lowers nothing")),
    raise: (version, nowMs, dueAtMs) =>
      past("raises", async () => (raised = await hint.raise(version, nowMs, dueAtMs))),
  };
  const done = world.invoke({
    hint: gated,
    ledger: { ...ledger, nextLook: () => past("looks", () => ledger.nextLook()) },
    hintPatienceMs: 20_000,
  });
  const step = (name: (typeof steps)[number]) => async (): Promise<void> => {
    gates.get(name)?.open.resolve();
    // Where the hint is not raised there is no such step: then the reconciler has ended.
    await Promise.race([gates.get(name)?.passed.promise, done]);
  };
  return {
    done,
    raised: () => raised,
    reads: step("reads"),
    looks: step("looks"),
    raises: step("raises"),
  };
}

/** All orders of two sequences, each in its own order. */
function interleavings<T>(a: readonly T[], b: readonly T[]): T[][] {
  const [firstA, ...restA] = a;
  const [firstB, ...restB] = b;
  if (firstA === undefined) return [[...b]];
  if (firstB === undefined) return [[...a]];
  return [
    ...interleavings(restA, b).map((rest) => [firstA, ...rest]),
    ...interleavings(a, restB).map((rest) => [firstB, ...rest]),
  ];
}

const ORDERS = interleavings<"lowers" | "commits" | "reads" | "looks" | "raises">(
  ["lowers", "commits"],
  ["reads", "looks", "raises"],
).map((order) => [order.join(", "), order] as const);

describe("an admission against a reconciler that is about to sleep", () => {
  test.each(ORDERS)("%s: the next invocation looks, and publishes what was dropped", async (_, order) => {
    const [a, r] = [admitter(), reconciler()];
    for (const step of order) await (step === "lowers" || step === "commits" ? a[step]() : r[step]());
    await r.done;
    // A raise comes through only before the lowering, which then takes it back.
    expect(r.raised() ?? false).toBe(order.indexOf("raises") < order.indexOf("lowers"));
    // Nobody publishes: its process is dead.
    expect(await world.minutes(2)).toEqual([1, 2]);
    const [delivery] = await db.admin<{ publications: number }>("select publications from ghouls.deliveries");
    expect(delivery?.publications).toBeGreaterThan(0);
  });

  test("a commit at the end of the grace is seen: until then nobody concludes anything from its absence", async () => {
    const a = admitter();
    await a.lowers();
    for (let second = 0; second < 119; second += 17) {
      await world.pass(17);
      await world.invoke();
    }
    await a.commits();
    expect(await world.minutes(1)).toEqual([1]);
    expect((await world.state())?.dueAtMs).toBeLessThanOrEqual(clock.wallMs());
  });

  test("a commit after it costs the hour at most", async () => {
    const a = admitter();
    await a.lowers();
    await world.minutes(3);
    expect((await world.state())?.dueAtMs).toBeGreaterThan(clock.wallMs());
    await a.commits();
    expect(await world.minutes(59)).toEqual([59]);
    const [delivery] = await db.admin<{ publications: number }>("select publications from ghouls.deliveries");
    expect(delivery?.publications).toBe(1);
  });
});

describe("two reconcilers", () => {
  test("that looked at the same time write the same hour, and one lowering between them beats both", async () => {
    const both = [reconciler(), reconciler()];
    for (const one of both) await one.reads();
    for (const one of both) await one.looks();
    await both[0]?.raises();
    expect(both[0]?.raised()).toBe(true);
    await world.submit("hello");
    await both[1]?.raises();
    await Promise.all(both.map((one) => one.done));
    expect(both[1]?.raised()).toBe(false);
    expect((await world.state())?.dueAtMs).toBe(clock.wallMs());
  });
});
