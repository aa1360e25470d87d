/** What the tests deploy: this repository's example and workflows that wait, vanish and are cancelled. */

export const TOKEN = "a-token-that-only-these-tests-know";

export const SST_CONFIG = `export default $config({
  app: () => ({ name: "crypt", home: "aws", removal: "remove", providers: { aws: { region: "us-east-1" } } }),
  run: async () => {
    const { ghouls } = await import("./infra/src/index.ts");
    return ghouls({ sst, aws }, {
      config: "ghouls.config.ts",
      database: {
        secret: process.env.GHOULS_DATABASE_SECRET_ARN,
        migrationSecret: process.env.GHOULS_MIGRATION_DATABASE_SECRET_ARN,
        applicationRole: "test_app",
      },
    });
  },
});
`;

/** @param extra workflows that a later deploy brings, as code, and their names */
export function configWith(extra = "", names = ""): string {
  return `import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineConfig, workflow } from "ghouls";
import { releaseGate } from "@ghouls/workflows";
import * as z from "zod";

const hello = workflow({
  name: "hello", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  run: async (ctx, { name }) => ctx.step("greet", () => "Good evening, " + name + "."),
});
// Longer than one invocation of its queue.
const procession = workflow({
  name: "procession", version: 1, onWorkerLoss: "resume", queue: "slow", input: z.object({ steps: z.number() }),
  run: async (ctx, { steps }) => {
    for (let at = 1; at <= steps; at += 1) await ctx.step("step " + at, () => sleep(1_000), { timeout: "3s" });
    return ctx.step("last", () => "arrived");
  },
});
// Ends its process in the middle of a step, once.
const vanish = workflow({
  name: "vanish", version: 1, onWorkerLoss: "resume", queue: "slow", input: z.object({ mark: z.string() }),
  run: async (ctx, { mark }) => {
    await ctx.step("before", () => "done");
    return ctx.step("in the middle", () => {
      if (existsSync(mark)) return "came back";
      writeFileSync(mark, "");
      process.exit(1);
    }, { timeout: "3s" });
  },
});
${extra}
export default defineConfig({
  workflows: [hello, procession, vanish, releaseGate${names}],
  queues: {
    runs: { batchSize: 5, concurrency: 2, functionTimeout: "15s" },
    slow: { batchSize: 1, concurrency: 2, functionTimeout: "8s" },
    rites: { batchSize: 1, concurrency: 2, functionTimeout: "5m" },
  },
  timing: { lease: "6s", beat: "2s", actsMargin: "1s", maxLosses: 3 },
  build: { external: ["@cyclonedx/cyclonedx-library"] },
  auth: async (token) => token === ${JSON.stringify(TOKEN)}
    ? { tenantId: "acme", subject: "user:ada", roles: ["operator"] } : undefined,
});
`;
}

export const CONFIG = configWith();
