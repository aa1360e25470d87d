import { readFile } from "node:fs/promises";
import { defineConfig, workflow, type DelegateOptions, type Service } from "ghouls";
import * as z from "zod";
import { afterAll, afterEach, describe, expect, expectTypeOf, test } from "vitest";
import { RunWaitsError } from "./errors.ts";
import { databaseOfTheRun } from "./server.support.ts";
import type { StartOptions } from "./start-options.ts";
import { startGhouls } from "./start.ts";

const HOUR_MS = 3_600_000;
/** Whom the real service was asked by, and about what: by nobody, unless a test says so. */
const asked: string[] = [];
const signer: Service<{ digest: string }, { signature: string }> = {
  adapter: "test",
  version: "1",
  identity: "signer",
  request: z.object({ digest: z.string() }),
  result: z.object({ signature: z.string() }),
  traits: { lookup: "advisory", submit: "once", cancel: "final", delaySeconds: 5 },
  times: { timeoutMs: 10_000, pollMs: 30_000, heartbeatMs: null },
  submit: async ({ requestText }) => {
    asked.push(requestText);
    return { state: "succeeded", result: { signature: "real" } };
  },
  lookUp: async () => {
    asked.push("look up");
    return { state: "absent" };
  },
  cancel: async () => {
    asked.push("cancel");
    return { state: "cancelled" };
  },
};

const sign = workflow({
  name: "sign",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ deadline: z.enum(["1h", "1d", "30d"]).optional() }),
  run: async (ctx, { deadline }) => {
    const began = ctx.now().getTime();
    const options: DelegateOptions = deadline === undefined ? {} : { deadline };
    const signed = await ctx.delegate("sign", signer, { digest: "d" }, options);
    return { signed, hours: Math.round((ctx.now().getTime() - began) / HOUR_MS) };
  },
});

const twice = workflow({
  name: "sign-twice",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    await ctx.delegate("first", signer, { digest: "1" });
    await ctx.delegate("second", signer, { digest: "2" });
  },
});

await databaseOfTheRun();
const subject = { workflows: [sign, twice], services: { signer } };
const ghouls = await startGhouls(subject);
afterAll(() => ghouls.stop());
afterEach(async () => {
  asked.length = 0;
  await ghouls.reset();
});

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

