import { wire } from "@ghouls/core";
import * as z from "zod";
import { beforeEach, describe, expect, it } from "vitest";
import { createAdmissionApp, createApiApp, createHttpApp } from "./apps.ts";
import type { FetchHandler } from "./context.ts";
import { openApiDocument } from "./document.ts";
import {
  ABSENT_ID,
  ask,
  CONSENT_ID,
  Fakes,
  ITEM_ID,
  RUN_ID,
  ATTEMPT_ID,
  CALLBACK_TOKEN,
} from "./fakes.support.ts";
import { FAULT_ID } from "./fake-integrity.support.ts";
import { PAUSE_ID } from "./fake-pauses.support.ts";

const SINGLE = JSON.stringify({ workflow: "hello", input: { name: "world" } });
const BATCH = JSON.stringify({ runs: [{ workflow: "hello", input: 1, idempotencyKey: "k1" }] });

const REASON = JSON.stringify({ reason: "the customer has called" });

const DECISION = JSON.stringify({ verdict: "grant", digest: "of the request" });
const SIGNAL = JSON.stringify({ payload: { amount: 1 } });

const FILTER = JSON.stringify({ filter: { workflow: "hello" }, reason: "not wanted" });

const WRITES = new Set([
  "/release",
  "/redrive",
  "/cancel",
  "/pause",
  "/unpause",
  `/items/${ITEM_ID}/resolution`,
]);

