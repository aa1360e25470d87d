import { beforeEach, expect, test } from "vitest";
import * as z from "zod";
import type { Clock } from "@ghouls/core";
import {
  createFetch,
  createReconciler,
  defineConfig,
  digestManifest,
  workflow,
  type ConfigOptions,
} from "ghouls";
import { testDynamo } from "../support/dynamodb.ts";
import { makeKey } from "../support/keys.ts";
import { CREDENTIALS } from "../support/queue.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { testWorld } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("hello"),
});
const [world, dynamo] = await Promise.all([testWorld({ workflows: [hello] }), testDynamo()]);
const { hostname, port } = new URL(world.db.applicationUrl);
const proxy = await tcpProxy({ host: hostname, port: Number(port) });
const options: ConfigOptions = { workflows: [hello] };
const manifest = await digestManifest(defineConfig(options));
const { text: token } = await makeKey(world.db, { tenantId: "acme", subject: "dev", roles: ["operator"] });
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;
const variables = {
  AWS_ENDPOINT_URL: world.sqs.endpoint,
  AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
  EVENTS_TABLE: dynamo.table,
  GHOULS_QUEUE_RUNS_URL: world.sqs.urls["runs"],
  GHOULS_QUEUE_RITES_URL: world.sqs.urls["rites"],
};
const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 60_000 };

let moved = 0;
const start = Date.now();
const clock: Clock = { wallMs: () => start + moved, monotonicMs: () => moved };
// A late answer costs a look, which is what is counted here: on a slow machine none is late.
const base = { manifest, clock, write: () => undefined, hintPatienceMs: 60_000 };

beforeEach(async () => {
  await world.reset();
  await dynamo.forget();
});

async function pass(minutes: number): Promise<void> {
  moved += minutes * 60_000;
  await world.advance(minutes * 60);
}

/** An invocation of a process of its own, as after a cold start: what it looks at, it connects to anew. */
function reconcilerOf(config = defineConfig(options), changed: Record<string, string | undefined> = {}) {
  return createReconciler(config, {
    ...base,
    variables: { ...variables, DATABASE_URL: proxy.through(world.db.applicationUrl), ...changed },
  });
}

async function invocations(count: number, make = () => reconcilerOf()): Promise<number> {
  const before = proxy.accepted;
  for (let minute = 1; minute <= count; minute += 1) {
    await pass(1);
    const report = await make()({}, context);
    if (!("skipped" in report)) expect(report.relay.error).toBeUndefined();
  }
  return proxy.accepted - before;
}

async function submit(body: Record<string, unknown>): Promise<string> {
  const direct = { ...variables, DATABASE_URL: world.db.applicationUrl };
  const answer = await createFetch(defineConfig(options), { ...base, variables: direct })(
    new Request("http://127.0.0.1/v1/runs", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ workflow: "hello", ...body }),
    }),
  );
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { runId: string }).runId;
}

async function drop(): Promise<number> {
  const messages = await world.queue.receive("runs", { max: 10, waitSeconds: 0 });
  for (const { receiptHandle } of messages) await world.queue.delete("runs", receiptHandle);
  return messages.length;
}

const statusOf = async (runId: string) =>
  (await world.db.admin<{ status: string }>("select status from ghouls.runs where run_id = $1", [runId]))[0]
    ?.status;

test("one run due in three hours: of sixty invocations at most two connect, and it is looked after in time", async () => {
  const runId = await submit({ held: true, holdFor: "3h" });
  expect(await invocations(60)).toBeLessThanOrEqual(2);
  // Two more hourly looks, and the one that finds it expired.
  expect(await invocations(119)).toBe(2);
  expect(await statusOf(runId)).toBe("QUEUED");
  expect(await invocations(3)).toBeGreaterThan(0);
  expect(await statusOf(runId)).toBe("FAILED");
});

test("a message that is dropped while the database is idle is published again within two minutes", async () => {
  await invocations(5);
  const runId = await submit({});
  expect(await drop()).toBe(1);
  await invocations(2);
  expect(await drop()).toBeGreaterThan(0);
  expect(await statusOf(runId)).toBe("QUEUED");
});

test("a hint that is deleted is written again, and what was dropped is published within the hour", async () => {
  await submit({});
  await drop();
  await dynamo.forget();
  expect(await invocations(60)).toBeGreaterThan(0);
  expect(await drop()).toBeGreaterThan(0);
  expect(await dynamo.item()).toBeDefined();
});

test.each<[string, ConfigOptions["reconciler"], string | undefined]>([
  ["the setting turns the hint off", { hint: false }, dynamo.table],
  ["there is no table for it", undefined, undefined],
])("where %s, every invocation connects and DynamoDB is not asked", async (_, reconciler, table) => {
  const config = defineConfig({ ...options, ...(reconciler === undefined ? {} : { reconciler }) });
  const before = dynamo.calls.length;
  expect(await invocations(5, () => reconcilerOf(config, { EVENTS_TABLE: table }))).toBe(5);
  expect(dynamo.calls.length).toBe(before);
});

test("where nobody listens at the table's address, every invocation connects", async () => {
  const away = () => reconcilerOf(undefined, { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" });
  expect(await invocations(3, away)).toBe(3);
});
