import { setTimeout as delay } from "node:timers/promises";
import { defineConfig, notDone, workflow, type Codec, type SourceAnswer } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { RunFailedError, RunWaitsError } from "./errors.ts";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const HOUR_MS = 3_600_000;
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const called: string[] = [];

const twoNaps = workflow({
  ...base,
  name: "two-naps",
  run: async (ctx) => {
    const began = ctx.now().getTime();
    await ctx.sleep("1d", { name: "first" });
    const first = await ctx.step("between", () => called.push("between"));
    await ctx.sleep("1d", { name: "second" });
    return { first, hours: Math.round((ctx.now().getTime() - began) / HOUR_MS) };
  },
});
const slow = workflow({
  ...base,
  name: "slow",
  run: async (ctx) => {
    await ctx.sleep("1h", { name: "first" });
    // What real code takes, between two waits.
    await ctx.step("work", () => delay(300));
    await ctx.sleep("1h", { name: "second" });
  },
});
const nap = workflow({
  ...base,
  name: "nap",
  input: z.object({ hours: z.number() }),
  run: async (ctx, { hours }) => {
    await ctx.sleep(`${hours}h`);
    await ctx.step("awake", () => called.push(`${hours}h`));
    return ctx.now().getTime();
  },
});
const flaky = workflow({
  ...base,
  name: "flaky",
  run: (ctx) =>
    ctx.step(
      "flaky",
      ({ tryNumber }) => {
        if (tryNumber < 4) throw new Error("not yet");
        return tryNumber;
      },
      { tries: 4, backoff: { initial: "9s" } },
    ),
});
const flakyOnce = workflow({
  ...base,
  name: "flaky-once",
  run: (ctx) =>
    ctx.step(
      "pay",
      ({ tryNumber }) => {
        if (tryNumber < 3) throw notDone(new Error("the bank is closed"));
        return tryNumber;
      },
      { effect: "once", tries: 3, backoff: { initial: "9s" } },
    ),
});
const listens = workflow({
  ...base,
  name: "listens",
  run: async (ctx) => (await ctx.waitForSignal("paid")).outcome,
});
const deadlined = workflow({
  ...base,
  name: "deadlined",
  deadline: "2d",
  run: (ctx) => ctx.waitForSignal("never"),
});
const asksTwo = workflow({
  ...base,
  name: "asks-two",
  run: async (ctx) => (await ctx.consent("ship it", { deciders: ["role:legal"], quorum: 2 })).outcome,
});
const asksTickets = workflow({
  ...base,
  name: "asks-tickets",
  run: async (ctx) => (await ctx.consent("ship it", { deciders: ["role:legal"], source: "tickets" })).outcome,
});
const countsForEver = workflow({
  ...base,
  name: "counts-for-ever",
  run: async (ctx): Promise<never> => {
    await ctx.step("count", () => called.push("count"));
    return ctx.restart({});
  },
});

const workflows = [twoNaps, slow, nap, flaky, flakyOnce, listens, deadlined, asksTwo, countsForEver];
await databaseOfTheRun();
const ghouls = await startGhouls({ workflows });
afterAll(() => ghouls.stop());
afterEach(async () => {
  called.length = 0;
  await ghouls.reset();
});

