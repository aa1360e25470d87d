import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  createAdmissionHandler,
  createAdmitter,
  createFetch,
  createWorker,
  defineConfig,
  workflow,
} from "ghouls";
import { testDatabase } from "../support/database.ts";
import { makeKey } from "../support/keys.ts";
import { CREDENTIALS, testQueue } from "../support/queue.ts";
import { waiting } from "../support/races.ts";

/**
 * Whoever admits has said before which workflows its build has: a worker of another build then gives the run back.
 */

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("hello"),
});
const config = defineConfig({ workflows: [hello] });
const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
const principal = { tenantId: "default", subject: "dev", roles: ["operator"] };
const { text: token } = await makeKey(db, principal);
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;

type RuntimeOverrides = NonNullable<Parameters<typeof createFetch>[1]>;

/** The statements of one process in the order in which they were answered, and how many announcements it may lose. */
function watched() {
  const answered: string[] = [];
  const state = { losing: 0 };
  const overrides: RuntimeOverrides = {
    variables: {
      DATABASE_URL: db.applicationUrl,
      AWS_ENDPOINT_URL: sqs.endpoint,
      GHOULS_QUEUE_RUNS_URL: sqs.urls["runs"],
      GHOULS_QUEUE_RITES_URL: sqs.urls["rites"],
      GHOULS_BUILD: "tuesday",
    },
    write: () => undefined,
    faults: (point, detail) => {
      if (point === "ledger.before-statement" && detail === "workflows.record" && state.losing > 0) {
        state.losing -= 1;
        // As a lost connection does: without a SQLSTATE, so that nobody knows whether it was written.
        throw new Error("Connection terminated unexpectedly");
      }
      if (point === "ledger.after-statement") answered.push(detail);
    },
  };
  const announcements = () => answered.filter((name) => name === "workflows.record").length;
  return { answered, announcements, state, overrides };
}

/** As often as a statement is tried whose outcome is unknown, and more. */
const ALL_TRIES = 10;

const body = (input: unknown) => JSON.stringify({ workflow: "hello", input });
const posted = (fetch: ReturnType<typeof createFetch>) =>
  fetch(
    new Request("http://127.0.0.1/v1/runs", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body(null),
    }),
  );
const runs = async () => (await db.admin("select from ghouls.runs")).length;
const builds = () => db.admin("select name, version, build from ghouls.workflows");
const HELLO = { name: "hello", version: 1, build: "tuesday" };

beforeEach(async () => {
  await db.admin("truncate ghouls.runs cascade");
  await db.admin("truncate ghouls.workflows");
});

describe("an admission", () => {
  test("is committed only after its build was announced, once for the process, however many come first", async () => {
    const { answered, announcements, overrides } = watched();
    const fetch = createFetch(config, overrides);
    const first = await Promise.all(Array.from({ length: 8 }, () => posted(fetch)));
    expect(first.map((answer) => answer.status)).toEqual(first.map(() => 202));
    expect(answered.indexOf("workflows.record")).toBeGreaterThanOrEqual(0);
    expect(answered.indexOf("workflows.record")).toBeLessThan(answered.indexOf("runs.admit"));
    expect((await posted(fetch)).status).toBe(202);
    expect(announcements()).toBe(1);
    expect(await builds()).toEqual([HELLO]);
  });

  test("waits for the announcement, so that no worker meets its run before", async () => {
    const { overrides } = watched();
    const holder = await db.client("admin");
    const [{ pid }] = (await holder.query<{ pid: number }>("select pg_backend_pid() as pid")).rows as [
      { pid: number },
    ];
    await holder.query("begin");
    await holder.query("lock table ghouls.workflows");
    const fetch = createFetch(config, overrides);
    const admitted = posted(fetch);
    await waiting(db, pid);
    // What this process sends after it is answered, so an admission that did not wait would be committed by now.
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(new Request("http://127.0.0.1/v1/runs", { headers }))).status).toBe(200);
    expect(await runs()).toBe(0);
    await holder.query("commit");
    expect((await admitted).status).toBe(202);
  });

  test("whose build cannot be announced is refused, nothing of it is committed, and the next one tries again", async () => {
    const { answered, announcements, overrides, state } = watched();
    state.losing = ALL_TRIES;
    const handler = createAdmissionHandler(config, overrides);
    const event = {
      version: "2.0",
      routeKey: "$default",
      rawPath: "/v1/runs",
      rawQueryString: "",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        host: "127.0.0.1",
      },
      requestContext: { http: { method: "POST", path: "/v1/runs" }, domainName: "127.0.0.1" },
      body: body(null),
      isBase64Encoded: false,
    } as unknown as Parameters<typeof handler>[0];
    const refused = (await handler(event)) as { statusCode: number; body: string; headers: object };
    expect(refused.statusCode).toBe(503);
    // Of its run everything is known: it is not "outcome_unknown".
    expect(JSON.parse(refused.body)).toMatchObject({ type: "urn:ghouls:problem:ledger_unavailable" });
    expect(answered).not.toContain("runs.admit");
    expect(await runs()).toBe(0);

    state.losing = 0;
    expect(await handler(event)).toMatchObject({ statusCode: 202 });
    expect(announcements()).toBe(1);
    expect(await builds()).toEqual([HELLO]);
  });

  test("that only reads announces nothing", async () => {
    const { announcements, overrides } = watched();
    const fetch = createFetch(config, overrides);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(new Request("http://127.0.0.1/v1/runs", { headers }))).status).toBe(200);
    expect(announcements()).toBe(0);
  });
});

