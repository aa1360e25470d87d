import { defineConfig, httpService, workflow, type DelegateOptions } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, expect, test } from "vitest";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const HOUR_MS = 3_600_000;
const signer = httpService({
  url: "https://signer.example/jobs",
  request: z.object({ digest: z.string() }),
  result: z.object({ signature: z.string() }),
  lookup: "authoritative",
  submit: "idempotent",
  cancel: "final",
});

const sign = workflow({
  name: "sign",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ deadline: z.enum(["1h", "30d"]).optional() }),
  run: async (ctx, { deadline }) => {
    const began = ctx.now().getTime();
    const options: DelegateOptions = deadline === undefined ? {} : { deadline };
    const signed = await ctx.delegate("sign", signer, { digest: "d" }, options);
    return { signed, hours: Math.round((ctx.now().getTime() - began) / HOUR_MS) };
  },
});

await databaseOfTheRun();
const ghouls = await startGhouls({ config: defineConfig({ workflows: [sign], services: { signer } }) });
afterAll(() => ghouls.stop());
afterEach(() => ghouls.reset());

test("a scripted job ends in its time, and its run goes on with what it gave", async () => {
  ghouls.script({ jobs: [{ service: "signer", result: { signature: "s" }, after: "3d" }] });
  const run = await ghouls.submit(sign, {});
  expect(await run.result()).toMatchObject({
    signed: { outcome: "SUCCEEDED", result: { signature: "s" } },
    hours: 72,
  });
});

test("the first entry is the first job, and the last all further ones", async () => {
  const error = { code: "no_key", message: "there is no key" };
  ghouls.script({
    jobs: [
      { service: "signer", error },
      { service: "signer", result: { signature: "s" } },
    ],
  });
  const outcomes = [];
  for (let job = 0; job < 3; job += 1) {
    const run = await ghouls.submit(sign, {});
    outcomes.push(await run.result());
  }
  expect(outcomes).toMatchObject([
    { signed: { outcome: "FAILED", error } },
    { signed: { outcome: "SUCCEEDED" } },
    { signed: { outcome: "SUCCEEDED" } },
  ]);
});

test("a job that never ends is cancelled at its deadline, or with its run", async () => {
  ghouls.script({ jobs: [{ service: "signer", never: true }] });
  const run = await ghouls.submit(sign, { deadline: "1h" });
  expect(await run.result()).toMatchObject({ signed: { outcome: "DEADLINE" }, hours: 1 });
  const other = await ghouls.submit(sign, {});
  await other.carryOn();
  await other.cancel();
  await ghouls.clock.advance("1h");
  expect(await other.status()).toBe("CANCELLED");
});

test("a service that no entry names is asked as it is configured; a run that waits for it says so", async () => {
  const run = await ghouls.submit(sign, { deadline: "30d" });
  await run.carryOn();
  expect((await run.view()).waits).toMatchObject([{ kind: "delegate", name: "sign" }]);
});

test("an entry whose time is no duration is refused", () => {
  const jobs = [{ service: "signer", never: true, after: "soon" as "1h" }] as const;
  expect(() => ghouls.script({ jobs })).toThrow('"soon" is not a duration');
});
