import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { createFetch, createReconciler, createWorker, defineConfig, workflow } from "ghouls";
import type { FaultInjector } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeKey } from "../support/keys.ts";
import { CREDENTIALS, testQueue } from "../support/queue.ts";

let ran: string[] = [];
beforeEach(() => {
  ran = [];
});

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ name: z.string() }),
  async run(ctx, { name }) {
    return ctx.step("greet", () => {
      ran.push(name);
      return `Hello, ${name}.`;
    });
  },
});
const config = defineConfig({ workflows: [hello] });
const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
const { text: token } = await makeKey(db, { tenantId: "default", subject: "dev", roles: ["operator"] });
const variables = {
  DATABASE_URL: db.applicationUrl,
  AWS_ENDPOINT_URL: sqs.endpoint,
  GHOULS_QUEUE_RUNS_URL: sqs.urls["runs"],
  GHOULS_QUEUE_RITES_URL: sqs.urls["rites"],
  GHOULS_WORKER_ID: "worker-7",
};
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;

const logged: string[] = [];
const overrides = { variables, write: (line: string) => void logged.push(line) };
const worker = createWorker(config, overrides);
const fetchApi = createFetch(config, overrides);
const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 900_000 };

async function submit(name: string): Promise<string> {
  const answer = await fetchApi(
    new Request("http://127.0.0.1/v1/runs", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ workflow: "hello", input: { name } }),
    }),
  );
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { runId: string }).runId;
}

async function statusOf(runId: string): Promise<string> {
  const answer = await fetchApi(
    new Request(`http://127.0.0.1/v1/runs/${runId}`, { headers: { authorization: `Bearer ${token}` } }),
  );
  return ((await answer.json()) as { status: string }).status;
}