describe("a service that no entry names", () => {
  test("is asked nothing, and the test that has forgotten the entry is told what to write", async () => {
    const run = await ghouls.submit(sign, {});
    const stuck = await run.result().catch((error: unknown) => error);
    expect(stuck).toBeInstanceOf(RunWaitsError);
    expect(stuck).toMatchObject({ waits: [{ kind: "delegate", name: "sign" }] });
    const { message } = stuck as Error;
    expect(message).toContain('the job "sign" at the service "signer" (no entry of the script names');
    expect(message).toContain('script it: script: { jobs: [{ service: "signer", result: … }] }');
    expect(message).toContain('ask: "real"');
    expect((await run.jobs())[0]?.trouble?.why).toContain(
      'no entry of the script names the service "signer"',
    );
    expect(asked).toEqual([]);
  });

  test("is not asked later either, and neither a deadline nor the end of the run hides what is forgotten", async () => {
    const run = await ghouls.submit(sign, { deadline: "1h" });
    await ghouls.clock.advance("3h");
    await expect(run.result()).rejects.toThrow("script it:");
    const far = await ghouls.submit(sign, { deadline: "30d" });
    const before = (await ghouls.clock.now()).getTime();
    await expect(far.result()).rejects.toThrow("script it:");
    expect((await ghouls.clock.now()).getTime() - before).toBeLessThan(60_000);
    await far.cancel();
    await expect(far.result()).rejects.toThrow(
      /word about the attempt "sign" at the service "signer" \(no entry of the script names .+ give it with run\.resolve/,
    );
    expect(asked).toEqual([]);
  });

  test("takes the job after all, once an entry is written", async () => {
    const run = await ghouls.submit(sign, {});
    await expect(run.result()).rejects.toThrow("script it:");
    ghouls.script({ jobs: [{ service: "signer", result: { signature: "late" }, after: "1h" }] });
    expect(await run.result()).toMatchObject({ signed: { result: { signature: "late" } }, hours: 1 });
  });

  test("is asked as it is configured where the test says so, beside those that are scripted", async () => {
    await using real = await startGhouls({ ...subject, ask: "real" });
    const run = await real.submit(sign, {});
    expect(await run.result()).toMatchObject({ signed: { result: { signature: "real" } } });
    expect(asked).toEqual(['{"digest":"d"}']);
    real.script({ jobs: [{ service: "signer", result: { signature: "s" } }] });
    const other = await real.submit(sign, {});
    expect(await other.result()).toMatchObject({ signed: { result: { signature: "s" } } });
    expect(asked).toHaveLength(1);
  });
});

test("a job that never ends says so where it is waited for", async () => {
  ghouls.script({ jobs: [{ service: "signer", never: true }] });
  const run = await ghouls.submit(sign, {});
  await expect(run.result()).rejects.toThrow(
    'the job "sign" at the service "signer" (its entry of the script says `never`',
  );
});

test("a test sees what services were asked, and what came of it, the newest first", async () => {
  const error = { code: "no_key", message: "there is no key" };
  ghouls.script({
    jobs: [
      { service: "signer", error },
      { service: "signer", result: { signature: "s" } },
    ],
  });
  const run = await ghouls.submit(twice, {});
  expect(await run.jobs()).toEqual([]);
  await run.result();
  expect(await run.jobs()).toMatchObject([
    {
      name: "second",
      service: "signer",
      request: { digest: "2" },
      status: "SUCCEEDED",
      result: { signature: "s" },
      error: null,
    },
    { name: "first", service: "signer", request: { digest: "1" }, status: "FAILED", result: null, error },
  ]);
  await ghouls.reset();
  expect(await run.jobs()).toEqual([]);
});

describe("an entry", () => {
  const named = { jobs: [{ service: "singer", never: true }] } as const;

  test("whose time is no duration is refused", () => {
    const jobs = [{ service: "signer", never: true, after: "soon" as "1h" }] as const;
    expect(() => ghouls.script({ jobs })).toThrow('"soon" is not a duration');
  });

  test("for a service that there is not is refused with those that there are, and adds nothing", async () => {
    const more = { jobs: [{ service: "signer", result: { signature: "s" } }, ...named.jobs] };
    expect(() => ghouls.script(more)).toThrow(
      expect.objectContaining({
        code: "configuration_invalid",
        message: 'the script names the service "singer", which the configuration has not',
        fix: 'Name one of: "signer".',
      }),
    );
    const run = await ghouls.submit(sign, {});
    await expect(run.result()).rejects.toThrow("no entry of the script names");
  });

  test("for a service that there is not is refused at the start, also where there is none at all", async () => {
    const refused = { code: "configuration_invalid", message: expect.stringContaining('"singer"') };
    await expect(startGhouls({ ...subject, script: named })).rejects.toMatchObject(refused);
    await expect(startGhouls({ workflows: [sign], script: named })).rejects.toMatchObject({
      ...refused,
      fix: expect.stringContaining('services: { "singer": … }'),
    });
  });
});

describe("startGhouls refuses by name", () => {
  const code = "configuration_invalid";
  const start = (options: object) =>
    startGhouls(options as typeof subject).then(
      async (started) => {
        await started.stop();
        throw new Error("it was not refused");
      },
      (error: unknown) => error,
    );

  test("options that it has not", async () => {
    expect(await start({ ...subject, egress: {}, scripts: {} })).toMatchObject({
      code,
      message: 'startGhouls has no option "egress", "scripts"',
      fix: expect.stringContaining("workflows, services, config, script, ask"),
    });
    expect(await start({ ...subject, ask: "reel" })).toMatchObject({
      code,
      message: 'ask is neither "scripted" nor "real"',
    });
  });

  test.each([
    ["what defineConfig has not made", { config: subject }, "was not made by defineConfig()"],
    ["a text", { config: "ghouls.config.ts" }, "was not made by defineConfig()"],
    ["nothing", { config: undefined }, "needs workflows, or a config"],
    ["services alone", { services: { signer } }, "needs workflows, or a config"],
  ])("a configuration that is %s", async (_, options, message) => {
    expect(await start(options)).toMatchObject({
      code,
      message: expect.stringContaining(message),
      fix: expect.stringContaining("defineConfig("),
    });
  });

  test("workflows beside a configuration, also by their types", async () => {
    const both = { config: defineConfig(subject), workflows: [sign] };
    expect(await start(both)).toMatchObject({ code, message: expect.stringContaining("not both") });
    expectTypeOf(both).not.toExtend<StartOptions>();
    expectTypeOf(subject).toExtend<StartOptions>();
  });
});

test("the README's example of scripted jobs is this one, and works", async () => {
  // >
  await using ghouls = await startGhouls({ workflows: [sign], services: { signer } });
  ghouls.script({ jobs: [{ service: "signer", result: { signature: "s" }, after: "2h" }] });
  const run = await ghouls.submit(sign, { deadline: "1d" });
  expect(await run.result()).toMatchObject({ signed: { outcome: "SUCCEEDED" }, hours: 2 });
  expect(await run.jobs()).toMatchObject([
    { name: "sign", service: "signer", request: { digest: "d" }, status: "SUCCEEDED" },
  ]);
  // <
  const [source, readme] = await Promise.all(
    ["jobs.test.ts", "../../../README.md"].map((path) => readFile(new URL(path, import.meta.url), "utf8")),
  );
  const [, example = "none"] = source?.split(/^ {2}\/\/ [<>]\n/m) ?? [];
  expect(readme).toContain(`\`\`\`ts\n${example.replaceAll(/^ {2}/gm, "")}\`\`\``);
});

test("a whole configuration has its services with it", async () => {
  await using own = await startGhouls({
    config: defineConfig(subject),
    script: { jobs: [{ service: "signer", result: { signature: "s" } }] },
  });
  const run = await own.submit(sign, {});
  expect(await run.result()).toMatchObject({ signed: { outcome: "SUCCEEDED" } });
});
