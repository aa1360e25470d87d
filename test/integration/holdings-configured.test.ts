import { expect, test } from "vitest";
import * as z from "zod";
import { createFetch, createWorker, defineConfig, workflow, type ConfigOptions } from "ghouls";
import { openLedger } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { asMigrator, makeKey } from "../support/keys.ts";
import { CREDENTIALS, testQueue } from "../support/queue.ts";

/** Who is asked, as a worker's function asks: the ledger, or what the configuration names. */

const writes = workflow({
  name: "writes",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  authority: { roles: ["operator"] },
  grants: ["reports:write"],
  run: (ctx) => ctx.step("write", () => ctx.grant("reports:write").value ?? "no value"),
});
const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
const key = await makeKey(db, { tenantId: "default", subject: "dev", roles: ["operator"] });
const reader = await makeKey(db, { tenantId: "default", subject: "reader", roles: ["viewer"] });
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

async function carried(more: Partial<ConfigOptions> = {}, meanwhile = () => Promise.resolve()) {
  const config = defineConfig({ workflows: [writes], ...more });
  const [fetchApi, worker] = [createFetch(config, overrides), createWorker(config, overrides)];
  const ask = async (token: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetchApi(new Request(`http://127.0.0.1${path}`, { ...init, headers }));
    return (await answer.json()) as {
      runId: string;
      status: string;
      output: unknown;
      errorCode: string | null;
    };
  };
  const { runId } = await ask(key.text, "/v1/runs", {
    method: "POST",
    body: JSON.stringify({ workflow: "writes", input: null }),
  });
  await meanwhile();
  const record = {
    messageId: "m",
    receiptHandle: "handle",
    body: `run:${runId}:1`,
    eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs",
  };
  await worker({ Records: [record] }, { awsRequestId: "r", getRemainingTimeInMillis: () => 900_000 });
  const { status, output, errorCode } = await ask(reader.text, `/v1/runs/${runId}`);
  return { status, output, errorCode };
}

test("a worker asks the ledger's grants and keys where the configuration names nobody", async () => {
  expect(await carried()).toMatchObject({ status: "FAILED", errorCode: "grant_refused" });
  const owner = openLedger({ connectionString: db.migratorUrl, maxConnections: 1, chance: () => 0 });
  await owner.grants.create({
    tenantId: "default",
    grantId: "g1",
    name: "reports:write",
    holder: "role:operator",
    createdBy: null,
    expiresInMs: null,
  });
  await owner.close();
  expect(await carried()).toMatchObject({ status: "DONE", output: "no value" });
});

test("a worker asks those whom the configuration names, and the keys of the ledger for the rest", async () => {
  const grants = { acquire: () => Promise.resolve({ outcome: "granted" as const, value: "a token" }) };
  expect(await carried({ grants })).toMatchObject({ status: "DONE", output: "a token" });
  const authority = {
    check: () => Promise.resolve({ outcome: "revoked" as const, reason: "it has left" }),
  };
  expect(await carried({ grants, authority })).toMatchObject({ errorCode: "authority_revoked" });
  const revoke = () =>
    asMigrator(db, async (keys) => {
      await keys.revoke(key.keyId, { actor: null, reason: "by a test" });
    });
  expect(await carried({ grants }, revoke)).toMatchObject({ errorCode: "authority_revoked" });
});