/** Every route that needs a token, with what it answers and who may not have it. */
const SECURED = [
  { method: "POST", path: "/v1/runs", body: SINGLE, status: 202, schema: wire.Admitted, refused: "decider" },
  {
    method: "POST",
    path: "/v1/runs/batch",
    body: BATCH,
    status: 202,
    schema: wire.BatchAdmitted,
    refused: "decider",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/release`,
    status: 200,
    schema: wire.Released,
    refused: "decider",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/redrive`,
    body: REASON,
    status: 202,
    schema: wire.Redriven,
    refused: "submitter",
  },
  {
    method: "POST",
    path: "/v1/runs/cancel",
    body: FILTER,
    status: 200,
    schema: wire.CancelledMatching,
    refused: "decider",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/cancel`,
    body: REASON,
    status: 200,
    schema: wire.Cancelled,
    refused: "decider",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/items/${ITEM_ID}/resolution`,
    body: REASON,
    status: 200,
    schema: wire.Resolved,
    refused: "submitter",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/clear`,
    body: REASON,
    status: 200,
    schema: wire.Cleared,
    refused: "submitter",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/pause`,
    body: REASON,
    status: 200,
    schema: wire.RunPaused,
    refused: "submitter",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/unpause`,
    body: REASON,
    status: 200,
    schema: wire.RunUnpaused,
    refused: "submitter",
  },
  {
    method: "POST",
    path: "/v1/pauses",
    body: JSON.stringify({ scope: "workflow", workflow: "hello", reason: "a bad release" }),
    status: 200,
    schema: wire.PauseSet,
    refused: "submitter",
  },
  {
    method: "DELETE",
    path: `/v1/pauses/${PAUSE_ID}?reason=better`,
    status: 200,
    schema: wire.PauseLifted,
    refused: "submitter",
  },
  {
    method: "POST",
    path: `/v1/integrity/${FAULT_ID}/acknowledgement`,
    body: REASON,
    status: 200,
    schema: wire.FaultAcknowledged,
    refused: "submitter",
  },
  { method: "GET", path: "/v1/integrity", status: 200, schema: wire.FaultPage, refused: "nobody" },
  { method: "GET", path: "/v1/pauses", status: 200, schema: wire.PauseList, refused: "nobody" },
  {
    method: "POST",
    path: `/v1/consents/${CONSENT_ID}/decision`,
    body: DECISION,
    status: 200,
    schema: wire.Decided,
    refused: "operator",
    as: "decider",
  },
  {
    method: "POST",
    path: `/v1/runs/${RUN_ID}/signals/paid`,
    body: SIGNAL,
    status: 200,
    schema: wire.Signalled,
    refused: "decider",
  },
  { method: "GET", path: "/v1/consents", status: 200, schema: wire.ConsentPage, refused: "nobody" },
  {
    method: "GET",
    path: `/v1/consents/${CONSENT_ID}`,
    status: 200,
    schema: wire.ConsentView,
    refused: "nobody",
  },
  { method: "GET", path: "/v1/runs", status: 200, schema: wire.RunPage, refused: "nobody" },
  { method: "GET", path: `/v1/runs/${RUN_ID}`, status: 200, schema: wire.RunView, refused: "nobody" },
  {
    method: "GET",
    path: `/v1/runs/${RUN_ID}/events?wait=0`,
    status: 200,
    schema: wire.EventPage,
    refused: "nobody",
  },
  {
    method: "GET",
    path: `/v1/runs/${RUN_ID}/timeline`,
    status: 200,
    schema: wire.Timeline,
    refused: "nobody",
  },
  {
    method: "GET",
    path: `/v1/runs/${RUN_ID}/evidence`,
    status: 200,
    schema: wire.RunEvidence,
    refused: "nobody",
  },
  { method: "GET", path: "/v1/attempts", status: 200, schema: wire.AttemptPage, refused: "nobody" },
  {
    method: "GET",
    path: `/v1/attempts/${ATTEMPT_ID}`,
    status: 200,
    schema: wire.AttemptView,
    refused: "nobody",
  },
  {
    method: "POST",
    path: `/v1/attempts/${ATTEMPT_ID}/resolution`,
    body: JSON.stringify({ outcome: "cancelled", reason: "asked by telephone" }),
    status: 200,
    schema: wire.AttemptResolved,
    refused: "submitter",
  },
  {
    method: "GET",
    path: "/v1/reconciler",
    status: 200,
    schema: wire.ReconcilerState,
    refused: "operator",
    as: "keeper",
  },
  {
    method: "POST",
    path: "/v1/reconciler/passes",
    body: JSON.stringify({ passes: ["timers"] }),
    status: 200,
    schema: wire.PassesRun,
    refused: "operator",
    as: "keeper",
  },
  { method: "GET", path: "/v1/workflows", status: 200, schema: wire.WorkflowList, refused: "nobody" },
  { method: "GET", path: "/v1/workflows/pinned", status: 200, schema: wire.PinnedList, refused: "nobody" },
  { method: "GET", path: "/v1/runs/counts", status: 200, schema: wire.RunCounts, refused: "nobody" },
  { method: "GET", path: "/v1/whoami", status: 200, schema: wire.Whoami },
] as const;

/** A path of the document as the table has it. */
function pathOf(path: string): string {
  const id = path.startsWith("/v1/consents")
    ? CONSENT_ID
    : path.startsWith("/v1/attempts")
      ? ATTEMPT_ID
      : path.startsWith("/v1/pauses")
        ? PAUSE_ID
        : path.startsWith("/v1/integrity")
          ? FAULT_ID
          : RUN_ID;
  return path.replace("{id}", id).replace("{item}", ITEM_ID).replace("{name}", "paid");
}

const PUBLIC = ["/healthz", "/readyz", "/openapi.json"];

let fakes: Fakes;
let app: FetchHandler;

beforeEach(() => {
  fakes = new Fakes();
  app = createHttpApp(fakes);
});

async function problem(response: Response): Promise<wire.Problem> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return z.strictObject(wire.Problem.shape).parse(await response.json());
}

const tokenOf = (route: object): string => ("as" in route ? String(route.as) : "operator");

const code = (document: wire.Problem) => document.type.replace("urn:ghouls:problem:", "");

describe.each(SECURED)("$method $path", (route) => {
  const request = (token: string | null) =>
    ask(route.method, route.path, { token, ...("body" in route ? { body: route.body } : {}) });

  it("answers a token of the right role in the shape of the wire", async () => {
    const response = await app(request(tokenOf(route)));
    expect(response.status).toBe(route.status);
    const body: unknown = await response.json();
    expect(route.schema.parse(body)).toEqual(body);
  });

  it.each([
    ["no token", null],
    ["an unknown token", "stranger"],
    ["the name of a prototype's member", "__proto__"],
  ])("refuses %s with 401 before it looks at the request", async (_case, token) => {
    const response = await app(request(token));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(code(await problem(response))).toBe("unauthenticated");
    expect([fakes.admission.admitted, fakes.control.acts]).toEqual([[], []]);
  });

  const refused = "refused" in route ? [route.refused] : [];

  it.each(refused)("refuses the role %s, without the permission, with 403", async (role) => {
    const response = await app(request(role));
    expect(response.status).toBe(403);
    expect(code(await problem(response))).toBe("forbidden");
    expect([fakes.admission.admitted, fakes.control.acts]).toEqual([[], []]);
  });
});

describe("the table of routes", () => {
  it("is the whole document: a route that nobody tested for its token is found here", () => {
    const documented = Object.entries(openApiDocument().paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${pathOf(path)}`),
    );
    const tested = [
      ...SECURED.map((route) => `${route.method} ${route.path.split("?")[0]}`),
      `POST /v1/attempts/${ATTEMPT_ID}/callback`,
      "GET /healthz",
      "GET /readyz",
    ];
    expect(documented.toSorted()).toEqual(tested.toSorted());
  });

  it.each(PUBLIC)("%s answers without a token", async (path) => {
    expect((await app(ask("GET", path, { token: null }))).status).toBe(200);
  });

  it("splits between the two applications without a rest", async () => {
    const admission = createAdmissionApp(fakes);
    const api = createApiApp(fakes);
    for (const route of SECURED) {
      const make = () =>
        ask(route.method, route.path, {
          token: tokenOf(route),
          ...("body" in route ? { body: route.body } : {}),
        });
      const statuses = [(await admission(make())).status, (await api(make())).status];
      expect(statuses.filter((status) => status === route.status)).toHaveLength(1);
      expect(statuses.filter((status) => status === 404 || status === 405)).toHaveLength(1);
    }
  });
});

