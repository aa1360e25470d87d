import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GhoulsError } from "@ghouls/core";
import { folder, ghouls } from "../fakes.support.ts";
import type { DeploymentTools } from "../io.ts";

const BUILT = {
  build: "b1",
  functions: [{ entry: "worker", folder: "/out/worker", handler: "index.handler", bytes: 1_234_567 }],
  workflows: { "hello@1": "d1" },
  releases: [
    {
      name: "hello",
      version: 1,
      digest: "d1",
      bundle: "b".repeat(64),
      bytes: 12_345,
      file: "/out/releases/b.json",
    },
  ],
} as const;
const WORKFLOWS = [
  { name: "hello", version: 1, digest: "d1", accepts: [], onWorkerLoss: "resume", queue: undefined },
  { name: "hello", version: 2, digest: "d2", accepts: ["d0", "d1"], onWorkerLoss: "fail", queue: "rites" },
];
const PLAN = {
  queues: [
    {
      name: "runs",
      visibilitySeconds: 900,
      mapping: { function: "worker-runs", batchSize: 5, maximumConcurrency: 2 },
    },
  ],
  functions: [
    {
      id: "worker-runs",
      timeoutSeconds: 900,
      memoryMb: 1_024,
      executions: 2,
      statements: [{ sid: "Consume" }],
    },
  ],
  processes: [
    {
      queue: "long",
      environment: { A: "b" },
      statements: [{ sid: "Consume", actions: ["sqs:x"], resources: ["arn"] }],
    },
  ],
  http: { routes: { "GET /v1/runs": "api" } },
  alarms: [{}],
  schedule: { expression: "rate(1 minute)" },
  connections: { worst: 40, limit: 90, environments: 10, perEnvironment: 2 },
};

async function run(argv: readonly string[], tools: Partial<DeploymentTools> = {}) {
  const asked: unknown[] = [];
  const cwd = await folder();
  const outcome = await ghouls(argv, {
    cwd,
    loadDeployment: () =>
      Promise.resolve({
        buildFunctions: (options) => {
          asked.push(options);
          return Promise.resolve(BUILT);
        },
        takeBuild: (options) => {
          asked.push(options);
          return Promise.resolve(BUILT);
        },
        workflowsOf: (...args) => {
          asked.push(args);
          return Promise.resolve(WORKFLOWS);
        },
        basesOf: () => Promise.resolve([]),
        basesOfBuild: () => Promise.resolve([]),
        differencesOf: () => [],
        publishBuild: () => Promise.reject(new Error("not asked")),
        pruneReleases: () => Promise.reject(new Error("not asked")),
        planOf: (...args) => {
          asked.push(args);
          return Promise.resolve(PLAN as never);
        },
        ...tools,
      }),
  });
  return { ...outcome, asked, cwd };
}

describe("ghouls build", () => {
  it("builds where it is told and says what it made", async () => {
    const { code, out, asked, cwd } = await run(["build", "--out", "made"]);
    expect(code).toBe(0);
    expect(asked).toEqual([{ config: join(cwd, "ghouls.config.ts"), out: join(cwd, "made") }]);
    expect(out).toContain("worker    1235 kB  /out/worker");
    expect(out).toContain("hello@1   d1");
    expect(out).toContain("hello@1  13 kB  /out/releases/b.json");
    expect(out).toContain("build b1");
    expect(JSON.parse((await run(["build", "--json"])).out)).toEqual(BUILT);
  });

  it("takes a build that is there already where it is told to", async () => {
    const { out, asked, cwd } = await run(["build", "--from", "made", "--out", "here"]);
    expect(asked).toEqual([
      { config: join(cwd, "ghouls.config.ts"), out: join(cwd, "here"), from: join(cwd, "made") },
    ]);
    expect(out).toContain("build b1");
  });

  it("tells what cannot be bundled", async () => {
    const failing = {
      buildFunctions: () => Promise.reject(new GhoulsError("configuration_invalid", "no", { fix: "do" })),
    };
    expect(await run(["build"], failing)).toMatchObject({ code: 1, err: expect.stringContaining("Fix: do") });
  });
});

describe("ghouls workflows", () => {
  it("prints what runs of these sources are pinned to, and which earlier digests are accepted", async () => {
    const { code, out, asked, cwd } = await run(["workflows"]);
    expect(code).toBe(0);
    expect(asked).toEqual([[join(cwd, "ghouls.config.ts")]]);
    expect(out).toContain("hello     1        d1      -");
    expect(out).toContain("hello     2        d2      d0, d1");
    expect(JSON.parse((await run(["workflows", "--json"])).out)).toEqual({
      workflows: [expect.objectContaining({ digest: "d1" }), expect.objectContaining({ queue: "rites" })],
    });
  });

  it("tells what cannot be loaded", async () => {
    const failing = {
      workflowsOf: () => Promise.reject(new GhoulsError("configuration_invalid", "no", { fix: "do" })),
    };
    expect(await run(["workflows"], failing)).toMatchObject({
      code: 1,
      err: expect.stringContaining("Fix: do"),
    });
  });
});

describe("ghouls infra", () => {
  it("prints the plan, and all of it as JSON", async () => {
    const { code, out, asked, cwd } = await run(["infra", "--options", '{"vpc":{}}']);
    expect(code).toBe(0);
    expect(asked).toEqual([[join(cwd, "ghouls.config.ts"), { vpc: {} }]]);
    expect(out).toContain("worker-runs  900 s    1024 MB  2        Consume");
    expect(out).toContain("ghouls worker --queue long\n  A=b\n  may Consume: sqs:x on arn\n");
    expect(out).toContain("connections: 40 of 90 in the worst case");
    expect(JSON.parse((await run(["infra", "--json"])).out)).toEqual(PLAN);
  });

  it.each(["[]", "null", "{", "1"])("refuses options that are no object: %s", async (text) => {
    expect(await run(["infra", "--options", text])).toMatchObject({
      code: 2,
      err: expect.stringContaining("Fix: "),
    });
  });
});
