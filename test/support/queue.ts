import { buildApp } from "fauxqs";
import { afterAll } from "vitest";
import { ensureQueues, openSqs, type SqsQueue } from "@ghouls/aws";
import { noFaults, type FaultInjector } from "@ghouls/core";

/** A real SQS server of the test file's own. */
export interface TestQueue {
  readonly endpoint: string;
  /** By name in the configuration. */
  readonly urls: Readonly<Record<string, string>>;
  open(faults?: FaultInjector): SqsQueue;
}

export const CREDENTIALS = { accessKeyId: "test", secretAccessKey: "test" };

export async function testQueue(names: readonly string[] = ["runs", "rites"]): Promise<TestQueue> {
  const app = buildApp({ logger: false });
  const endpoint = await app.listen({ host: "127.0.0.1", port: 0 });
  const connection = { region: "us-east-1", endpoint, credentials: CREDENTIALS };
  const addresses = await ensureQueues(
    connection,
    names.map((name) => ({ name, visibilitySeconds: 30, maxReceiveCount: 1_000 })),
  );
  const urls = Object.fromEntries([...addresses].map(([name, { url }]) => [name, url]));
  const opened: SqsQueue[] = [];
  afterAll(async () => {
    for (const queue of opened) queue.close();
    await app.close();
  });
  return {
    endpoint,
    urls,
    open: (faults = noFaults) => {
      const queue = openSqs({ ...connection, queueUrls: urls, faults, random: () => 0.5 });
      opened.push(queue);
      return queue;
    },
  };
}
