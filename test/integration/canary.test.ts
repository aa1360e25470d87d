import { afterAll, expect, test, vi } from "vitest";
import * as z from "zod";
import { createFetch, createReconciler, createWorker, defineConfig, workflow } from "ghouls";
import { openSqs } from "@ghouls/aws";
import { identityCodec, noFaults } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { jobService } from "../support/job-service.ts";
import { makeKey } from "../support/keys.ts";
import { CREDENTIALS, testQueue } from "../support/queue.ts";
import { tracing } from "../support/tracing.ts";
import { movableClock } from "../support/world.ts";

/**
 * Secrets are planted wherever somebody can bring one in, and then looked for in all that is written for operators: logs,
 * measures, spans, problem answers, rows about the reconciler's own work. What belongs to the run (its bodies and its
 * error) is for whoever may read it, and is not looked at here.
 */

const planted: string[] = [];
const canary = (where: string): string => {
  const secret = `canary-${where}-${planted.length}-9f1c`;
  planted.push(secret);
  return secret;
};
const of = {
  input: canary("input"),
  result: canary("result"),
  thrown: canary("thrown"),
  undone: canary("undone"),
  output: canary("output"),
  detail: canary("detail"),
  comment: canary("comment"),
  signal: canary("signal"),
  request: canary("request"),
  report: canary("report"),
  refusal: canary("refusal"),
  codec: canary("codec"),
  grant: canary("grant"),
  resource: canary("resource"),
  sql: canary("sql"),
  stream: canary("stream"),
  message: canary("message"),
  cookie: canary("cookie"),
  query: canary("query"),
  body: canary("body"),
  decision: canary("decision"),
};

const service = jobService();
service.misbehave = (question) =>
  question === "lookUp" ? Promise.reject(new Error(of.refusal)) : Promise.resolve(undefined);
const bank = { ...service, request: z.unknown(), result: z.unknown() };
const busy = workflow({
  name: "busy",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx, input) {
    ctx.stream("tokens", of.stream);
    await ctx.step("fine", () => ({ input, result: of.result }));
    await ctx
      .step("throws", () => Promise.reject(Object.assign(new Error(of.thrown), { code: of.thrown })), {
        tries: 2,
        backoff: { initial: "1s" },
      })
      .catch(() => undefined);
    await ctx.transaction("sql", (tx) => tx.query("select $1::uuid", [of.sql])).catch(() => undefined);
    await ctx.step("paid", () => 1, { undo: () => Promise.reject(new Error(of.undone)) });
    const said = await ctx.consent("go on?", {
      deciders: ["role:operator"],
      source: "desk",
      expires: "1d",
      detail: of.detail,
    });
    const sent = await ctx.waitForSignal("more");
    await ctx.delegate("pay", bank, { iban: of.request }, { deadline: "1h" });
    return { said, sent, output: of.output };
  },
});
const held = workflow({
  name: "held",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  grants: ["vault"],
  resources: { pool: { build: () => Promise.reject(new Error(of.resource)) } },
  run: () => Promise.resolve(1),
});

const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
const key = await makeKey(db, { tenantId: "acme", subject: "ada", roles: ["operator", "decider"] });
const other = await makeKey(db, { tenantId: "acme", subject: "eve", roles: ["operator", "decider"] });
const { spans } = tracing();
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;

const lines: string[] = [];
const stdout = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
  lines.push(String(text));
  return true;
});
afterAll(() => stdout.mockRestore());
let codecFails = false;
const variables = {
  DATABASE_URL: db.applicationUrl,
  AWS_ENDPOINT_URL: sqs.endpoint,
  GHOULS_QUEUE_RUNS_URL: sqs.urls["runs"],
  GHOULS_QUEUE_RITES_URL: sqs.urls["rites"],
  GHOULS_DEAD_LETTERS_RUNS_URL: `${sqs.urls["runs"]}-dlq`,
  GHOULS_DEPLOYMENT: "shop-test",
  GHOULS_PUBLIC_URL: "https://ghouls.example",
};
const overrides = { variables, write: (line: string) => void lines.push(line) };
const config = defineConfig({
  workflows: [busy, held],
  services: { bank },
  decisionSources: { desk: { lookUp: () => Promise.reject(new Error(of.decision)) } },
  grants: { acquire: () => Promise.reject(new Error(of.grant)) },
  codec: {
    ...identityCodec,
    decode: (text, context) =>
      codecFails && context.kind === "input" ? Promise.reject(new Error(of.codec)) : Promise.resolve(text),
  },
});
const fetchApi = createFetch(config, overrides);
const worker = createWorker(config, overrides);
const reconciler = createReconciler(config, overrides);
const hop = { awsRequestId: "h", getRemainingTimeInMillis: () => 900_000 };
const invocation = { awsRequestId: "r", getRemainingTimeInMillis: () => 60_000 };
const queue = openSqs({
  region: "us-east-1",
  endpoint: sqs.endpoint,
  credentials: CREDENTIALS,
  queueUrls: sqs.urls,
  faults: noFaults,
  random: () => 0,
});
afterAll(() => queue.close());

