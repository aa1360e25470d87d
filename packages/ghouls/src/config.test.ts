import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { GhoulsError, runLogger, type Duration, type LogFields } from "@ghouls/core";
import { defineConfig } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { loadConfig } from "./load-config.ts";
import { jsonLogger } from "./logger.ts";
import { httpService } from "./services/http-service.ts";
import { workflow } from "./workflow.ts";

const options = {
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.null(),
  run: () => Promise.resolve(null),
} as const;

function refusal(act: () => unknown): GhoulsError {
  try {
    act();
  } catch (error) {
    if (error instanceof GhoulsError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

describe("a workflow is refused with what to write", () => {
  test.each([
    ["a name with spaces", { name: "hello world" }, /Use letters/],
    ["no whole version", { version: 1.5 }, /whole number/],
    ["no word on lost workers", { onWorkerLoss: undefined }, /"resume".*"fail"/],
    ["a queue that no queue can be called", { queue: "A B" }, /configuration's queues/],
    ["an input that is no schema", { input: {} }, /zod schema/],
    ["no function", { run: "x" }, /async run/],
    ["a deadline of another form", { deadline: "tomorrow" }, /number and a unit/],
  ])("%s", (_name, change, fix) => {
    const refused = refusal(() => workflow({ ...options, ...change } as never));
    expect(refused.code).toBe("configuration_invalid");
    expect(refused.fix).toMatch(fix);
  });
});

describe("a configuration", () => {
  test("has two queues and every default where nothing is said", () => {
    const config = defineConfig({ workflows: [workflow(options)] });
    expect(config.queues).toEqual({
      runs: { batchSize: 5, concurrency: 2, functionTimeout: "15m", worker: "function" },
      rites: { batchSize: 1, concurrency: 2, functionTimeout: "15m", worker: "function" },
    });
    expect(config.database).toEqual({ schema: "ghouls", poolSize: 2, preparedStatements: undefined });
    expect(config.reconciler).toEqual({ hint: true });
    expect([config.authority, config.grants]).toEqual([undefined, undefined]);
  });

  test.each([
    ["something that is no workflow", { workflows: [{}] }, "/workflows/0"],
    ["an authority check that cannot check", { workflows: [], authority: () => true }, "/authority"],
    ["a provider of grants that acquires nothing", { workflows: [], grants: { acquire: "x" } }, "/grants"],
    [
      "a queue with a setting that does not exist",
      { workflows: [], queues: { runs: { fast: true } } },
      "/queues/runs",
    ],
    ["a queue of a bad name", { workflows: [], queues: { "A B": {} } }, "/queues/A B"],
    ["no queue at all", { workflows: [], queues: {} }, "/queues"],
    [
      "a timeout of another form",
      { workflows: [], queues: { runs: { functionTimeout: "soon" } } },
      "/queues/runs/functionTimeout",
    ],
    ["a capacity without a unit", { workflows: [], capacities: { gpu: 0 } }, "/capacities/gpu"],
    ["half a unit", { workflows: [], capacities: { gpu: 1.5 } }, "/capacities/gpu"],
    ["a codec without decode", { workflows: [], codec: { encode: () => "" } }, "/codec"],
    [
      "a role with a permission that is none",
      { workflows: [], roles: { legal: ["runs:*"] } },
      "/roles/legal/0",
    ],
    ["a role that is built in", { workflows: [], roles: { viewer: ["runs:cancel"] } }, "/roles/viewer"],
    ["a role of a bad name", { workflows: [], roles: { "role:legal": [] } }, "/roles/role:legal"],
    ["a setting that does not exist", { workflows: [], retries: 3 }, "/"],
  ])("with %s is refused by path", (_name, config, path) => {
    expect(refusal(() => defineConfig(config as never)).issues?.map((issue) => issue.path)).toContain(path);
  });

  test.each([
    ["a service", { services: { "My Signer": {} } }, /^services\.My Signer: a name has lower-case letters/],
    ["a source", { decisionSources: { "1st": {} } }, /^decisionSources\.1st: .*begins with a letter/],
    ["a capacity", { capacities: { GPU: 1 } }, /^capacities\.GPU: a name has lower-case letters/],
    ["a queue", { queues: { ["q".repeat(33)]: {} } }, /^queues\.q+: .*at most 32 long/],
    ["a role", { roles: { viewer: [] } }, /^roles\.viewer: is built in/],
  ])("that gives %s a name that is not allowed is told which are", (_name, config, fix) => {
    expect(refusal(() => defineConfig({ workflows: [], ...config } as never)).fix).toMatch(fix);
  });

  const answersWithin = (timeout: Duration) => ({
    workflows: [],
    services: {
      signer: httpService({ url: "https://jobs.example/", request: z.null(), result: z.null(), timeout }),
    },
  });

  test("takes a service that may take all of a job's time in a pass, and refuses one that may take more", () => {
    expect(Object.keys(defineConfig(answersWithin("10s")).services)).toEqual(["signer"]);
    const refused = refusal(() => defineConfig(answersWithin("10001ms")));
    expect(refused.code).toBe("configuration_invalid");
    expect(refused.message).toContain('"signer" may take 10001 ms to answer, more than the 10000 ms');
    expect(refused.fix).toContain("at most 10s");
  });

  test("refuses a service whose answer may come when its asker is believed to have ended", () => {
    const timing = { actsMargin: "5s" } as const;
    expect(() => defineConfig({ ...answersWithin("5s"), timing })).not.toThrow();
    const refused = refusal(() => defineConfig({ ...answersWithin("6s"), timing }));
    expect(refused.message).toContain(
      '"signer" may take 6000 ms to answer, more than timing.actsMargin (5s)',
    );
  });

  test("adds its roles to the built-in ones", () => {
    const { roles } = defineConfig({ workflows: [], roles: { legal: ["runs:read"], counsel: [] } });
    expect(Object.keys(roles).toSorted()).toEqual(
      ["admin", "counsel", "decider", "legal", "operator", "submitter", "viewer"].toSorted(),
    );
    expect(roles["legal"]).toEqual(["runs:read"]);
  });

  test("whose workflow names a queue that is not configured is refused", () => {
    const refused = refusal(() => defineConfig({ workflows: [workflow({ ...options, queue: "slow" })] }));
    expect(refused.message).toContain('"slow"');
  });
});

describe("a configuration file", () => {
  test("that is missing, or exports nothing of ours, is refused with the fix", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ghouls-config-"));
    try {
      await expect(loadConfig(join(folder, "none.ts"))).rejects.toMatchObject({
        fix: expect.stringContaining("ghouls init"),
      });
      await writeFile(join(folder, "empty.mjs"), "export default {};");
      await expect(loadConfig(join(folder, "empty.mjs"))).rejects.toMatchObject({
        code: "configuration_invalid",
      });
      await writeFile(join(folder, "package.json"), '{"type":"commonjs"}');
      await writeFile(join(folder, "ghouls.config.ts"), "export default {};");
      await expect(loadConfig(join(folder, "ghouls.config.ts"))).rejects.toMatchObject({
        fix: expect.stringContaining("npm pkg set type=module"),
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("the environment", () => {
  const complete = {
    DATABASE_URL: "postgres://pass-word@127.0.0.1/x",
    GHOULS_QUEUE_LONG_RITES_URL: "http://q/1",
  };

  test("names the queues that have a URL", () => {
    const environment = readEnvironment(complete, ["runs", "long-rites"]);
    expect(environment.queueUrls).toEqual({ "long-rites": "http://q/1" });
    expect(environment.eventsTable).toBeUndefined();
  });

  test("says where the database is: a string or a secret, and how to sign in to it", () => {
    expect(readEnvironment(complete, []).database).toEqual({
      url: complete.DATABASE_URL,
      secretId: undefined,
      auth: "password",
      region: "us-east-1",
      driver: "pg",
      neonProxy: undefined,
    });
    const other = { DATABASE_SECRET_ARN: "db", DATABASE_DRIVER: "neon", NEON_WS_PROXY: "127.0.0.1:1/v2" };
    const endpoint = { AWS_ENDPOINT_URL: "http://e", AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://s" };
    expect(readEnvironment({ ...other, ...endpoint }, []).database).toMatchObject({
      url: undefined,
      secretId: "db",
      driver: "neon",
      neonProxy: "127.0.0.1:1/v2",
      endpoint: "http://s",
    });
    const token = { DATABASE_URL: "postgres://a@h/x?sslmode=verify-full", DATABASE_AUTH: "iam" };
    expect(readEnvironment(token, []).database).toMatchObject({ auth: "iam" });
  });

  test.each([
    ["no database", {}, "DATABASE_URL"],
    ["an empty database", { ...complete, DATABASE_URL: "" }, "DATABASE_URL"],
    ["two databases", { ...complete, DATABASE_SECRET_ARN: "db" }, "DATABASE_SECRET_ARN"],
    ["a driver that does not exist", { ...complete, DATABASE_DRIVER: "mysql" }, "DATABASE_DRIVER"],
    ["a way to sign in that does not exist", { ...complete, DATABASE_AUTH: "kerberos" }, "DATABASE_AUTH"],
    ["a token that would travel in the clear", { ...complete, DATABASE_AUTH: "iam" }, "DATABASE_URL"],
    ["a token for a secret", { DATABASE_SECRET_ARN: "db", DATABASE_AUTH: "iam" }, "DATABASE_AUTH"],
    [
      "a token for neon",
      {
        DATABASE_URL: "postgres://a@h/x?sslmode=verify-full",
        DATABASE_AUTH: "iam",
        DATABASE_DRIVER: "neon",
      },
      "DATABASE_AUTH",
    ],
    ["an endpoint that is no URL", { ...complete, AWS_ENDPOINT_URL: "localhost" }, "AWS_ENDPOINT_URL"],
  ])("with %s is refused by name, and no value is repeated", (_name, variables, name) => {
    const refused = refusal(() => readEnvironment(variables, ["runs"]));
    expect(refused.issues?.map((issue) => issue.path)).toContain(name);
    expect(`${refused.message} ${refused.fix}`).not.toMatch(/canary|pass-word/);
  });
});

test("what user code says stands apart, bounded, and takes no field's place", () => {
  const lines: string[] = [];
  const log = runLogger(
    jsonLogger(
      (line) => void lines.push(line),
      () => "now",
      { runId: "r" },
    ),
  );
  log.info("paid", { runId: "forged", amount: 7, order: { id: 1 } as unknown as string });
  log.info("as it is");
  const [paid, plain] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(paid).toMatchObject({ runId: "r", data: { runId: "forged", amount: 7, order: "(object)" } });
  expect(plain).not.toHaveProperty("data");
});

test("a log entry is one line of listed fields, and hostile text forges none", () => {
  const lines: string[] = [];
  const log = jsonLogger(
    (line) => void lines.push(line),
    () => "now",
    { runId: "r" },
  );
  // As plain JavaScript would call it.
  const hostile = { level: "error", time: "then", password: "canary", name: 'x"\n{"level":"error"}' };
  log.warn("two\nlines", { ...hostile, step: undefined, why: "y".repeat(5_000) } as LogFields);
  expect(lines).toHaveLength(1);
  expect(lines[0]?.trimEnd()).not.toContain("\n");
  const entry = JSON.parse(lines[0] ?? "") as Record<string, string>;
  expect(entry).toMatchObject({
    time: "now",
    level: "warn",
    message: "two\nlines",
    runId: "r",
    name: 'x"\n{"level":"error"}',
  });
  expect(entry["why"]).toHaveLength(1_000);
  expect(entry).not.toHaveProperty("step");
  expect(lines[0]).not.toContain("canary");
});

test("bodies are kept for ever where no age is given, copies and repairs thirty days; an age is a duration", () => {
  expect(defineConfig({ workflows: [] }).retention).toEqual({
    steps: "30d",
    repairs: "30d",
    releases: "30d",
  });
  const retention = { bodies: "90d", steps: "1d", repairs: "2h", releases: "1h" } as const;
  expect(defineConfig({ workflows: [], retention }).retention).toEqual(retention);
  for (const wrong of [{ bodies: "soon" }, { steps: "-1d" }, { releases: "59m" }, { bodys: "1d" }])
    expect(() => defineConfig({ workflows: [], retention: wrong as never })).toThrow(
      "the configuration is not valid",
    );
});
