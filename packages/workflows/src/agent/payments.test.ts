import { mkdir, readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { paymentsFolder } from "./agent.support.ts";
import { pay, payments } from "./payments.ts";

const env = async () => ({ AGENT_PAYMENTS: await paymentsFolder() });
const payment = (key: string) => ({ key, order: "1001", cents: 5 });

test("what was paid twice is there twice: nothing in the file hides it", async () => {
  const where = await env();
  expect(await payments(where)).toEqual([]);
  for (const key of ["a", "b", "a"]) await pay(payment(key), where);
  expect((await payments(where)).map(({ key }) => key)).toEqual(["a", "b", "a"]);
});

test("half a payment, of a process that was killed in its middle, is none, and spoils no other", async () => {
  const where = await env();
  const file = join(where.AGENT_PAYMENTS, "payments.jsonl");
  await pay(payment("a"), where);
  await pay(payment("half"), where);
  await truncate(file, (await readFile(file)).length - 1);
  await pay(payment("b"), where);
  expect((await payments(where)).map(({ key }) => key)).toEqual(["a", "b"]);
});

test("a file that cannot be read is no empty one, and one that cannot be opened has certainly taken nothing", async () => {
  const where = await env();
  await mkdir(join(where.AGENT_PAYMENTS, "payments.jsonl"));
  await expect(payments(where)).rejects.toMatchObject({ code: "EISDIR" });
  await expect(pay(payment("a"), where)).rejects.toMatchObject({ name: "NotDoneError" });
});
