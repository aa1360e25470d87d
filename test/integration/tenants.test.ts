import { openApiDocument } from "@ghouls/api";
import type { Principal } from "@ghouls/core";
import { createFetch, defineConfig, digestManifest, workflow } from "ghouls";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { testDynamo } from "../support/dynamodb.ts";
import { makeKey } from "../support/keys.ts";
import { jobService } from "../support/job-service.ts";
import { CREDENTIALS } from "../support/queue.ts";
import { testWorld } from "../support/world.ts";

/** Two tenants, every route of the document and every kind of id that there is, each with what belongs to the other. */

const asks = workflow({
  name: "asks",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.consent("may I", { deciders: ["role:legal"] }),
});
const service = jobService();
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.delegate("sign", service, { what: "it" }),
});
const workflows = [asks, delegates];
const config = defineConfig({ workflows, services: { signer: service } });
const manifest = await digestManifest(config);
const [world, dynamo] = await Promise.all([
  testWorld({
    workflows,
    services: { signer: service },
    digestOf: ({ name, version }) => manifest[`${name}@${version}`] ?? "",
  }),
  testDynamo(),
]);
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;
const fetchApi = createFetch(config, {
  manifest,
  write: () => undefined,
  variables: {
    DATABASE_URL: world.db.applicationUrl,
    AWS_ENDPOINT_URL: world.sqs.endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
    AWS_REGION: "us-east-1",
    EVENTS_TABLE: dynamo.table,
    GHOULS_HINT: "0",
    GHOULS_QUEUE_RUNS_URL: world.sqs.urls["runs"],
    GHOULS_QUEUE_RITES_URL: world.sqs.urls["rites"],
  },
});
const of = (tenantId: string): Principal => ({
  tenantId,
  subject: "user:ada",
  roles: ["admin", "legal"],
  permissions: [],
});
const [mine, theirs] = [await makeKey(world.db, of("acme")), await makeKey(world.db, of("umbrella"))];

/** Ids of what belongs to acme. */
const ids = { run: "", held: "", job: "", consent: "", attempt: "", pause: "" };
/** Of each kind one that nobody has. */
const NOBODYS = "00000000-0000-4000-8000-000000000000";

async function ask(method: string, path: string, token: string, body?: unknown) {
  const response = await fetchApi(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as Record<string, unknown> };
}

beforeAll(async () => {
  const submit = async (body: object) =>
    (await ask("POST", "/v1/runs", mine.text, { workflow: "asks", labels: { team: "payments" }, ...body }))
      .body;
  ids.run = String((await submit({}))["runId"]);
  ids.held = String((await submit({ held: true }))["runId"]);
  ids.job = String((await submit({ workflow: "delegates" }))["runId"]);
  await world.drain();
  const [consent] = await world.db.admin("select consent_id from ghouls.consents where tenant_id = 'acme'");
  ids.consent = String(consent?.["consent_id"]);
  const pause = { scope: "workflow", workflow: "other", reason: "by a test" };
  await ask("POST", "/v1/pauses", mine.text, pause);
  const [paused] = await world.db.admin("select pause_id from ghouls.pauses where tenant_id = 'acme'");
  ids.pause = String(paused?.["pause_id"]);
  const [attempt] = await world.db.admin("select attempt_id from ghouls.attempts where tenant_id = 'acme'");
  ids.attempt = String(attempt?.["attempt_id"]);
  for (const [what, id] of Object.entries(ids)) expect(id, what).toMatch(/^[0-9a-f-]{36}$/);
});

/** What a route is asked with, by its method and path; an id of acme stands where it says so. */
const decision = { verdict: "grant", digest: "d" };
const reason = { reason: "by a test" };
const ROUTES: Readonly<Record<string, { readonly path: () => string; readonly body?: unknown }>> = {
  "GET /v1/runs/{id}": { path: () => `/v1/runs/${ids.run}` },
  "GET /v1/runs/{id}/timeline": { path: () => `/v1/runs/${ids.run}/timeline` },
  "GET /v1/runs/{id}/evidence": { path: () => `/v1/runs/${ids.run}/evidence` },
  "GET /v1/runs/{id}/events": { path: () => `/v1/runs/${ids.run}/events?wait=0` },
  "POST /v1/runs/{id}/release": { path: () => `/v1/runs/${ids.held}/release` },
  "POST /v1/runs/{id}/cancel": { path: () => `/v1/runs/${ids.run}/cancel`, body: reason },
  "POST /v1/runs/{id}/clear": { path: () => `/v1/runs/${ids.run}/clear`, body: reason },
  "POST /v1/runs/{id}/pause": { path: () => `/v1/runs/${ids.run}/pause`, body: reason },
  "POST /v1/runs/{id}/unpause": { path: () => `/v1/runs/${ids.run}/unpause`, body: reason },
  "POST /v1/runs/{id}/redrive": { path: () => `/v1/runs/${ids.run}/redrive`, body: reason },
  "POST /v1/runs/{id}/signals/{name}": { path: () => `/v1/runs/${ids.run}/signals/paid`, body: {} },
  "POST /v1/runs/{id}/items/{item}/resolution": {
    path: () => `/v1/runs/${ids.run}/items/worker-1/resolution`,
    body: reason,
  },
  "GET /v1/consents/{id}": { path: () => `/v1/consents/${ids.consent}` },
  "POST /v1/consents/{id}/decision": { path: () => `/v1/consents/${ids.consent}/decision`, body: decision },
  "GET /v1/attempts/{id}": { path: () => `/v1/attempts/${ids.attempt}` },
  "POST /v1/attempts/{id}/resolution": {
    path: () => `/v1/attempts/${ids.attempt}/resolution`,
    body: { outcome: "cancelled", reason: "by a test" },
  },
  "DELETE /v1/pauses/{id}": { path: () => `/v1/pauses/${ids.pause}?reason=by%20a%20test` },
};