await movableClock(db);
const advance = (seconds: number) =>
  db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);

const refused: string[] = [];
async function ask<T>(path: string, body?: unknown, token: string = key.text): Promise<T> {
  const answer = await fetchApi(
    new Request(`http://127.0.0.1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", cookie: of.cookie },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }),
  );
  const text = await answer.text();
  if (answer.status >= 400) refused.push(text);
  return JSON.parse(text) as T;
}

/** What is in the queue goes through a worker, until there is nothing. */
async function drain(): Promise<void> {
  for (;;) {
    const messages = await queue.receive("runs", { max: 10, waitSeconds: 0 });
    if (messages.length === 0) return;
    const Records = messages.map((message) => ({
      ...message,
      eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs",
    }));
    const { batchItemFailures } = await worker({ Records }, hop);
    const back = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    for (const { messageId, receiptHandle } of messages)
      if (!back.has(messageId)) await queue.delete("runs", receiptHandle);
  }
}
const statusOf = async (runId: string) => (await ask<{ status: string }>(`/v1/runs/${runId}`)).status;

test("what somebody brings in stands in no log, measure, span, problem, or row about the reconciler's own work", async () => {
  const submit = (name: string) =>
    ask<{ runId: string }>("/v1/runs", { workflow: name, input: { secret: of.input } });
  const { runId } = await submit("busy");
  const { runId: heldId } = await submit("held");
  await drain();
  expect(await statusOf(runId)).toBe("AWAITING_CONSENT");
  await reconciler({}, invocation);
  const { consents } = await ask<{ consents: { consentId: string; digest: string }[] }>(
    `/v1/consents?runId=${runId}`,
  );
  const [consent] = consents;
  const verdict = { verdict: "grant", digest: consent?.digest, comment: of.comment };
  await ask(`/v1/consents/${consent?.consentId}/decision`, verdict, other.text);
  await ask(`/v1/runs/${runId}/signals/more`, { payload: { secret: of.signal } });
  await drain();
  expect(await statusOf(runId)).toBe("AWAITING_DELEGATE");
  for (const seconds of [40, 120, 600]) {
    await advance(seconds);
    await reconciler({}, invocation);
  }
  codecFails = true;
  await submit("busy");
  await drain();
  codecFails = false;
  await ask(`/v1/runs/${runId}/cancel`, { reason: "no more" });
  await ask(`/v1/runs/${heldId}/cancel`, { reason: "no more" });
  for (const seconds of [1, 120, 600]) {
    await advance(seconds);
    await reconciler({}, invocation);
    await drain();
  }
  // Poison, in the queue and in its dead letters; and requests that are refused.
  for (const url of [sqs.urls["runs"], `${sqs.urls["runs"]}-dlq`])
    await fetch(sqs.endpoint, {
      method: "POST",
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
      body: JSON.stringify({ QueueUrl: url, MessageBody: of.message }),
    });
  const [poison] = await queue.receive("runs", { max: 1, waitSeconds: 0 });
  await worker(
    { Records: [{ ...poison, eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs" } as never] },
    invocation,
  );
  await reconciler({}, invocation);
  await ask("/v1/runs", `{"workflow": "busy", "input": "${of.body}`);
  await ask(`/v1/nothing?q=${of.query}`);
  await ask(`/v1/runs?status=${of.query}`);
  await ask("/v1/runs", undefined, `${key.text}x`);

  const tables = ["repairs", "degraded_owners", "passes", "integrity_faults", "dead_letters"];
  const rows = await Promise.all(tables.map((table) => db.admin(`select * from ghouls.${table}`)));
  const written = {
    logs: lines.join(""),
    spans: JSON.stringify(
      spans().map(({ name, status, attributes, events, links }) => ({
        name,
        status,
        attributes,
        events,
        links,
      })),
    ),
    problems: refused.join(""),
    rows: JSON.stringify(rows),
  };
  // The places were come to: each of these would say nothing where nothing was written.
  expect(written.logs).toContain("a try of a step failed");
  expect(written.logs).toContain("a dead letter names nothing");
  expect(written.logs).toContain("OldestUnrepaired");
  expect(written.spans).toContain("ghouls.step");
  expect(refused.length).toBeGreaterThanOrEqual(4);
  expect(rows[0]?.length).toBeGreaterThan(0);
  const password = new URL(db.applicationUrl).password;
  const secrets = [...planted, key.text, other.text, ...(password === "" ? [] : [password])];
  for (const [where, text] of Object.entries(written))
    expect({ where, found: secrets.filter((secret) => text.includes(secret)) }).toEqual({ where, found: [] });
}, 120_000);
