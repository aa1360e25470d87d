import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import type { Publication } from "@ghouls/core";
import { noFaults } from "@ghouls/core";
import { buildApp } from "fauxqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureQueues } from "./ensure-queue.ts";
import type { AwsConnection } from "./connection.ts";
import { createSqsQueue, openSqs } from "./sqs-queue.ts";
import type { SqsQueue } from "./sqs-queue.ts";

const publication: Publication = {
  runId: "00000000-0000-4000-8000-000000000001",
  enqueueSeq: 7,
  tenantId: "acme",
  queue: "runs",
};
const app = buildApp({ logger: false });
let connection: AwsConnection;
let queue: SqsQueue;
let urls: Record<string, string>;

beforeAll(async () => {
  const endpoint = await app.listen({ host: "127.0.0.1", port: 0 });
  connection = { region: "us-east-1", endpoint, credentials: { accessKeyId: "x", secretAccessKey: "x" } };
  const spec = { visibilitySeconds: 900, maxReceiveCount: 1_000 };
  const addresses = await ensureQueues(connection, [
    { name: "runs", ...spec },
    { name: "rites", ...spec },
  ]);
  urls = Object.fromEntries([...addresses].map(([name, address]) => [name, address.url]));
  queue = openSqs({ ...connection, queueUrls: urls, faults: noFaults, random: () => 0 });
});
afterAll(async () => {
  queue.close();
  await app.close();
});

async function takeOne(name = "runs", visibilitySeconds?: number) {
  const messages = await queue.receive(name, {
    max: 10,
    waitSeconds: 2,
    ...(visibilitySeconds === undefined ? {} : { visibilitySeconds }),
  });
  expect(messages).toHaveLength(1);
  return messages[0] as (typeof messages)[number];
}

describe("the queue over a real SQS server", () => {
  test("a published message is received with its body and counts, and is gone once deleted", async () => {
    const before = Date.now();
    expect(await queue.publish([publication])).toEqual({ confirmed: [publication], failed: [] });
    const message = await takeOne();
    expect(message.body).toBe("run:00000000-0000-4000-8000-000000000001:7");
    expect(message.receiveCount).toBe(1);
    expect(message.sentAtMs).toBeGreaterThanOrEqual(before);
    await queue.delete("runs", message.receiptHandle);
    expect(await queue.receive("runs", { max: 10, waitSeconds: 0 })).toEqual([]);
    await expect(queue.changeVisibility("runs", message.receiptHandle, 0)).rejects.toThrow();
  });

  test("a message made visible again comes back with a higher count", async () => {
    await queue.publish([publication]);
    const first = await takeOne();
    expect(await queue.receive("runs", { max: 1, waitSeconds: 0 })).toEqual([]);
    await queue.changeVisibility("runs", first.receiptHandle, 0);
    const second = await takeOne();
    expect(second.messageId).toBe(first.messageId);
    expect(second.receiveCount).toBe(2);
    await queue.delete("runs", second.receiptHandle);
  });

  test("more than one batch arrives whole, in the queue it was meant for", async () => {
    const many = Array.from({ length: 25 }, (_, index) => ({
      ...publication,
      enqueueSeq: index + 1,
      queue: "rites",
    }));
    expect((await queue.publish(many)).confirmed).toHaveLength(25);
    const bodies = new Set<string>();
    while (bodies.size < 25) {
      const messages = await queue.receive("rites", { max: 10, waitSeconds: 2 });
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) {
        bodies.add(message.body);
        await queue.delete("rites", message.receiptHandle);
      }
    }
    expect(await queue.receive("runs", { max: 1, waitSeconds: 0 })).toEqual([]);
  });

  test("the visibility asked for at receive replaces the queue's own", async () => {
    await queue.publish([publication]);
    await takeOne("runs", 0);
    const again = await takeOne();
    expect(again.receiveCount).toBe(2);
    await queue.delete("runs", again.receiptHandle);
  });

  test("settings of a standing queue are brought up to date, and its messages stay", async () => {
    await queue.publish([publication]);
    await ensureQueues(connection, [{ name: "runs", visibilitySeconds: 1_800, maxReceiveCount: 7 }]);
    const shown = (await app.inject({ url: "/_fauxqs/queues/runs" })).json<{
      attributes: Record<string, string>;
    }>();
    expect(shown.attributes["VisibilityTimeout"]).toBe("1800");
    expect(JSON.parse(shown.attributes["RedrivePolicy"] ?? "")).toMatchObject({ maxReceiveCount: 7 });
    const message = await takeOne();
    await queue.delete("runs", message.receiptHandle);
  });

  test("queues that SQS refuses to set up are an error", async () => {
    const impossible = { name: "runs", visibilitySeconds: 43_201, maxReceiveCount: 1 };
    await expect(ensureQueues(connection, [impossible])).rejects.toThrow();
    await expect(ensureQueues(connection, [{ ...impossible, name: "" }])).rejects.toThrow();
  });

  test("an aborted wait rejects", async () => {
    const controller = new AbortController();
    const waiting = queue.receive("rites", { max: 1, waitSeconds: 20, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
  });

  test("a queue without a URL is refused by name, with what to set", async () => {
    const refusal = { code: "configuration_invalid", fix: expect.stringContaining("GHOULS_QUEUE_") };
    await expect(queue.receive("toString", { max: 1, waitSeconds: 0 })).rejects.toMatchObject(refusal);
    await expect(queue.delete("other", "h")).rejects.toMatchObject(refusal);
    await expect(queue.changeVisibility("other", "h", 1)).rejects.toMatchObject(refusal);
  });
});

describe("a server that does not answer", () => {
  let silent: Server;
  let endpoint: string;
  beforeAll(async () => {
    silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    silent.close();
  });

  test("a publish ends by the request's timeout, as failed", async () => {
    const deaf = openSqs({
      ...connection,
      endpoint,
      requestTimeoutMs: 100,
      maxAttempts: 1,
      queueUrls: urls,
      faults: noFaults,
      random: () => 0,
    });
    const result = await deaf.publish([publication]);
    expect(result.confirmed).toEqual([]);
    expect(result.failed[0]?.reason).toMatch(/timeout|timed out/i);
    deaf.close();
  });
});

test("a message without a handle is not handed out, and missing attributes have defaults", async () => {
  const stub = createSqsQueue({
    client: {
      sendMessageBatch: () => Promise.resolve({}),
      receiveMessage: () =>
        Promise.resolve({ Messages: [{ MessageId: "a" }, { MessageId: "b", ReceiptHandle: "h" }] }),
      changeMessageVisibility: () => Promise.resolve(),
      changeMessageVisibilityBatch: () => Promise.resolve({}),
      deleteMessage: () => Promise.resolve(),
    },
    queueUrls: { runs: "http://127.0.0.1/runs" },
    faults: noFaults,
    random: () => 0,
  });
  expect(await stub.receive("runs", { max: 10, waitSeconds: 0 })).toEqual([
    { messageId: "b", receiptHandle: "h", body: "", receiveCount: 1, sentAtMs: 0, groupId: undefined },
  ]);
});
