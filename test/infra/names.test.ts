import { expect, it } from "vitest";
import { recordGraph } from "@ghouls/localstack-utils";
import { configOf, createRepositoryProject } from "./project.ts";
import { ENVIRONMENT } from "./variants.ts";

/** Each is a word of another resource's name. */
const QUEUES = [
  "runs",
  "runs-dead-letter",
  "dead-letter-runs",
  "queue-runs",
  "worker-runs",
  "runs-policy",
  "events",
  "http",
  "admission",
  "schedule",
];

it("a queue may have any name: its resources are called like no others", async () => {
  const options = {
    config: "own/ghouls.config.ts",
    database: {
      secret: ENVIRONMENT.GHOULS_DATABASE_SECRET_ARN,
      migrationSecret: ENVIRONMENT.GHOULS_MIGRATION_DATABASE_SECRET_ARN,
    },
  };
  const project = createRepositoryProject(
    configOf(`const { ghouls } = await import("./infra/src/index.ts");
    return ghouls({ sst, aws }, ${JSON.stringify(options)});`),
  );
  const queues = Object.fromEntries(QUEUES.map((name) => [name, {}]));
  project.write(
    "own/ghouls.config.ts",
    `import { defineConfig } from "ghouls";
export default defineConfig({ workflows: [], queues: ${JSON.stringify(queues)} });
`,
  );
  try {
    const { resources } = await recordGraph({ root: project.root, stage: "test", env: ENVIRONMENT });
    const urns = resources.map(({ urn }) => urn);
    expect(urns.filter((urn, index) => urns.indexOf(urn) !== index)).toEqual([]);
    expect(resources.filter(({ type }) => type === "aws:sqs/queue:Queue")).toHaveLength(2 * QUEUES.length);
  } finally {
    project.remove();
  }
});