describe("a callback", () => {
  const report = (
    token: string | null,
    path = `/v1/attempts/${ATTEMPT_ID}/callback`,
    body = '{"state":"running"}',
  ) =>
    app(
      ask("POST", path, {
        token: null,
        body,
        headers: token === null ? {} : { "ghouls-callback-token": token },
      }),
    );

  it("is taken by its own token, without a bearer token", async () => {
    const response = await report(CALLBACK_TOKEN);
    expect(response.status).toBe(200);
    expect(wire.Reported.parse(await response.json())).toEqual({
      attemptId: ATTEMPT_ID,
      status: "SUCCEEDED",
    });
    expect(fakes.attempts.reports).toEqual([{ state: "running" }]);
  });

  it.each<[string, string | null]>([
    ["none", null],
    ["an empty one", ""],
    ["a short one", "abc"],
    ["a long one", "A".repeat(10_000)],
    ["one of another alphabet", `${"A".repeat(42)}é`],
    ["two in one", `${CALLBACK_TOKEN}, ${CALLBACK_TOKEN}`],
    ["another's", "B".repeat(43)],
  ])("with %s for a token is refused with 401 before its body is looked at", async (_what, token) => {
    const response = await report(token, undefined, token?.startsWith("B") === true ? undefined : "{");
    expect(response.status).toBe(401);
    expect(code(await problem(response))).toBe("unauthenticated");
    expect(fakes.attempts.reports).toEqual([]);
  });

  it.each([
    ["no JSON", "{", 400],
    ["no report", "{}", 422],
    ["a state that is none", '{"state":"perhaps"}', 422],
    ["a failure without an error", '{"state":"failed"}', 422],
    ["a prototype", '{"state":"succeeded","result":{"__proto__":{}}}', 422],
    [
      "more than a body may have",
      JSON.stringify({ state: "succeeded", result: "x".repeat(wire.MAX_BODY_BYTES) }),
      413,
    ],
  ])("whose body is %s is refused with %#", async (_what, body, status) => {
    expect((await report(CALLBACK_TOKEN, undefined, body)).status).toBe(status);
  });

  it("opens no other path: what only looks like one asks for a bearer token", async () => {
    for (const path of [
      `/v1/attempts/${ATTEMPT_ID}/callback/x`,
      `/v1/attempts//callback`,
      "/v1/attempts/a/b/callback",
    ])
      expect((await report(CALLBACK_TOKEN, path)).status).toBe(401);
    const get = await app(ask("GET", `/v1/attempts/${ATTEMPT_ID}/callback`, { token: null }));
    expect(get.status).toBe(405);
  });
});