describe("the clock", () => {
  test("goes from one thing that is due to the next, so that each sleep begins when the one before has ended", async () => {
    const run = await ghouls.submit(twoNaps, {});
    expect(await run.result()).toEqual({ first: 1, hours: 48 });
  });

  test("does so in advance() as well, and stops where it was told to", async () => {
    const run = await ghouls.submit(twoNaps, {});
    const before = await ghouls.clock.now();
    await ghouls.clock.advance("47h");
    expect(called).toEqual(["between"]);
    expect(await run.status()).toBe("AWAITING_TIMER");
    const moved = (await ghouls.clock.now()).getTime() - before.getTime();
    expect(moved).toBeGreaterThanOrEqual(47 * HOUR_MS);
    expect(moved).toBeLessThan(48 * HOUR_MS);
    await ghouls.clock.advance("1h");
    expect(await run.status()).toBe("DONE");
    await expect(ghouls.clock.advance("soon" as "1d")).rejects.toMatchObject({
      code: "configuration_invalid",
    });
  });

  test("adds up: what code takes between two waits keeps none from being due in its hour", async () => {
    const run = await ghouls.submit(slow, {});
    await run.carryOn();
    await ghouls.clock.advance("90m");
    await ghouls.clock.advance("30m");
    expect(await run.status()).toBe("DONE");
  });

  test("goes to the earliest of several runs that are waited for, whoever was asked first", async () => {
    const [long, short] = [await ghouls.submit(nap, { hours: 9 }), await ghouls.submit(nap, { hours: 1 })];
    const [late, soon] = await Promise.all([long.result(), short.result()]);
    expect(called).toEqual(["1h", "9h"]);
    expect(Math.round((Number(late) - Number(soon)) / HOUR_MS)).toBe(8);
  });

  test("does not wait for a step's next try, however near it is", async () => {
    const run = await ghouls.submit(flaky, {});
    const startedMs = performance.now();
    expect(await (await ghouls.submit(flakyOnce, {})).result()).toBe(3);
    expect(await run.result()).toBe(4);
    // The delays come to 20 seconds at least.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(await run.steps()).toEqual([{ kind: "step", name: "flaky", outcome: "ok", tries: 4 }]);
  });

  test("goes to a deadline where nothing comes before it", async () => {
    const run = await ghouls.submit(deadlined, {});
    const failed = await run.result().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect(failed).toMatchObject({ code: "deadline", status: "FAILED", failure: { name: "Deadline" } });
    expect((failed as Error).message).toContain("AWAITING_SIGNAL");
  });

  test("moves for what was called meanwhile only after a look at that", async () => {
    const waiting = await ghouls.submit(listens, {});
    const sleeping = await ghouls.submit(nap, { hours: 1 });
    const before = await ghouls.clock.now();
    const flow = async () => {
      await waiting.carryOn();
      await waiting.signal("paid");
      await waiting.result();
      return ghouls.clock.now();
    };
    const [heard] = await Promise.all([flow(), sleeping.result()]);
    expect(heard.getTime() - before.getTime()).toBeLessThan(HOUR_MS);
  });

  test("stands where skipTime is off, until it is told to move", async () => {
    await using standing = await startGhouls({ workflows, skipTime: false });
    const run = await standing.submit(twoNaps, {});
    const stuck = await run.result().catch((error: unknown) => error);
    expect(stuck).toBeInstanceOf(RunWaitsError);
    expect((stuck as Error).message).toMatch(
      /is AWAITING_TIMER: it waits for the timer ".*" until .*; move the clock with ghouls\.clock\.advance/,
    );
    await standing.clock.advance("1d");
    await expect(run.result()).rejects.toMatchObject({ waits: [{ kind: "sleep" }] });
    await standing.clock.advance("1d");
    expect(await run.result()).toEqual({ first: 1, hours: 48 });
  });
});

describe("a decision source", () => {
  const asked: string[] = [];
  const config = (answers: () => SourceAnswer) =>
    defineConfig({
      workflows: [asksTickets],
      decisionSources: {
        tickets: {
          lookUp: ({ title }) => {
            asked.push(title);
            return Promise.resolve(answers());
          },
        },
      },
    });

  test("is asked again and again by the ledger's clock, until it answers", async () => {
    asked.length = 0;
    const pending = { outcome: "pending" } as const;
    await using own = await startGhouls({
      config: config(() => (asked.length < 3 ? pending : { outcome: "grant", by: "grace" })),
    });
    const run = await own.submit(asksTickets, {});
    expect(await run.result()).toBe("GRANTED");
    expect(asked).toEqual(["ship it", "ship it", "ship it"]);
  });

  test("that never answers is given up", async () => {
    await using own = await startGhouls({ config: config(() => ({ outcome: "pending" })) });
    const run = await own.submit(asksTickets, {});
    await expect(run.result()).rejects.toThrow('it waits for the consent "ship it"');
  });
});

