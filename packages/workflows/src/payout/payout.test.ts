import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGhouls } from "@ghouls/testing";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { balances, lookUp, pay, reverse } from "./bank.ts";
import { payout } from "./payout.ts";

const ghouls = await startGhouls({ workflows: [payout] });
afterAll(() => ghouls.stop());
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ghouls-bank-"));
  vi.stubEnv("PAYOUT_BANK", folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await ghouls.reset();
  await rm(folder, { recursive: true });
});

const payments = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `payee ${at}`, cents: 1 + at }));
const paid = async () => [...(await balances()).values()];

test("pays everybody once", async () => {
  const run = await ghouls.submit(payout, { payments: payments(20) });
  expect(await run.result()).toEqual({ payments: 20, cents: 210 });
  expect((await paid()).map(({ cents, times }) => cents * times).toSorted((a, b) => a - b)).toEqual(
    payments(20).map(({ cents }) => cents),
  );
});

test("above its limit takes all of it back before it is FAILED", async () => {
  const run = await ghouls.submit(payout, { payments: payments(20), limitCents: 209 });
  await expect(run.result()).rejects.toThrow("the payments come to 210 cents, and 209 are the limit");
  expect(await paid()).toEqual(Array.from({ length: 20 }, () => ({ cents: 0, times: 1 })));
  const { containment } = await run.view();
  expect(
    containment.filter(({ kind, acknowledgement }) => kind === "undo" && acknowledgement === "it is undone"),
  ).toHaveLength(20);
});

test("of a bank that lies comes to the truth: what nobody knows of is taken back, whether it was paid or not", async () => {
  vi.stubEnv("PAYOUT_BANK_LIES", "yes");
  const run = await ghouls.submit(payout, { payments: payments(100) });
  // Some of its payments are refused again and again: the batch fails, and is undone.
  await expect(run.result()).rejects.toMatchObject({ code: "step_failed" });
  expect((await paid()).every(({ cents, times }) => cents === 0 && times === 1)).toBe(true);
});

test("the bank pays again what is asked for again, and takes no key that it has reversed", async () => {
  const payment = { key: "a", to: "ada", cents: 5 };
  expect([await lookUp("a"), [...(await balances())]]).toEqual(["not paid", []]);
  await pay(payment);
  await pay(payment);
  expect([await lookUp("a"), (await balances()).get("a")]).toEqual(["paid", { cents: 10, times: 2 }]);
  await reverse("a");
  await reverse("a");
  expect((await balances()).get("a")).toEqual({ cents: 0, times: 2 });
  await expect(pay(payment)).rejects.toMatchObject({ name: "NotDoneError" });
  await rm(join(folder, "book.jsonl"));
  await expect(balances({ PAYOUT_BANK: import.meta.filename })).rejects.toMatchObject({ code: "ENOTDIR" });
});
