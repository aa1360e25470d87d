import { expect, test } from "vitest";
import * as z from "zod";
import { createFetch, createReconciler, createWorker, defineConfig, workflow } from "ghouls";
import { testDatabase } from "../support/database.ts";
import { makeKey } from "../support/keys.ts";
import { CREDENTIALS, testQueue } from "../support/queue.ts";
import { movableClock } from "../support/world.ts";

/** Evidence that somebody has altered, from the pass that finds it to the word that lets the deployment be ready again. */

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (_ctx, input) => Promise.resolve(input),
});
const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
await movableClock(db);
const key = await makeKey(db, { tenantId: "acme", subject: "ada", roles: ["operator"] });
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;
const overrides = {
  variables: {
    DATABASE_URL: db.applicationUrl,
    AWS_ENDPOINT_URL: sqs.endpoint,
    GHOULS_QUEUE_RUNS_URL: sqs.urls["runs"],
    GHOULS_QUEUE_RITES_URL: sqs.urls["rites"],
  },
  write: () => undefined,
};
const config = defineConfig({ workflows: [hello] });
const fetchApi = createFetch(config, overrides);
const [worker, reconciler] = [createWorker(config, overrides), createReconciler(config, overrides)];

async function ask(path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetchApi(
    new Request(`http://127.0.0.1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${key.text}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
async function ended(): Promise<string> {
  const { runId } = (await ask("/v1/runs", { workflow: "hello", input: 1 })).body as { runId: string };
  const record = { messageId: "m", receiptHandle: "h", body: `run:${runId}:1` };
  await worker(
    { Records: [{ ...record, eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs" }] },
    { awsRequestId: "w", getRemainingTimeInMillis: () => 900_000 },
  );
  return runId;
}
const round = async (seconds: number) => {
  await db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);
  await reconciler({}, { awsRequestId: "r", getRemainingTimeInMillis: () => 50_000 });
};
const sealsOf = () => db.admin<{ records: number }>("select records from ghouls.seals order by number");

test("altered evidence is found, its run quarantined, the others go on; not ready until somebody knows of it", async () => {
  const [altered, other] = [await ended(), await ended()];
  await db.admin("update ghouls.terminal_records set record_text = record_text || ' ' where run_id = $1", [
    altered,
  ]);
  expect((await ask("/readyz")).status).toBe(200);
  await round(90);
  // The other is sealed; the altered record stands as somebody has left it.
  expect(await sealsOf()).toEqual([{ records: 1 }]);
  expect(await db.admin("select members_text from ghouls.seals")).toMatchObject([
    { members_text: expect.stringContaining(other) as unknown },
  ]);
  expect(
    await db.admin("select record_text like '% ' as altered from ghouls.terminal_records where run_id = $1", [
      altered,
    ]),
  ).toEqual([{ altered: true }]);
  expect((await ask(`/v1/runs/${altered}`)).body).toMatchObject({
    status: "DONE",
    quarantine: { reason: expect.stringMatching(/^evidence: /) as unknown },
  });
  expect((await ask(`/v1/runs/${other}`)).body).toMatchObject({ status: "DONE", quarantine: null });
  const unready = await ask("/readyz");
  expect(unready).toMatchObject({ status: 503, body: { ready: false } });
  expect(unready.body["checks"]).toContainEqual(expect.objectContaining({ name: "integrity", ok: false }));

  const { faults } = (await ask("/v1/integrity?open=true")).body as {
    faults: { faultId: string; runId: string }[];
  };
  expect(faults).toMatchObject([{ runId: altered }]);
  const known = await ask(`/v1/integrity/${faults[0]?.faultId}/acknowledgement`, { reason: "seen with ada" });
  expect(known).toMatchObject({ status: 200, body: { acknowledged: true } });
  expect((await ask("/readyz")).status).toBe(200);
  // The next look at it is no news.
  await round(3_700);
  expect((await ask("/readyz")).status).toBe(200);
  await expect(ended()).resolves.toEqual(expect.any(String));
});

test("a record removed before its seal is written again; one removed after it is found", async () => {
  const before = (await sealsOf()).length;
  const [removed, later] = [await ended(), await ended()];
  await db.admin("delete from ghouls.terminal_records where run_id = $1", [removed]);
  await round(90);
  expect((await sealsOf()).length).toBe(before + 1);
  expect(
    await db.admin("select run_id from ghouls.terminal_records where run_id = $1", [removed]),
  ).toHaveLength(1);
  expect((await ask("/readyz")).status).toBe(200);
  await db.admin("delete from ghouls.terminal_records where run_id = $1", [later]);
  // The rolling check has come round, and begins anew a day later.
  for (let hours = 0; hours < 30 && (await ask("/readyz")).status === 200; hours += 1) await round(3_600);
  expect(await db.admin("select from ghouls.terminal_records where run_id = $1", [later])).toHaveLength(0);
});
