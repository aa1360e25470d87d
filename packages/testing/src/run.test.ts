import { NonRetryableError, defineConfig, workflow } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { RunFailedError, RunWaitsError } from "./errors.ts";
import type { TestRun } from "./run.ts";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const ADA = { subject: "user:ada", roles: ["legal"] };
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

const asks = workflow({
  ...base,
  name: "asks",
  run: async (ctx) => {
    await ctx.sleep("1h");
    return (await ctx.consent("ship it", { deciders: ["role:legal"], expires: "1d" })).outcome;
  },
});
const greets = workflow({
  ...base,
  name: "greets",
  input: z.object({ name: z.string() }),
  output: z.object({ at: z.date(), greeting: z.string() }),
  run: async (ctx, { name }) => ({
    at: ctx.now(),
    greeting: await ctx.step("greet", () => `Hello, ${name}`),
  }),
});
const fails = workflow({
  ...base,
  name: "fails",
  run: (ctx) =>
    ctx.step("charge", () => {
      throw new NonRetryableError("the card was refused");
    }),
});
const calledBack = workflow({
  ...base,
  name: "called-back",
  run: async (ctx) => {
    await ctx.step("ask", () => onAsk());
    return ctx.waitForSignal("answer", { timeout: "1h" });
  },
});
const asksTwice = workflow({
  ...base,
  name: "asks-twice",
  run: async (ctx) => [
    (await ctx.consent("ship it", { deciders: ["role:legal"] })).outcome,
    (await ctx.consent("ship it", { deciders: ["role:legal"] })).outcome,
  ],
});
const asksLater = workflow({
  ...base,
  name: "asks-later",
  run: async (ctx) => {
    const first = await ctx.consent("ship it", { deciders: ["role:legal"] });
    await ctx.sleep("2h");
    const second = await ctx.consent("ship it", { deciders: ["role:legal"], expires: "1d" });
    return [first.outcome, second.outcome];
  },
});
let onAsk = (): unknown => undefined;

const logged: string[] = [];
const hear = (message: string) => void logged.push(message);
const db = await databaseOfTheRun();
const ghouls = await startGhouls({
  config: defineConfig({ workflows: [asks, greets, fails, calledBack, asksTwice, asksLater] }),
  as: ADA,
  log: { debug: hear, info: hear, warn: hear, error: hear },
});
afterAll(() => ghouls.stop());
afterEach(async () => {
  logged.length = 0;
  onAsk = () => undefined;
  await ghouls.reset();
});
const GRACE = { subject: "user:grace", roles: ["legal"] };

test("a second word about the same title is one about the consent that is asked for next, however much later", async () => {
  const run = await ghouls.submit(asksLater, null);
  await run.decide("ship it", "grant", { as: GRACE });
  await run.decide("ship it", "grant", { as: GRACE });
  expect(await run.result()).toEqual(["GRANTED", "GRANTED"]);
  await expect(run.decide("ship it", "deny", { as: GRACE })).rejects.toMatchObject({
    code: "consent_closed",
  });
});

test("what a call throws says what to do, and where in the test it was made", async () => {
  const run = await ghouls.submit(asks, null);
  const refused = (await run
    .decide("ship it", "grant", { as: ADA })
    .catch((error: unknown) => error)) as Error;
  expect(refused.message).toMatch(/\n {2}\S/);
  expect(refused.stack).toContain("run.test.ts");
  const failed = (await (
    await ghouls.submit(fails, null)
  )
    .result()
    .catch((error: unknown) => error)) as Error;
  expect(failed.stack).toContain("run.test.ts");
  const invalid = (await ghouls
    .submit(greets, { name: 1 } as never)
    .catch((error: unknown) => error)) as Error;
  expect(invalid.message).toContain("/input/name");
  expect(invalid.stack).toContain("run.test.ts");
});

