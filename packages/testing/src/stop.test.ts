import { afterAll, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
let release = Promise.withResolvers<void>();
const hangs = workflow({
  ...base,
  name: "hangs",
  run: (ctx) => ctx.step("never", () => release.promise, { timeout: "1s", tries: 1 }),
});
const stands = workflow({ ...base, name: "stands", run: () => release.promise });
const spins = workflow({
  ...base,
  name: "spins",
  run: async (ctx) => {
    await ctx.step("one", () => 1);
    return ctx.restart({});
  },
});
const db = await databaseOfTheRun();
afterAll(() => release.resolve());
const within = (ms: number, promise: Promise<unknown>) =>
  Promise.race([
    promise.then(() => "ended"),
    new Promise((resolve) => setTimeout(() => resolve("hangs"), ms)),
  ]);

test.each([
  ["a step never returns", hangs],
  ["a workflow waits for nothing that Ghouls knows", stands],
  ["a workflow restarts for ever", spins],
])("stop() comes back and drops the schema where %s", async (_, one) => {
  const ghouls = await startGhouls({ workflows: [one] });
  const run = await ghouls.submit(one, {});
  const result = run.result().catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const stopped = ghouls.stop();
  const how = await within(60_000, stopped);
  const schemas = await db.admin("select nspname from pg_namespace where nspname like 'ghouls_test_%'");
  release.resolve();
  release = Promise.withResolvers();
  await Promise.all([stopped, result]);
  expect({ how, schemas: schemas.length }).toEqual({ how: "ended", schemas: 0 });
});

test("reset() says that a run cannot be forgotten whose code has not come back", async () => {
  const ghouls = await startGhouls({ workflows: [stands] });
  const run = await ghouls.submit(stands, {});
  const result = run.result().catch((error: unknown) => error);
  await expect.poll(() => run.status()).toBe("RUNNING");
  await expect(ghouls.reset()).rejects.toMatchObject({ code: "invalid_request" });
  release.resolve();
  release = Promise.withResolvers();
  await result;
  await ghouls.stop();
});