/** Routes without an id: asked with ids of acme in their filters and bodies, they find and change nothing of it. */
const FILTERS: Readonly<
  Record<string, readonly { readonly path: () => string; readonly body?: () => unknown }[]>
> = {
  "GET /v1/runs": [
    { path: () => "/v1/runs" },
    { path: () => "/v1/runs?label=team:payments" },
    { path: () => `/v1/runs?parentRunId=${ids.run}` },
    { path: () => `/v1/runs?workflow=asks&status=AWAITING_CONSENT` },
  ],
  "GET /v1/runs/counts": [
    { path: () => "/v1/runs/counts?hours=168" },
    { path: () => "/v1/runs/counts?label=team:payments" },
    { path: () => "/v1/runs/counts?workflow=asks" },
  ],
  "GET /v1/workflows/pinned": [{ path: () => "/v1/workflows/pinned" }],
  "GET /v1/consents": [
    { path: () => "/v1/consents" },
    { path: () => "/v1/consents?mine=true" },
    { path: () => `/v1/consents?runId=${ids.run}` },
  ],
  "GET /v1/attempts": [{ path: () => "/v1/attempts" }, { path: () => `/v1/attempts?runId=${ids.run}` }],
  "GET /v1/pauses": [{ path: () => "/v1/pauses" }],
  "GET /v1/integrity": [{ path: () => "/v1/integrity" }],
  "POST /v1/runs/cancel": [
    {
      path: () => "/v1/runs/cancel",
      body: () => ({ filter: { parentRunId: ids.run }, reason: "by a test" }),
    },
    { path: () => "/v1/runs/cancel", body: () => ({ filter: { workflow: "asks" }, reason: "by a test" }) },
    {
      path: () => "/v1/runs/cancel",
      body: () => ({ filter: { labels: { team: "payments" } }, reason: "x" }),
    },
  ],
};

/** Of no tenant, of the deployment, or proven by a token of their own; or they make something of the caller's alone. */
const OTHERS = [
  "POST /v1/runs",
  "POST /v1/runs/batch",
  "POST /v1/pauses",
  "GET /v1/workflows",
  "GET /v1/whoami",
  "GET /v1/reconciler",
  "POST /v1/reconciler/passes",
  "POST /v1/integrity/{id}/acknowledgement",
  "POST /v1/attempts/{id}/callback",
  "GET /healthz",
  "GET /readyz",
];

test("every route of the document is asked here, or says why it is not", () => {
  const documented = Object.entries(openApiDocument().paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...Object.keys(ROUTES), ...Object.keys(FILTERS), ...OTHERS].toSorted()).toEqual(
    documented.toSorted(),
  );
});

/** All that the ledger has of acme, as one text. */
async function stateOfAcme(): Promise<string> {
  // Every table that has tenants; when a key was last used is the caller's own business.
  const there = await world.db.admin(
    `select c.table_name from information_schema.columns c join pg_tables t on t.schemaname = c.table_schema and t.tablename = c.table_name
     where c.table_schema = 'ghouls' and c.column_name = 'tenant_id' order by 1`,
  );
  const texts = await Promise.all(
    there.map(async ({ table_name: table }) => {
      const rows = await world.db.admin(
        `select t::text as row from ghouls.${String(table)} t where t.tenant_id = 'acme' order by 1`,
      );
      return `${String(table)}\n${rows.map(({ row }) => String(row)).join("\n")}`;
    }),
  );
  expect(texts.length).toBeGreaterThan(15);
  return texts.join("\n\n");
}

const without = (text: string) => text.replace(/"requestId":"[^"]*"/, "");

describe.each(Object.entries(ROUTES))("%s", (route, { path, body }) => {
  test("is 404 for another tenant, as if there were no such thing, and changes nothing", async () => {
    const before = await stateOfAcme();
    const [method = ""] = route.split(" ");
    const foreign = await ask(method, path(), theirs.text, body);
    const absent = await ask(method, path().replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, NOBODYS), theirs.text, body);
    expect(foreign.status).toBe(404);
    expect(without(foreign.text)).toBe(without(absent.text));
    expect(await stateOfAcme()).toBe(before);
    // What belongs to its own tenant is there: else this would prove nothing.
    if (method === "GET") expect((await ask(method, path(), mine.text)).status).toBe(200);
  });
});

describe.each(Object.entries(FILTERS))("%s", (route, cases) => {
  test("finds nothing of another tenant by any filter, and changes nothing of it", async () => {
    const before = await stateOfAcme();
    const [method = ""] = route.split(" ");
    for (const { path, body } of cases) {
      const { status, text } = await ask(method, path(), theirs.text, body?.());
      expect(status).toBe(200);
      for (const id of Object.values(ids)) expect(text).not.toContain(id);
    }
    expect(await stateOfAcme()).toBe(before);
  });

  test("goes on behind a cursor of another tenant in its own rows alone", async () => {
    if (!route.startsWith("GET") || route === "GET /v1/pauses") return;
    const [, path = ""] = route.split(" ");
    const { body } = await ask("GET", `${path}?limit=1`, mine.text);
    const cursor = body["nextCursor"];
    if (typeof cursor !== "string") return;
    const { status, text } = await ask("GET", `${path}?cursor=${encodeURIComponent(cursor)}`, theirs.text);
    expect(status).toBe(200);
    for (const id of Object.values(ids)) expect(text).not.toContain(id);
  });
});
