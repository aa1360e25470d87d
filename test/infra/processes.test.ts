import { expect, it } from "vitest";
import { recordGraph } from "@ghouls/localstack-utils";
import { configOf, createRepositoryProject } from "./project.ts";
import { WITH_A_PROCESS } from "./variants.ts";

const ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ghouls-AbCdEf";
const ROLE = "arn:aws:iam::123456789012:role/long-worker";

it("a queue that processes serve has its dead letters, its alarms and its policy, and no function and no mapping", async () => {
  const options = {
    config: "long/ghouls.config.ts",
    database: { secret: ARN, migrationSecret: ARN },
    workers: { long: [ROLE] },
  };
  const project = createRepositoryProject(
    configOf(`const { ghouls } = await import("./infra/src/index.ts");
    return ghouls({ sst, aws }, ${JSON.stringify(options)});`),
  );
  project.write("long/ghouls.config.ts", WITH_A_PROCESS);
  try {
    const { resources } = await recordGraph({ root: project.root, stage: "test" });
    const of = (type: string) => resources.filter((one) => one.type === type);
    const queues = of("aws:sqs/queue:Queue").map(({ name }) => name);
    expect(queues.filter((name) => name.includes("Long"))).toHaveLength(2);
    expect(of("aws:lambda/function:Function").filter(({ name }) => name.includes("Long"))).toEqual([]);
    expect(of("aws:lambda/eventSourceMapping:EventSourceMapping")).toHaveLength(1);
    const alarms = of("aws:cloudwatch/metricAlarm:MetricAlarm").map(({ inputs }) =>
      String(inputs["name"] as string),
    );
    expect(alarms.filter((name) => name.includes("long"))).toHaveLength(2);
    const admitting = of("aws:sqs/queuePolicy:QueuePolicy").filter(({ inputs }) =>
      JSON.stringify(inputs).includes(ROLE),
    );
    expect(admitting.map(({ name }) => name)).toEqual([expect.stringContaining("Long")]);
  } finally {
    project.remove();
  }
});
