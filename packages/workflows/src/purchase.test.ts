import { startGhouls } from "@ghouls/testing";
import { afterAll, afterEach, expect, test } from "vitest";
import { purchase } from "./purchase.ts";

const ghouls = await startGhouls({ workflows: [purchase] });
afterAll(() => ghouls.stop());
afterEach(() => ghouls.reset());

test("a purchase waits for legal, and for the payment", async () => {
  const run = await ghouls.submit(purchase, { amount: 900 });
  expect(await run.consent("buy it")).toMatchObject({ detail: { amount: 900 } });
  await ghouls.clock.advance("2d");
  await run.decide("buy it", "grant", { as: { subject: "user:ada", roles: ["legal"] } });
  await run.signal("paid", { amount: 900 });
  expect(await run.result()).toEqual({ bought: true });
});

test("nobody decides for three days: nothing is bought", async () => {
  const run = await ghouls.submit(purchase, { amount: 900 });
  expect(await run.result()).toEqual({ bought: false });
});
