import { workflow } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, expect, test } from "vitest";
import { startGhouls } from "./start.ts";

const purchase = workflow({
  name: "purchase",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ amount: z.number() }),
  output: z.object({ bought: z.boolean(), amount: z.number() }),
  run: async (ctx, { amount }) => {
    await ctx.step("reserve", () => amount);
    const consent = await ctx.consent("buy it", {
      deciders: ["role:legal"],
      expires: "3d",
      detail: { amount },
    });
    if (consent.outcome !== "GRANTED") return { bought: false, amount: 0 };
    const paid = await ctx.waitForSignal("paid", { schema: z.object({ amount: z.number() }), timeout: "7d" });
    return { bought: paid.outcome === "RECEIVED", amount };
  },
});
const t0 = performance.now();
const ghouls = await startGhouls({ workflows: [purchase] });
console.log("start", performance.now() - t0);
afterAll(() => ghouls.stop());
afterEach(() => ghouls.reset());

test("approval", async () => {
  const t = performance.now();
  const run = await ghouls.submit(purchase, { amount: 900 });
  const consent = await run.consent("buy it");
  expect(consent).toMatchObject({ title: "buy it", detail: { amount: 900 }, deciders: ["role:legal"] });
  await ghouls.clock.advance("2d");
  await run.decide("buy it", "grant", { as: { subject: "ada", roles: ["legal"] } });
  await run.signal("paid", { amount: 900 });
  expect(await run.result()).toEqual({ bought: true, amount: 900 });
  console.log(await run.steps(), performance.now() - t);
});
test("expiry", async () => {
  const t = performance.now();
  const run = await ghouls.submit(purchase, { amount: 900 });
  expect(await run.result()).toEqual({ bought: false, amount: 0 });
  console.log(await run.timeline(), performance.now() - t);
});