describe("a run", () => {
  test("is where it was admitted until something waits for it, and gives its output by way of JSON", async () => {
    const run = await ghouls.submit(greets, { name: "Ada" }, { queue: "rites", priority: 9, agent: "smith" });
    expect(await run.view()).toMatchObject({ status: "QUEUED", queue: "rites", priority: 9, agent: "smith" });
    const { at, greeting } = await run.result();
    expect(greeting).toBe("Hello, Ada");
    expect(new Date(at).toISOString()).toBe(at);
    expect(await run.steps()).toEqual([{ kind: "step", name: "greet", outcome: "ok", tries: 1 }]);
    expect((await run.timeline()).at(-1)).toMatchObject({ kind: "finished", status: "DONE" });
    expect(logged).toContain("run settled");
  });

  test("under the same key is the same run, and another request under it is a conflict", async () => {
    const key = { idempotencyKey: "order-7" };
    const one = await ghouls.submit(greets, { name: "Ada" }, key);
    const again = await ghouls.submit(greets, { name: "Ada" }, key);
    expect(again.id).toBe(one.id);
    await expect(ghouls.submit(greets, { name: "Bob" }, key)).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
  });

  test("that cannot be asked for like this is refused, with the path", async () => {
    await expect(ghouls.submit(greets, { name: "Ada" }, { priority: 10 })).rejects.toMatchObject({
      code: "invalid_request",
      issues: [{ path: "/priority" }],
    });
    const unknown = workflow({ ...base, name: "unknown", run: () => Promise.resolve() });
    await expect(ghouls.submit(unknown, {})).rejects.toMatchObject({ code: "unknown_workflow" });
  });

  test("that fails tells its code, its step and what was thrown", async () => {
    const run = await ghouls.submit(fails, {});
    const failed = await run.result().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect(failed).toMatchObject({
      name: "RunFailedError",
      status: "FAILED",
      code: "step_failed",
      failure: { step: "charge", message: expect.stringContaining("the card was refused") },
    });
    expect((failed as Error).message).toContain('the run of "fails" is FAILED (step_failed)');
    await expect(run.consent()).rejects.toBeInstanceOf(RunFailedError);
    await expect(run.signal("late")).rejects.toMatchObject({ code: "run_ended" });
  });

  test("that is cancelled ends as CANCELLED", async () => {
    const run = await ghouls.submit(asks, {});
    expect(await run.carryOn()).toMatchObject({ status: "AWAITING_TIMER", waits: [{ kind: "sleep" }] });
    expect(await run.cancel()).toMatchObject({ cancelled: true });
    await expect(run.result()).rejects.toMatchObject({ code: "cancelled", status: "CANCELLED" });
  });

  test("whose truth disagrees is quarantined: result() says so, and clear lets it go on", async () => {
    const run = await ghouls.submit(asks, {});
    await run.carryOn();
    const [found] = await db.admin<{ schema: string }>(
      "select nspname as schema from pg_namespace where nspname like 'ghouls\\_test\\_%'",
    );
    const checkpoint = `update ${found?.schema}.checkpoints set journal_digest =`;
    const [kept] = await db.admin<{ journal_digest: string }>(
      `select journal_digest from ${found?.schema}.checkpoints`,
    );
    await db.admin(`${checkpoint} 'another'`);
    const stuck = await run.result().catch((error: unknown) => error);
    expect(stuck).toBeInstanceOf(RunWaitsError);
    expect((stuck as Error).message).toMatch(
      /the end of its quarantine \(.+\); end it with run\.clear\("…"\)/,
    );
    expect((stuck as Error).message).toContain("log: run quarantined");
    await db.admin(`${checkpoint} $1`, [kept?.journal_digest]);
    expect(await run.clear("the checkpoint is back")).toMatchObject({ cleared: true });
    await run.decide("ship it", "grant", { as: GRACE });
    expect(await run.result()).toBe("GRANTED");
  });
});

describe("a consent", () => {
  test("is waited for, over timers, with all that its deciders are shown", async () => {
    const run = await ghouls.submit(asks, {});
    expect(await run.consent(/ship/)).toMatchObject({ title: "ship it", quorum: 1, requestedBy: "user:ada" });
  });

  test("refuses who may not decide, whoever asked for the run, and a digest of another request", async () => {
    const run = await ghouls.submit(asks, {});
    const decide = (as: { subject: string; roles?: string[] }, digest?: string) =>
      run.decide("ship it", "grant", { as, ...(digest === undefined ? {} : { digest }) });
    await expect(decide({ subject: "user:eve" })).rejects.toMatchObject({ code: "not_a_decider" });
    await expect(decide(ADA)).rejects.toMatchObject({ code: "not_a_decider" });
    await expect(decide(GRACE, "0".repeat(64))).rejects.toMatchObject({ code: "consent_changed" });
    expect(await run.status()).toBe("AWAITING_CONSENT");
    await run.decide("ship it", "deny", { as: GRACE, comment: "not today" });
    expect(await run.result()).toBe("DENIED");
    expect((await run.consents())[0]?.decisions).toMatchObject([{ by: "user:grace", comment: "not today" }]);
  });

  test("whose time is over refuses a decision, and one that never comes is told", async () => {
    const run = await ghouls.submit(asks, {});
    await run.consent();
    await ghouls.clock.advance("1d");
    await expect(run.decide("ship it", "grant", { as: GRACE })).rejects.toMatchObject({
      code: "consent_closed",
    });
    expect(await run.result()).toBe("EXPIRED");
    await expect(run.consent("ship it")).rejects.toMatchObject({ code: "run_ended" });
    await expect(run.consent()).rejects.toThrow("the run is DONE, and a consent is not open");
  });
});

test("a consent of the same title that comes later is decided, and not the one that is closed", async () => {
  const run = await ghouls.submit(asksTwice, {});
  await run.decide("ship it", "grant", { as: GRACE });
  await run.decide("ship it", "deny", { as: GRACE });
  expect(await run.result()).toEqual(["GRANTED", "DENIED"]);
});

describe("a step of a test may call back", () => {
  test("with a signal that comes before it is waited for", async () => {
    const runs: TestRun<unknown>[] = [];
    onAsk = () => runs[0]?.signal("answer", { yes: true }, { as: ADA, idempotencyKey: "once" });
    runs.push(await ghouls.submit(calledBack, {}));
    expect(await runs[0]?.result()).toMatchObject({
      outcome: "RECEIVED",
      payload: { yes: true },
      from: "user:ada",
    });
  });

  test("but cannot decide what its run has not asked for", async () => {
    const runs: TestRun<unknown>[] = [];
    let refused: unknown;
    onAsk = async () => {
      refused = await runs[0]?.decide("ship it", "grant", { as: GRACE }).catch((error: unknown) => error);
    };
    runs.push(await ghouls.submit(calledBack, {}));
    expect(await runs[0]?.result()).toEqual({ outcome: "TIMED_OUT" });
    expect(refused).toMatchObject({ code: "not_found" });
  });
});

test("a payload that JSON would change is refused", async () => {
  const run = await ghouls.submit(asks, {});
  await expect(run.signal("paid", { amount: Number.NaN })).rejects.toThrow(/NaN/);
});
