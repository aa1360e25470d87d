import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqs } from "@ghouls/aws";
import { noFaults } from "@ghouls/core";
import type { Publication } from "@ghouls/core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { cleanEnv } from "./fake-parts.support.ts";
import { openLog } from "./log.ts";
import type { HostLog } from "./log.ts";
import type { Queues } from "./queues.ts";
import { openQueues } from "./queues.ts";
import { startSqs, visibilitySeconds } from "./sqs.ts";

// Real processes on a machine that may be busy.

const folder = mkdtempSync(join(tmpdir(), "ghouls-sqs-"));
const QUEUE = { batchSize: 1, concurrency: 1, worker: "function", functionTimeout: "15m" } as const;
const settings = Promise.resolve({
  runs: QUEUE,
  "long-rites": { ...QUEUE, functionTimeout: "12h" as const },
});
const started: { stop(): Promise<void> }[] = [];
let log: HostLog;
const shown: string[] = [];

beforeAll(() => {
  log = openLog(join(folder, "log"), (line) => shown.push(line));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});
afterAll(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(env: Record<string, string> = {}): Promise<Queues> {
  const queues = await openQueues({ env: cleanEnv(env), dataDir: folder, log, queues: settings });
  started.push(queues);
  return queues;
}

function portTo(queues: Queues) {
  return openSqs({ ...queues.connection, queueUrls: queues.urls, faults: noFaults, random: () => 0 });
}

async function attributesOf(queues: Queues, name: string): Promise<Record<string, string>> {
  const response = await fetch(`${queues.connection.endpoint}/_fauxqs/queues/${name}`);
  return ((await response.json()) as { attributes: Record<string, string> }).attributes;
}

const publication: Publication = {
  runId: "00000000-0000-4000-8000-000000000001",
  enqueueSeq: 1,
  tenantId: "local",
  queue: "runs",
};

describe("the embedded queues", () => {
  test("have the visibility that their function needs, and a dead-letter queue each", async () => {
    const queues = await open();
    expect(Object.keys(queues.urls)).toEqual(["runs", "long-rites"]);
    expect(queues.urls["runs"]).toBe(`${queues.connection.endpoint}/000000000000/runs`);
    const attributes = await attributesOf(queues, "runs");
    expect(attributes["VisibilityTimeout"]).toBe("960");
    expect(JSON.parse(attributes["RedrivePolicy"] ?? "")).toEqual({
      deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:runs-dlq",
      maxReceiveCount: 1_000,
    });
    expect((await attributesOf(queues, "long-rites"))["VisibilityTimeout"]).toBe("43200");
    expect(statSync(join(folder, "sqs")).mode & 0o777).toBe(0o700);
  });

  test("keep a message over a restart, though the server has another port then", async () => {
    const first = await open();
    const sender = portTo(first);
    expect((await sender.publish([publication])).confirmed).toEqual([publication]);
    sender.close();
    await first.stop();
    const second = await open();
    const receiver = portTo(second);
    const [message] = await receiver.receive("runs", { max: 1, waitSeconds: 2 });
    expect(message?.body).toBe("run:00000000-0000-4000-8000-000000000001:1");
    await receiver.delete("runs", message?.receiptHandle ?? "");
    receiver.close();
  });

  test.runIf(process.platform === "linux")("listen on loopback only", async () => {
    const queues = await open();
    const port = Number(new URL(queues.connection.endpoint ?? "").port);
    const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
    const sockets = readFileSync("/proc/net/tcp", "utf8") + readFileSync("/proc/net/tcp6", "utf8");
    const listening = sockets.split("\n").flatMap((line) => {
      const [, local = "", , status] = line.trim().split(/\s+/);
      return status === "0A" && local.endsWith(`:${hexPort}`) ? [local] : [];
    });
    expect(listening).toEqual([`0100007F:${hexPort}`]);
  });

  test("end the server where they cannot be made", async () => {
    const queues = Promise.reject(new Error("no configuration"));
    queues.catch(() => undefined);
    const opening = openQueues({ env: cleanEnv(), dataDir: join(folder, "other"), log, queues });
    await expect(opening).rejects.toThrow("no configuration");
  });

  test("tell why the server cannot start", async () => {
    const dataDir = join(folder, "log");
    await expect(startSqs({ dataDir, region: "us-east-1", env: cleanEnv(), log })).rejects.toThrow(
      /the SQS server could not start/,
    );
  });

  test("a server that is killed tells its end", async () => {
    const queues = await open();
    queues.kill();
    expect(await queues.ended).toEqual({ code: null, signal: "SIGKILL" });
  });
});

describe("queues that the environment names", () => {
  const urls = {
    GHOULS_QUEUE_RUNS_URL: "https://sqs.eu-west-1.amazonaws.com/1/runs",
    GHOULS_QUEUE_LONG_RITES_URL: "https://sqs.eu-west-1.amazonaws.com/1/rites",
  };

  test("are used as they are, with the SDK's own credentials, and nothing is started", async () => {
    const queues = await open({ ...urls, AWS_REGION: "eu-west-1" });
    expect(queues.connection).toEqual({ region: "eu-west-1" });
    expect(queues.urls).toEqual({
      runs: urls.GHOULS_QUEUE_RUNS_URL,
      "long-rites": urls.GHOULS_QUEUE_LONG_RITES_URL,
    });
    expect(queues.processes).toEqual([]);
    queues.kill();
  });

  test("must be all of them", async () => {
    await expect(open({ GHOULS_QUEUE_RUNS_URL: "https://x/1/runs" })).rejects.toMatchObject({
      message: expect.stringContaining("GHOULS_QUEUE_LONG_RITES_URL"),
      code: "configuration_invalid",
    });
  });

  test("are made at an endpoint that is given without URLs, and found there with them", async () => {
    const server = await startSqs({
      dataDir: join(folder, "given"),
      region: "us-east-1",
      env: cleanEnv(),
      log,
    });
    started.push(server);
    const made = await open({ AWS_ENDPOINT_URL: server.endpoint });
    expect(made.urls["runs"]).toBe(`${server.endpoint}/000000000000/runs`);
    expect(made.connection.credentials).toBeDefined();
    const found = await open({ AWS_ENDPOINT_URL: server.endpoint, AWS_ACCESS_KEY_ID: "a", ...urls });
    expect(found.urls["runs"]).toBe(urls.GHOULS_QUEUE_RUNS_URL);
    expect(found.connection).toEqual({ region: "us-east-1", endpoint: server.endpoint });
  });
});

test("a queue's visibility is never below its function's timeout, nor above what SQS takes", () => {
  expect(visibilitySeconds({ functionTimeout: "500ms" })).toBe(61);
  expect(visibilitySeconds({ functionTimeout: "90s" })).toBe(150);
  expect(visibilitySeconds({ functionTimeout: "3d" })).toBe(43_200);
});
