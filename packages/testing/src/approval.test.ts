import { workflow } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, expect, expectTypeOf, test } from "vitest";
import { RunFailedError } from "./errors.ts";
import { startGhouls } from "./start.ts";

const purchase = workflow({
  name: "purchase",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ amount: z.number(), currency: z.string().default("EUR") }),
  output: z.object({ bought: z.boolean(), amount: z.number() }),
  run: async (ctx, { amount }) => {
    await ctx.step("reserve", () => amount);
    const consent = await ctx.consent("buy it", {
      deciders: ["role:legal"],
      expires: "3d",
      detail: { amount },
    });
    if (consent.outcome !== "GRANTED") return { bought: false, amount: 0 };
    const paid = await ctx.waitForSignal("paid", {
      schema: z.object({ amount: z.number() }),
      timeout: "7d",
    });
    return { bought: paid.outcome === "RECEIVED", amount };
  },
});
const ADA = { subject: "ada", roles: ["legal"] };

// A server of its own, as a user has it without any setting.
const ghouls = await startGhouls({ workflows: [purchase] });
afterAll(() => ghouls.stop());
afterEach(() => ghouls.reset());

test("a purchase waits three days for legal, in no time that a test would notice", async () => {
  const startedMs = performance.now();
  const run = await ghouls.submit(purchase, { amount: 900 });
  const consent = await run.consent("buy it");
  expect(consent).toMatchObject({ title: "buy it", detail: { amount: 900 }, deciders: ["role:legal"] });
  const before = await ghouls.clock.now();
  expect(Date.parse(consent.expiresAt ?? "") - before.getTime()).toBeGreaterThan(2.9 * 86_400_000);
  await ghouls.clock.advance("2d");
  expect((await ghouls.clock.now()).getTime() - before.getTime()).toBeGreaterThanOrEqual(2 * 86_400_000);
  expect(await run.status()).toBe("AWAITING_CONSENT");
  expect(await run.decide("buy it", "grant", { as: ADA })).toMatchObject({
    status: "GRANTED",
    resumed: true,
  });
  await run.signal("paid", { amount: 900 });
  expect(await run.result()).toEqual({ bought: true, amount: 900 });
  expect(await run.steps()).toEqual([
    { kind: "step", name: "reserve", outcome: "ok", tries: 1 },
    { kind: "consent", name: "buy it", outcome: "ok", tries: 1 },
    { kind: "signal", name: "paid", outcome: "ok", tries: 1 },
  ]);
  // About a quarter of a second where the machine is idle; what is waited for in real time takes days.
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

test("without a decision the clock moves to the expiry, and no further", async () => {
  const run = await ghouls.submit(purchase, { amount: 900 });
  const { expiresAt } = await run.consent();
  expect(await run.result()).toEqual({ bought: false, amount: 0 });
  const late = (await ghouls.clock.now()).getTime() - Date.parse(expiresAt ?? "");
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(60_000);
});

test("input and output have the workflow's types", async () => {
  const run = await ghouls.submit(purchase, { amount: 1 });
  type Result = Awaited<ReturnType<typeof run.result>>;
  expectTypeOf<Result>().toEqualTypeOf<{ bought: boolean; amount: number }>();
  // @ts-expect-error -- the amount is a number
  await expect(ghouls.submit(purchase, { amount: "1" })).rejects.toMatchObject({ code: "input_invalid" });
  await run.cancel("the types have been looked at");
  const failed = await run.result().catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RunFailedError);
  expect(failed).toMatchObject({ code: "cancelled", status: "CANCELLED", failure: { name: "Cancelled" } });
});
