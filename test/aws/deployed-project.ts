import type { Project } from "../infra/project.ts";
import { STONEMASON } from "./stonemason.ts";

/** What the tests deploy: this repository's example, and workflows that wait, vanish and are cancelled. */

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
      egress: { environment: { STONEMASON_URL: process.env.STONEMASON_URL } },
    });
  },
});
`;

const WORKFLOWS = {
  hello: `run: async (ctx, { name }) => ctx.step("greet", () => "Good evening, " + name + "."),`,
  farewell: `run: async (ctx, { name }) => ctx.step("part", () => "Good night, " + name + "."),`,
};

function greeting(name: keyof typeof WORKFLOWS): string {
  return `import { workflow } from "ghouls";
import * as z from "zod";
export const ${name} = workflow({
  name: "${name}", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  ${WORKFLOWS[name]}
});
`;
}

const SLOW = `import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { workflow } from "ghouls";
import * as z from "zod";

// Longer than one invocation of its queue.
export const procession = workflow({
  name: "procession", version: 1, onWorkerLoss: "resume", queue: "slow", input: z.object({ steps: z.number() }),
  run: async (ctx, { steps }) => {
    for (let at = 1; at <= steps; at += 1) await ctx.step("step " + at, () => sleep(1_000), { timeout: "3s" });
    return ctx.step("last", () => "arrived");
  },
});

export const asks = workflow({
  name: "asks", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  run: (ctx, { name }) => ctx.consent("let " + name + " in", { deciders: ["role:legal"], expires: "1d", detail: { name } }),
});

export const naps = workflow({
  name: "naps", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  // From its first step on: a start that took long would have used a sleep up that counts from the admission.
  run: async (ctx) => { await ctx.step("lie down", () => null); await ctx.sleep("5s"); return "woke"; },
});

// Ends its process in the middle of a step, once.
export const vanish = workflow({
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
`;

const DELEGATED = `import { workflow } from "ghouls";
import * as z from "zod";
import { stonemason } from "./stonemason.ts";

export const delegated = workflow({
  name: "delegated", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  run: (ctx, { name }) => ctx.delegate("engrave", stonemason, { name }, { deadline: "1h" }),
});
`;

/** A state machine that the deploy does not make. */
export const MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:ghouls-deployed";
const DIGGER = `import { stepFunctionsService } from "ghouls";
import * as z from "zod";

export const digger = stepFunctionsService({
  stateMachine: "${MACHINE}", request: z.object({ name: z.string() }), result: z.object({ found: z.string() }), timeout: "5s",
});
`;

/** @param farewell whether it has the workflow that a second deploy brings */
function configWith(farewell: boolean): string {
  return `import { defineConfig } from "ghouls";
import { releaseGate } from "@ghouls/workflows";
import { hello } from "./hello.ts";
import { asks, naps, procession, vanish } from "./slow.ts";
import { delegated } from "./delegated.ts";
import { stonemason } from "./stonemason.ts";
import { digger } from "./digger.ts";
${farewell ? `import { farewell } from "./farewell.ts";` : ""}
// Nothing is put there: what the gate refuses is published nowhere.
process.env.RELEASES_BUCKET ??= "releases";
export default defineConfig({
  workflows: [hello, asks, naps, procession, vanish, delegated, releaseGate${farewell ? ", farewell" : ""}],
  services: { stonemason, digger },
  queues: {
    runs: { batchSize: 5, concurrency: 2, functionTimeout: "15s" },
    slow: { batchSize: 1, concurrency: 2, functionTimeout: "15s" },
    rites: { batchSize: 1, concurrency: 2, functionTimeout: "5m" },
  },
  timing: { lease: "20s", beat: "2s", actsMargin: "5s", maxLosses: 3 },
  build: { external: ["@cyclonedx/cyclonedx-library"] },
  auth: async (token) => token === ${JSON.stringify(TOKEN)}
    ? { tenantId: "acme", subject: "user:ada", roles: ["operator"] } : undefined,
});
`;
}

/** The code of the first deploy. */
export function writeFirst(project: Project): void {
  project.write("hello.ts", greeting("hello"));
  project.write("slow.ts", SLOW);
  project.write("delegated.ts", DELEGATED);
  project.write("stonemason.ts", STONEMASON);
  project.write("digger.ts", DIGGER);
  project.write("ghouls.config.ts", configWith(false));
}

/** The code of the second: one workflow more, another bundle of every function, and other words where a run is parked. */
export function writeSecond(project: Project): void {
  project.write("slow.ts", SLOW.replace('" in"', '" in, please"'));
  project.write("farewell.ts", greeting("farewell"));
  project.write("ghouls.config.ts", configWith(true));
}
