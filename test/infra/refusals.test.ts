import { expect, it } from "vitest";
import { recordGraph } from "@ghouls/localstack-utils";
import { WITH_A_PROCESS, WITH_SERVICES } from "./variants.ts";
import { configOf, createRepositoryProject } from "./project.ts";

const ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ghouls-AbCdEf";
const GOOD = {
  config: "packages/workflows/ghouls.config.ts",
  database: { secret: ARN, migrationSecret: ARN },
};

it.each([
  [
    "an ARN of a secret without its end, which IAM would match with nothing",
    { ...GOOD, database: { secret: ARN.replace("-AbCdEf", ""), migrationSecret: ARN } },
    /not the whole ARN of a secret\.\n {2}Fix: give it with the six characters/,
  ],
  [
    "a VPC whose endpoints have no routes",
    { ...GOOD, vpc: { id: "vpc-1", subnets: ["s"], securityGroups: ["g"] } },
    /vpc\.routeTables is missing.*\n {2}Fix: name the route tables/,
  ],
  [
    "more connections than the server has",
    { ...GOOD, concurrency: { account: 1_000 } },
    /ghouls infra failed: in the worst case the functions hold 4000 connections.*\n {2}Fix: /,
  ],
  [
    "settings of an egress function without a service that it would ask",
    { ...GOOD, config: "plain/ghouls.config.ts", egress: { environment: { SIGNER_REGION: "eu" } } },
    /the configuration names no service.*\n {2}Fix: name a service/,
  ],
  [
    "a connection string of the egress function, which has no way to the database",
    {
      ...GOOD,
      config: "own/ghouls.config.ts",
      egress: { environment: { DATABASE_URL: "postgres://db.example/app" } },
    },
    /egress\.environment names DATABASE_URL.*\n {2}Fix: give it what the services need/,
  ],
  [
    "a queue of `ghouls worker` whose role is not named, which could send no next hop",
    { ...GOOD, config: "long/ghouls.config.ts" },
    /the queue "long" is served by `ghouls worker`, and no role.*\n {2}Fix: workers: \{ "long"/,
  ],
  [
    "roles of a worker that serves no queue",
    {
      ...GOOD,
      config: "long/ghouls.config.ts",
      workers: { long: ["arn:aws:iam::123456789012:role/w"], runs: ["arn:aws:iam::123456789012:role/w"] },
    },
    /workers names "runs", which is no queue.*\n {2}Fix: say worker: "process" in queues\.runs/,
  ],
  [
    "a configuration that is not there",
    { ...GOOD, config: "nowhere.config.ts" },
    /ghouls infra failed: there is no configuration at .*nowhere\.config\.ts\n {2}Fix: /,
  ],
])("a deploy refuses %s, and says what to do", async (_what, options, words) => {
  const project = createRepositoryProject(
    configOf(`const { ghouls } = await import("./infra/src/index.ts");
    return ghouls({ sst, aws }, ${JSON.stringify(options)});`),
  );
  project.write(
    "plain/ghouls.config.ts",
    'import { defineConfig } from "ghouls";\nexport default defineConfig({ workflows: [] });\n',
  );
  for (const [path, text] of Object.entries(WITH_SERVICES)) project.write(path, text);
  project.write("long/ghouls.config.ts", WITH_A_PROCESS);
  try {
    await expect(recordGraph({ root: project.root, stage: "test" })).rejects.toThrow(words);
  } finally {
    project.remove();
  }
});