describe("where nothing will ever come", () => {
  test("result() says at once what the run waits for, and what to write", async () => {
    const run = await ghouls.submit(asksTwo, {});
    await expect(run.result()).rejects.toThrow(
      'the run of "asks-two" is AWAITING_CONSENT: it waits for the consent "ship it" (deciders role:legal) (0 of 2 grants); ' +
        'decide it with run.decide("ship it", "grant", { as: … }) or script it',
    );
    await run.decide("ship it", "grant", { as: { subject: "user:grace", roles: ["legal"] } });
    await expect(run.result()).rejects.toThrow("(1 of 2 grants)");
    await run.decide("ship it", "grant", { as: { subject: "user:edsger", roles: ["legal"] } });
    expect(await run.result()).toBe("GRANTED");
  });

  test("a delivery that goes back again and again is given up, with what was warned of", async () => {
    const codec: Codec = {
      encode: (text) => Promise.resolve(text),
      decode: (stored, { kind }) =>
        kind === "result" ? Promise.reject(new Error("the key is gone")) : Promise.resolve(stored),
    };
    await using own = await startGhouls({ config: defineConfig({ workflows: [twoNaps], codec }) });
    const run = await own.submit(twoNaps, {});
    await expect(run.result()).rejects.toThrow(
      /is QUEUED: nothing is due that would bring it further\n {2}log: a codec could not do its work/,
    );
  });

  test("it says so of a signal, for each that waits for one", async () => {
    const runs = [await ghouls.submit(listens, {}), await ghouls.submit(listens, {})];
    const ends = await Promise.allSettled(runs.map((run) => run.result()));
    for (const end of ends) {
      expect(end).toMatchObject({ status: "rejected", reason: { status: "AWAITING_SIGNAL" } });
      expect(String((end as PromiseRejectedResult).reason)).toContain(
        'the signal "paid"; send it with run.signal("paid", …) or script it',
      );
    }
  });
});

describe("a test that fakes time itself", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("is told so, where timers are faked: nothing would ever come", async () => {
    const run = await ghouls.submit(twoNaps, {});
    vi.useFakeTimers();
    await expect(run.result()).rejects.toMatchObject({ code: "invalid_request" });
    await expect(ghouls.submit(twoNaps, {})).rejects.toThrow("timers of this process are faked");
  });

  test("may fake Date alone, which no run looks at", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    const run = await ghouls.submit(twoNaps, {});
    expect(await run.result()).toMatchObject({ hours: 48 });
  });
});

test.each(["10m", "3d"] as const)(
  "a run that starts %s later is waited for by the clock",
  async (startAfter) => {
    const before = (await ghouls.clock.now()).getTime();
    const run = await ghouls.submit(nap, { hours: 1 }, { startAfter });
    expect(await run.carryOn()).toMatchObject({ status: "QUEUED" });
    const awake = Number(await run.result());
    const hours = (startAfter === "3d" ? 72 : 1 / 6) + 1;
    expect((awake - before) / HOUR_MS).toBeCloseTo(hours, 1);
  },
);

describe("a call that waits", () => {
  test("is refused inside of a step, whose run would wait for itself", async () => {
    const refused: unknown[] = [];
    const keep = (error: unknown) => void refused.push(error);
    const asks = workflow({
      ...base,
      name: "asks-inside",
      run: (ctx) =>
        ctx.step("inside", async () => {
          await run.result().catch(keep);
          await own.clock.advance("1h").catch(keep);
          await own.reset().catch(keep);
          await own.stop().catch(keep);
          await run.signal("said");
        }),
    });
    await using own = await startGhouls({ workflows: [asks] });
    const run = await own.submit(asks, {});
    await run.result();
    expect(refused).toEqual([
      expect.objectContaining({ code: "invalid_request" }),
      expect.objectContaining({ code: "invalid_request" }),
      expect.objectContaining({ code: "invalid_request" }),
      expect.objectContaining({ code: "invalid_request" }),
    ]);
  });

  test("is told that its run was forgotten, and one that runs for ever ends with its Ghouls", async () => {
    const run = await ghouls.submit(countsForEver, {});
    const forgotten = expect(run.result()).rejects.toThrow("forgotten by reset()");
    await expect.poll(() => called.length).toBeGreaterThan(2);
    await ghouls.reset();
    await forgotten;
    await expect(run.view()).rejects.toMatchObject({ code: "not_found" });
    await expect(run.timeline()).rejects.toMatchObject({ code: "not_found" });
    const own = await startGhouls({ workflows });
    const other = await own.submit(countsForEver, {});
    const ended = expect(other.result()).rejects.toThrow("has been stopped");
    await Promise.all([own.stop(), own.stop()]);
    await ended;
    await expect(other.result()).rejects.toThrow("has been stopped");
  });

  test("does not let another test's run go on that nobody waits for", async () => {
    const left = await ghouls.submit(nap, { hours: 1 });
    await left.carryOn();
    const run = await ghouls.submit(nap, { hours: 5 });
    await run.result();
    expect(called).toEqual(["5h"]);
    expect(await left.status()).toBe("QUEUED");
    await left.result();
    expect(called).toEqual(["5h", "1h"]);
  });
});