describe("tokens", () => {
  it.each([
    "Basic operator",
    "operator",
    "Bearer",
    "Bearer operator, Bearer operator",
    `Bearer ${"a".repeat(10_000)}`,
  ])("does not take %.60s", async (authorization) => {
    const response = await app(ask("GET", "/v1/runs", { token: null, headers: { authorization } }));
    expect(response.status).toBe(401);
  });

  it("takes the scheme in any case", async () => {
    const headers = { authorization: "bearer operator" };
    expect((await app(ask("GET", "/v1/runs", { token: null, headers }))).status).toBe(200);
  });

  it("answers 500 and not 200 when the authenticator itself fails", async () => {
    fakes.authenticate = () => Promise.reject(new Error("kms: secret"));
    const broken = createHttpApp(fakes);
    const response = await broken(ask("GET", "/v1/runs"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("kms");
  });
});

describe("tenants", () => {
  it("gives another tenant's run, an absent one and a malformed id the same 404", async () => {
    const answers = await Promise.all(
      [
        "",
        "/timeline",
        "/evidence",
        "/events",
        "/release",
        "/redrive",
        "/cancel",
        "/pause",
        "/unpause",
        `/items/${ITEM_ID}/resolution`,
      ].flatMap((suffix) =>
        [
          { id: RUN_ID, token: "foreign" },
          { id: ABSENT_ID, token: "operator" },
          { id: "not-a-run", token: "operator" },
          { id: RUN_ID.toUpperCase(), token: "operator" },
          { id: "%00", token: "operator" },
          { id: "'%20or%20true", token: "operator" },
        ].map(async ({ id, token }) => {
          const response = await app(
            WRITES.has(suffix)
              ? ask("POST", `/v1/runs/${id}${suffix}`, {
                  token,
                  ...(suffix === "/release" ? {} : { body: REASON }),
                })
              : ask("GET", `/v1/runs/${id}${suffix}`, { token }),
          );
          expect(response.status).toBe(404);
          return JSON.stringify(await problem(response));
        }),
      ),
    );
    // One wording for runs, and one for their items.
    expect(new Set(answers.slice(0, -6)).size).toBe(1);
    expect(new Set(answers.slice(-6)).size).toBe(1);
  });

  it("takes the tenant from the principal, whatever the request says", async () => {
    await app(ask("GET", "/v1/runs", { token: "foreign", headers: { "x-tenant-id": "t1" } }));
    expect(fakes.reads.lists.map((list) => list.tenantId)).toEqual(["t2"]);
    const body = JSON.stringify({ workflow: "hello", tenantId: "t1" });
    expect((await app(ask("POST", "/v1/runs", { token: "foreign", body }))).status).toBe(422);
  });
});

describe("an act with a reason", () => {
  it.each(["cancel", "pause", "unpause", `items/${ITEM_ID}/resolution`])(
    "%s keeps who said it and why, and refuses one without a reason",
    async (path) => {
      expect((await app(ask("POST", `/v1/runs/${RUN_ID}/${path}`, { body: REASON }))).status).toBe(200);
      expect(fakes.control.acts).toMatchObject([{ subject: "olga", reason: "the customer has called" }]);
      for (const body of [
        "{}",
        '{"reason":""}',
        '{"reason":"  "}',
        '{"reason":1}',
        '{"reason":"x","tenantId":"t1"}',
      ]) {
        expect((await app(ask("POST", `/v1/runs/${RUN_ID}/${path}`, { body }))).status).toBe(422);
      }
      expect(fakes.control.acts).toHaveLength(1);
    },
  );

  it("of an item that is not there is the same 404", async () => {
    const response = await app(ask("POST", `/v1/runs/${RUN_ID}/items/worker-9/resolution`, { body: REASON }));
    expect(code(await problem(response))).toBe("not_found");
  });
});

it("lists faults of the caller's own, those that are open alone where it says so, and takes no other filter", async () => {
  const app = createApiApp(fakes);
  expect((await app(ask("GET", "/v1/integrity?open=true&limit=3&cursor=c1"))).status).toBe(200);
  expect((await app(ask("GET", "/v1/integrity"))).status).toBe(200);
  for (const wrong of ["open=false", "limit=0", "tenant=t2"])
    expect((await app(ask("GET", `/v1/integrity?${wrong}`))).status).toBe(422);
  expect(fakes.integrity.asked).toEqual([
    { tenantId: "t1", openOnly: true, limit: 3, cursor: "c1" },
    { tenantId: "t1", openOnly: false, limit: 50 },
  ]);
});

describe("a pause", () => {
  it("names what it holds, and nothing beside that", async () => {
    const set = (body: object) => app(ask("POST", "/v1/pauses", { body: JSON.stringify(body) }));
    for (const scope of ["all", "tenant"])
      expect((await set({ scope, reason: " a leak " })).status).toBe(200);
    expect(fakes.pauses.acts).toEqual([
      { subject: "olga", act: { scope: "all", reason: "a leak" } },
      { subject: "olga", act: { scope: "tenant", reason: "a leak" } },
    ]);
    for (const body of [
      {},
      { scope: "all" },
      { scope: "all", reason: "  " },
      { scope: "run", reason: "x" },
      { scope: "workflow", reason: "x" },
      { scope: "workflow", workflow: "../x", reason: "x" },
      { scope: "all", workflow: "hello", reason: "x" },
      { scope: "tenant", tenantId: "t2", reason: "x" },
    ])
      expect((await set(body)).status, JSON.stringify(body)).toBe(422);
    expect(fakes.pauses.acts).toHaveLength(2);
  });

  it("is lifted with a reason, and is another tenant's to nobody", async () => {
    const lift = (query: string, token = "operator", id: string = PAUSE_ID) =>
      app(ask("DELETE", `/v1/pauses/${id}${query}`, { token }));
    for (const query of ["", "?reason=", "?reason=%20", "?reason=x&tenant=t1"])
      expect((await lift(query)).status, query).toBe(422);
    const answers = [await lift("?reason=x", "foreign"), await lift("?reason=x", "operator", "none")];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(fakes.pauses.acts).toEqual([]);
    expect((await lift("?reason=all%20is%20well")).status).toBe(200);
    expect(fakes.pauses.acts).toEqual([{ subject: "olga", act: "all is well" }]);
  });
});

describe("list filters", () => {
  const listed = async (query: string) => {
    const response = await app(ask("GET", `/v1/runs${query}`));
    return response.status === 200 ? fakes.reads.lists.at(-1) : problem(response);
  };

  it("takes statuses repeated and with commas, and pages of 50 by default", async () => {
    expect(await listed("")).toEqual({ tenantId: "t1", filter: {}, page: { limit: 50 } });
    expect(
      await listed("?status=DONE&status=FAILED,QUEUED&workflow=hello&attention=true&limit=200&cursor=abc"),
    ).toEqual({
      tenantId: "t1",
      filter: { status: ["DONE", "FAILED", "QUEUED"], workflow: "hello", attention: true },
      page: { limit: 200, cursor: "abc" },
    });
    expect(await listed("?status=DONE")).toMatchObject({ filter: { status: ["DONE"] } });
    const when = "2026-01-02T03:04:05.678Z";
    expect(
      await listed(
        `?label=team:payments&label=customer/id:a:b&parentRunId=${RUN_ID}&admittedAfter=${when}&admittedBefore=${when}`,
      ),
    ).toMatchObject({
      filter: {
        labels: { team: "payments", "customer/id": "a:b" },
        parentRunId: RUN_ID,
        after: new Date(when),
        before: new Date(when),
      },
    });
  });

  it.each([
    ["?attention=false", "/query/attention"],
    ["?label=team", "/query/label/0"],
    ["?label=Team:x", "/query/label/0"],
    ["?label=:x", "/query/label/0"],
    ["?label=team:a%00b", "/query/label/0"],
    [`?label=${Array.from({ length: 17 }, (_, at) => `k${at}:v`).join("&label=")}`, "/query/label"],
    ["?parentRunId=x", "/query/parentRunId"],
    ["?admittedAfter=yesterday", "/query/admittedAfter"],
    ["?workflow=a%00b", "/query/workflow"],
    ["?limit=0", "/query/limit"],
    ["?limit=201", "/query/limit"],
    ["?limit=1e2", "/query/limit"],
    ["?limit=1&limit=2", "/query/limit"],
    ["?status=done", "/query/status/0"],
    ["?status=", "/query/status/0"],
    ["?attention=yes", "/query/attention"],
    ["?cursor=", "/query/cursor"],
    ["?worklfow=hello", "/query/worklfow"],
    ["?__proto__=1", "/query/__proto__"],
  ])("refuses %s: a filter that is not understood must not widen the list", async (query, path) => {
    expect(await listed(query)).toMatchObject({ status: 422, errors: [{ path }] });
    expect(fakes.reads.lists).toEqual([]);
  });
});