const record = (messageId: string, body: string, queue = "runs") => ({
  messageId,
  receiptHandle: `handle-${messageId}`,
  body,
  eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:${queue}`,
});

describe("the worker's partial batch response", () => {
  test("a batch with poison bodies settles the good ones and reports exactly the bad ones", async () => {
    const runId = await submit("good");
    const poison = [
      "",
      "not a delivery",
      '{"run":1}',
      "[".repeat(100_000),
      '{"__proto__":{}}',
      `run:${runId}:x`,
    ];
    const answer = await worker(
      {
        Records: [
          record("good", `run:${runId}:1`),
          ...poison.map((body, index) => record(`bad-${index}`, body)),
        ],
      },
      context,
    );
    expect(answer).toEqual({
      batchItemFailures: poison.map((_body, index) => ({ itemIdentifier: `bad-${index}` })),
    });
    expect(await statusOf(runId)).toBe("DONE");
  });

  test("the same delivery twice in a batch and again in the next is carried once, and each message may go", async () => {
    const runId = await submit("twice");
    const event = { Records: [record("a", `run:${runId}:1`), record("b", `run:${runId}:1`)] };
    expect(await worker(event, context)).toEqual({ batchItemFailures: [] });
    expect(await worker(event, context)).toEqual({ batchItemFailures: [] });
    expect(ran).toEqual(["twice"]);
  });

  test("a run that is not in the ledger yet is not acknowledged", async () => {
    const answer = await worker({ Records: [record("early", `run:${randomUUID()}:1`)] }, context);
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "early" }] });
  });

  test("a message of an unknown queue throws, so that the whole batch comes back", async () => {
    await expect(worker({ Records: [record("x", "run:1:1", "strange")] }, context)).rejects.toMatchObject({
      code: "configuration_invalid",
    });
  });

  test("a claim of a function is over by time, one of a queue that processes serve never", async () => {
    const until: unknown[] = [];
    const asks = workflow({
      name: "hello",
      version: 1,
      onWorkerLoss: "resume",
      input: z.object({ name: z.string() }),
      run: (ctx) =>
        ctx.step(
          "ask",
          async () => {
            const rows = await db.admin<{ acts_until: Date | null }>(
              "select acts_until from ghouls.deliveries where status = 'CLAIMED' and run_id = $1",
              [ctx.runId],
            );
            until.push(rows[0]?.acts_until);
            return "asked";
          },
          { timeout: "10m" },
        ),
    });
    for (const served of ["function", "process"] as const) {
      const configured = defineConfig({ workflows: [asks], queues: { runs: { worker: served }, rites: {} } });
      const manifest = { "hello@1": `served by a ${served}` };
      const admit = createFetch(configured, { ...overrides, manifest });
      const answer = await admit(
        new Request("http://127.0.0.1/v1/runs", {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ workflow: "hello", input: { name: served } }),
        }),
      );
      const { runId } = (await answer.json()) as { runId: string };
      const carrying = createWorker(configured, { ...overrides, manifest });
      const done = { batchItemFailures: [] };
      expect(await carrying({ Records: [record("m", `run:${runId}:1`)] }, context)).toEqual(done);
    }
    expect(until).toEqual([expect.any(Date), null]);
  });

  test("an event without records is an empty answer", async () => {
    expect(await worker({ Records: [] }, context)).toEqual({ batchItemFailures: [] });
  });

  test("one run that fails takes no other with it", async () => {
    const [good, stale] = [await submit("stays"), await submit("stale")];
    await db.admin("update ghouls.runs set workflow_digest = 'older' where run_id = $1", [stale]);
    const answer = await worker(
      { Records: [record("g", `run:${good}:1`), record("s", `run:${stale}:1`)] },
      context,
    );
    expect(answer).toEqual({ batchItemFailures: [] });
    expect([await statusOf(good), await statusOf(stale)]).toEqual(["DONE", "FAILED"]);
  });
});

describe("a worker whose ledger fails in the middle", () => {
  // The injector rejects as a lost connection does: without a SQLSTATE.
  let lost = 0;
  const losing = (name: string, times: number): FaultInjector => {
    let left = times;
    lost = 0;
    return (point, detail) => {
      if (point !== "ledger.after-statement" || detail !== name || left === 0) return;
      left -= 1;
      lost += 1;
      throw new Error("Connection terminated unexpectedly");
    };
  };

  test.each(["deliveries.claim", "journal.append", "deliveries.settle"])(
    "the answer of %s is lost: the run is settled once all the same",
    async (name) => {
      const runId = await submit(`lost-${name}`);
      const unlucky = createWorker(config, { ...overrides, faults: losing(name, 1) });
      expect(await unlucky({ Records: [record("m", `run:${runId}:1`)] }, context)).toEqual({
        batchItemFailures: [],
      });
      expect(await statusOf(runId)).toBe("DONE");
      expect(ran).toEqual([`lost-${name}`]);
    },
  );

  test.each(["deliveries.claim", "deliveries.claimed-by-token", "journal.append", "deliveries.settle"])(
    "%s never answers: the message is not acknowledged, and nothing is claimed of the run's end",
    async (name) => {
      const runId = await submit(`never-${name}`);
      const unlucky = createWorker(config, { ...overrides, faults: losing(name, 1_000) });
      const event = { Records: [record("m", `run:${runId}:1`)] };
      // What cannot be written is tried for as long as the invocation lasts.
      const brief = { ...context, getRemainingTimeInMillis: () => (lost > 8 ? 500 : 900_000) };
      // A claim that needs no second read is not touched by the loss of that read.
      const expected = name === "deliveries.claimed-by-token" ? [] : [{ itemIdentifier: "m" }];
      expect(await unlucky(event, brief)).toEqual({ batchItemFailures: expected });
      expect(["QUEUED", "RUNNING", "DONE"]).toContain(await statusOf(runId));
      expect(ran.length).toBeLessThanOrEqual(1);
    },
  );

  test("a build whose workflows cannot be recorded carries runs all the same", async () => {
    const runId = await submit("unrecorded");
    const unlucky = createWorker(config, { ...overrides, faults: losing("workflows.record", 1_000) });
    expect(await unlucky({ Records: [record("m", `run:${runId}:1`)] }, context)).toEqual({
      batchItemFailures: [],
    });
    expect(await statusOf(runId)).toBe("DONE");
  });

  test("the reason of a skip cannot be read: the message is not acknowledged", async () => {
    const runId = await submit("skip");
    const event = { Records: [record("m", `run:${runId}:1`)] };
    await worker(event, context);
    const unlucky = createWorker(config, { ...overrides, faults: losing("deliveries.unclaimed", 1_000) });
    expect(await unlucky(event, context)).toEqual({ batchItemFailures: [{ itemIdentifier: "m" }] });
  });
});

// Each of the four passes has a patience of ten seconds for a connection.
const FOUR_PASSES = { timeout: 60_000 };
test(
  "the reconciler publishes what an admission could not, and survives a ledger that is down",
  FOUR_PASSES,
  async () => {
    const silent = createFetch(config, {
      ...overrides,
      faults: (point) => {
        if (point === "queue.before-publish") throw new Error("SQS is down");
      },
    });
    const answer = await silent(
      new Request("http://127.0.0.1/v1/runs", {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ workflow: "hello", input: { name: "later" } }),
      }),
    );
    expect(answer.status).toBe(202);
    await db.admin(
      "update ghouls.deliveries set next_publication_at = ghouls.clock() where status = 'PENDING'",
    );
    const report = await createReconciler(config, overrides)({}, context);
    expect(report).toMatchObject({ relay: { repaired: expect.toSatisfy((count: number) => count >= 1) } });
    expect(report).not.toHaveProperty("relay.error");

    const broken = createReconciler(config, {
      ...overrides,
      connectPatienceMs: 200,
      variables: { ...variables, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" },
    });
    const down = await broken({}, context);
    expect(down).toMatchObject({
      relay: { error: expect.stringMatching(/^the ledger could not carry out /) },
    });
  },
);

test("the reconciler seals what has ended, and empties bodies only where the configuration has an age for them", async () => {
  const left = async () =>
    (await db.admin("select from ghouls.runs where finished_at is not null and input_text is not null"))
      .length;
  const before = await left();
  expect(before).toBeGreaterThan(0);
  await db.admin("update ghouls.end_acts set due_at = ghouls.clock()");
  await createReconciler(config, overrides)({}, context);
  expect(await db.admin("select from ghouls.end_acts")).toEqual([]);
  expect(logged.join("")).toContain('"message":"evidence sealed"');
  expect(await left()).toBe(before);
  const forgets = defineConfig({ workflows: [hello], retention: { bodies: "1ms", steps: "1ms" } });
  await createReconciler(forgets, overrides)({}, context);
  expect(await left()).toBe(0);
});

test("a function that cannot start answers with a problem, and its log alone names the reason", async () => {
  const lines: string[] = [];
  const broken = createFetch(config, { variables: {}, write: (line) => void lines.push(line) });
  const answer = await broken(new Request("http://127.0.0.1/v1/runs"));
  expect(answer.status).toBe(503);
  const problem = (await answer.json()) as { type: string; requestId: string };
  expect(problem.type).toBe("urn:ghouls:problem:not_started");
  expect(JSON.stringify(problem)).not.toContain("DATABASE_URL");
  expect(lines.join("")).toContain("DATABASE_URL");
  expect(lines.join("")).toContain(problem.requestId);
});

test("readiness says that the ledger is down without the driver's words", async () => {
  const down = createFetch(config, {
    ...overrides,
    connectPatienceMs: 200,
    variables: { ...variables, DATABASE_URL: "postgres://nobody:pw-canary@127.0.0.1:1/none" },
  });
  const answer = await down(new Request("http://127.0.0.1/readyz"));
  expect(answer.status).toBe(503);
  expect(await answer.text()).not.toMatch(/127\.0\.0\.1|canary|ECONN/);
  expect((await down(new Request("http://127.0.0.1/healthz"))).status).toBe(200);
});

test("logs are lines of JSON and hold no payload and no token", () => {
  const text = logged.join("");
  for (const line of text.trim().split("\n")) JSON.parse(line);
  expect(text).toContain("run settled");
  expect(text).not.toContain(token);
  expect(text).not.toContain("Hello, good");
});
