import { workflow } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { RunFailedError, RunWaitsError } from "./errors.ts";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

/** A bank that keeps what was paid, and counts what it was asked. */
const bank = { paid: 0, payments: [] as string[], probed: 0, knows: true };
const called: string[] = [];
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

const pays = workflow({
  ...base,
  name: "pays",
  run: async (ctx) => {
    await ctx.step("before", () => called.push("before"));
    const payment = await ctx.step(
      "pay",
      ({ idempotencyKey }) => {
        bank.payments.push(idempotencyKey);
        return "paid";
      },
      {
        effect: "once",
        probe: ({ idempotencyKey }) => {
          bank.probed += 1;
          if (!bank.knows) return { outcome: "unknown" };
          return bank.payments.includes(idempotencyKey)
            ? { outcome: "happened", result: "found" }
            : { outcome: "cannot_happen" };
        },
      },
    );
    return payment;
  },
});
const steps = workflow({
  ...base,
  name: "steps",
  run: async (ctx) => {
    await ctx.step("one", () => called.push("one"));
    await ctx.step("two", ({ tryNumber }) => {
      called.push("two");
      if (called.filter((name) => name === "two").length === 1 && tryNumber === 1) onTwo();
    });
    return called.length;
  },
});
const fragile = workflow({
  ...base,
  name: "fragile",
  onWorkerLoss: "fail",
  run: (ctx) => ctx.step("one", () => called.push("one")),
});
let onTwo = () => {};

await databaseOfTheRun();
const ghouls = await startGhouls({ workflows: [pays, steps, fragile] });
afterAll(() => ghouls.stop());
afterEach(async () => {
  Object.assign(bank, { paid: 0, payments: [], probed: 0, knows: true });
  called.length = 0;
  onTwo = () => {};
  await ghouls.reset();
});

describe("a worker that is lost", () => {
  test("after an effect that happens once: its probe is asked, and the effect is not repeated", async () => {
    const run = await ghouls.submit(pays, {});
    run.crashAfter("pay");
    const before = await ghouls.clock.now();
    expect(await run.result()).toBe("found");
    expect(bank).toMatchObject({ payments: [expect.any(String)], probed: 1 });
    expect(called).toEqual(["before"]);
    const timeline = await run.timeline();
    expect(timeline).toContainEqual(expect.objectContaining({ kind: "settled", outcome: "lost" }));
    const workers = timeline.flatMap((entry) => (entry.kind === "claimed" ? [entry.worker] : []));
    expect(new Set(workers).size).toBeGreaterThan(1);
    // Its lease, and then the time for which its process might have acted.
    const passed = (await ghouls.clock.now()).getTime() - before.getTime();
    expect(passed).toBeGreaterThanOrEqual(15 * 60_000);
  });

  test("where the probe does not know either, result() names the word that it waits for", async () => {
    bank.knows = false;
    const run = await ghouls.submit(pays, {});
    run.crashAfter("pay");
    const stuck = await run.result().catch((error: unknown) => error);
    expect(stuck).toBeInstanceOf(RunWaitsError);
    expect(stuck).toMatchObject({ status: "FAILING" });
    expect((stuck as Error).message).toMatch(
      /it waits for somebody's word about the effect "pay"; give it with run\.resolve\("effect/,
    );
    const { containment } = await run.view();
    const item = containment.find(({ kind }) => kind === "effect");
    await run.resolve(item?.id ?? "", "the bank says that it was paid");
    await expect(run.result()).rejects.toMatchObject({ code: "effect_unknown", failure: { step: "pay" } });
  });

  test("in the middle of a step: nothing that it still does is written, and the step is run again", async () => {
    onTwo = () => ghouls.loseWorker();
    const run = await ghouls.submit(steps, {});
    expect(await run.result()).toBe(3);
    expect(called).toEqual(["one", "two", "two"]);
    expect(await run.steps()).toEqual([
      { kind: "step", name: "one", outcome: "ok", tries: 1 },
      { kind: "step", name: "two", outcome: "ok", tries: 1 },
    ]);
  });

  test("ends a run that does not resume as ghoul_lost", async () => {
    const run = await ghouls.submit(fragile, {});
    run.crashAfter("one");
    const failed = await run.result().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect(failed).toMatchObject({ code: "ghoul_lost", runId: run.id });
  });

  test("cannot be lost where there is none, and a crash that was not reached is forgotten by reset()", async () => {
    expect(() => ghouls.loseWorker()).toThrow("no worker carries a run at this moment");
    const run = await ghouls.submit(steps, {});
    run.crashAfter("never");
    expect(await run.result()).toBe(2);
  });
});

describe("the queue", () => {
  test("may lose messages and hand them out twice: the run ends once, with each step once", async () => {
    ghouls.queue.dropNext();
    ghouls.queue.duplicateNext(2);
    const run = await ghouls.submit(steps, {});
    expect(await run.result()).toBe(2);
    expect(called).toEqual(["one", "two"]);
    const [lost, repeated] = ghouls.queue.published;
    expect(lost).toMatchObject({ queue: "runs", body: `run:${run.id}:1`, copies: 0 });
    expect(repeated).toMatchObject({ body: `run:${run.id}:1`, copies: 2 });
    // The relay has looked after its time, by the ledger's clock.
    expect((repeated?.dueAt.getTime() ?? 0) - (lost?.dueAt.getTime() ?? 0)).toBeGreaterThanOrEqual(60_000);
  });

  test("that loses everything is given up, and not waited for", async () => {
    ghouls.queue.dropNext(1_000);
    const run = await ghouls.submit(steps, {});
    await expect(run.result()).rejects.toThrow(
      'the run of "steps" is QUEUED: nothing is due that would bring it further',
    );
    expect(called).toEqual([]);
  });
});