describe("an admission in the caller's own transaction", () => {
  test("has its build announced beside it, whether it commits or not", async () => {
    const { announcements, overrides } = watched();
    const admitter = createAdmitter(config, overrides);
    const client = await db.client("application");
    for (const end of ["rollback", "commit"]) {
      await client.query("begin");
      await admitter.admit(client, principal, { workflow: "hello" });
      expect(await builds()).toEqual([HELLO]);
      await client.query(end);
    }
    expect(await runs()).toBe(1);
    expect(announcements()).toBe(1);
    await admitter.close();
  });

  test("whose build cannot be announced leaves that transaction as it was: it may go on, and ask again", async () => {
    const { overrides, state } = watched();
    const admitter = createAdmitter(config, overrides);
    const client = await db.client("application");
    await client.query("begin");
    state.losing = ALL_TRIES;
    await expect(admitter.admit(client, principal, { workflow: "hello" })).rejects.toMatchObject({
      code: "ledger_unavailable",
    });
    state.losing = 0;
    await admitter.admit(client, principal, { workflow: "hello" });
    await client.query("commit");
    expect(await runs()).toBe(1);
    await admitter.close();
  });

  test("on a schema without the table says so in its own words", async () => {
    const bare = await testDatabase();
    await bare.admin("alter table ghouls.workflows rename to elsewhere");
    const { overrides } = watched();
    const variables = { ...overrides.variables, DATABASE_URL: bare.applicationUrl };
    const admitter = createAdmitter(config, { ...overrides, variables });
    const client = await bare.client("application");
    await client.query("begin");
    await expect(admitter.admit(client, principal, { workflow: "hello" })).rejects.toMatchObject({
      code: "schema_outdated",
    });
    await admitter.close();
  });
});

const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 900_000 };
const messageOf = (runId: string, seq: number) => ({
  messageId: runId,
  receiptHandle: runId,
  body: `run:${runId}:${seq}`,
  eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs",
});
const stateOf = async (runId: string) =>
  (
    await db.admin("select status, enqueue_seq as seq, error_code from ghouls.runs where run_id = $1", [
      runId,
    ])
  )[0];

test("a worker whose build could not be announced works all the same, and its next invocation tries again", async () => {
  const { announcements, overrides, state } = watched();
  const worker = createWorker(config, overrides);
  const work = async () => {
    const answer = await posted(createFetch(config, watched().overrides));
    const { runId } = (await answer.json()) as { runId: string };
    await worker({ Records: [messageOf(runId, 1)] }, context);
    return (await stateOf(runId))?.["status"];
  };
  state.losing = ALL_TRIES;
  expect(await work()).toBe("DONE");
  expect(announcements()).toBe(0);
  state.losing = 0;
  expect([await work(), await work()]).toEqual(["DONE", "DONE"]);
  expect(announcements()).toBe(1);
});

test.each([
  [undefined, { status: "QUEUED", seq: 2, error_code: null }],
  ["0s", { status: "FAILED", seq: 1, error_code: "workflow_changed" }],
] as const)(
  "a run of another bundle at a worker whose deployOverlap is %s",
  async (deployOverlap, expected) => {
    const bundle = (digest: string) => ({ ...watched().overrides, manifest: { "hello@1": digest } });
    const answer = await posted(createFetch(config, bundle("of the new admission")));
    const { runId } = (await answer.json()) as { runId: string };
    const timing = deployOverlap === undefined ? {} : { deployOverlap };
    const old = createWorker(defineConfig({ workflows: [hello], timing }), bundle("of the old worker"));
    // Its message may go: the relay publishes the next one when it is due.
    expect(await old({ Records: [messageOf(runId, 1)] }, context)).toEqual({ batchItemFailures: [] });
    expect(await stateOf(runId)).toEqual(expected);
  },
);
