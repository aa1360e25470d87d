import { workflow } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const HOUR_MS = 3_600_000;
const ADA = { subject: "user:ada", roles: ["legal"] };
const GRACE = { subject: "user:grace", roles: ["legal"] };
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

const ship = workflow({
  ...base,
  name: "ship",
  run: async (ctx) => {
    const began = ctx.now().getTime();
    const consent = await ctx.consent("ship version 2", {
      deciders: ["role:legal"],
      quorum: 2,
      expires: "30d",
    });
    const hours = Math.round((ctx.now().getTime() - began) / HOUR_MS);
    return { outcome: consent.outcome, by: consent.decisions.map(({ by }) => by), hours };
  },
});
const order = workflow({
  ...base,
  name: "order",
  run: async (ctx) => [
    await ctx.waitForSignal("paid"),
    await ctx.waitForSignal("paid"),
    await ctx.waitForSignal("paid", { timeout: "1h" }),
  ],
});
const both = workflow({
  ...base,
  name: "both",
  run: async (ctx) => {
    const { winner } = await ctx.first({ paid: ctx.waitForSignal("paid"), late: ctx.sleep("2h") });
    return winner;
  },
});

const script = {
  consents: [
    { title: /ship/g, decide: "grant", as: ADA, after: "3d", comment: "read it" },
    { title: "ship version 2", workflow: "ship", decide: "grant", as: GRACE, after: "1d" },
    { title: "ship", decide: "deny", as: GRACE },
    { workflow: "another", decide: "deny", as: GRACE },
  ],
} as const;

await databaseOfTheRun();
const ghouls = await startGhouls({ workflows: [ship, order, both], script });
afterAll(() => ghouls.stop());
afterEach(() => ghouls.reset());

describe("a script", () => {
  test("decides each consent that fits, everybody in their time, until the quorum is reached", async () => {
    const run = await ghouls.submit(ship, {});
    expect(await run.result()).toEqual({ outcome: "GRANTED", by: ["user:grace", "user:ada"], hours: 72 });
    expect((await run.consents())[0]?.decisions).toMatchObject([{ comment: null }, { comment: "read it" }]);
  });

  test("leaves a consent alone that was closed before its time", async () => {
    const run = await ghouls.submit(ship, {});
    await run.decide(/version 2/, "deny", { as: ADA });
    expect(await run.result()).toMatchObject({ outcome: "DENIED", by: ["user:ada"] });
    await ghouls.clock.advance("4d");
  });

  test("of two decisions at one moment the second finds the consent closed, and is no fault", async () => {
    ghouls.script({ consents: [{ decide: "deny", as: ADA }] });
    ghouls.script({ consents: [{ decide: "grant", as: GRACE }] });
    const run = await ghouls.submit(ship, {});
    expect(await run.result()).toMatchObject({ outcome: "DENIED", by: ["user:ada"] });
  });

  test("answers each wait for a signal, entry by entry, and may come too late", async () => {
    ghouls.script({
      signals: [
        { name: "paid", payload: { part: 1 }, after: "1h" },
        { name: "paid", payload: { part: 2 }, as: ADA },
        { name: "other" },
        { name: "paid", after: "2h" },
      ],
    });
    const run = await ghouls.submit(order, {});
    expect(await run.result()).toMatchObject([
      { outcome: "RECEIVED", payload: { part: 1 }, from: "service:script" },
      { outcome: "RECEIVED", payload: { part: 2 }, from: "user:ada" },
      { outcome: "TIMED_OUT" },
    ]);
  });

  test("acts in advance() as well, in its order among timers", async () => {
    ghouls.script({ signals: [{ name: "paid", after: "1h" }] });
    const run = await ghouls.submit(both, {});
    await ghouls.clock.advance("3h");
    expect(await run.status()).toBe("DONE");
    expect(await run.result()).toBe("paid");
  });

  test("is set back to what it was at the start by reset()", async () => {
    ghouls.script({ signals: [{ name: "paid" }] });
    await ghouls.reset();
    const run = await ghouls.submit(both, {});
    expect(await run.result()).toBe("late");
  });

  test("whose decider may not decide fails the call that waits, in the words of the engine", async () => {
    ghouls.script({ consents: [{ decide: "grant", as: { subject: "user:eve" } }] });
    const run = await ghouls.submit(ship, {});
    await expect(run.result()).rejects.toMatchObject({ code: "not_a_decider" });
  });

  test("with a time that is none is refused when it is written, before anything is started", async () => {
    const soon = { name: "paid", after: "soon" as "1s" };
    await expect(startGhouls({ workflows: [ship], script: { signals: [soon] } })).rejects.toMatchObject({
      code: "configuration_invalid",
    });
    expect(() => ghouls.script({ signals: [soon] })).toThrow('"soon" is not a duration');
  });
});
