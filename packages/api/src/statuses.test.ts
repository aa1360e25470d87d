import { GhoulsError, wire, type ErrorCode } from "@ghouls/core";
import { describe, expect, it } from "vitest";
import { createHttpApp } from "./apps.ts";
import { openApiDocument } from "./document.ts";
import { FAULT_ID } from "./fake-integrity.support.ts";
import { PAUSE_ID } from "./fake-pauses.support.ts";
import { ask, ATTEMPT_ID, CALLBACK_TOKEN, CONSENT_ID, Fakes, RUN_ID } from "./fakes.support.ts";

/** Every status that the document names is brought about, route by route: a case that is missing, or is answered otherwise, fails. */

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly statuses: readonly number[];
  readonly takesBody: boolean;
  readonly schemaOf: (status: number) => { readonly $ref?: string } | undefined;
}

const operations = Object.entries(openApiDocument().paths ?? {}).flatMap(([path, item]) =>
  Object.entries(
    item as Record<
      string,
      {
        responses: Record<string, { content?: Record<string, { schema?: { $ref?: string } }> }>;
        requestBody?: unknown;
      }
    >,
  ).map(([method, { responses, requestBody }]): Operation => ({
    method: method.toUpperCase(),
    path,
    statuses: Object.keys(responses).map(Number),
    takesBody: requestBody !== undefined,
    schemaOf: (status) => responses[status]?.content?.["application/problem+json"]?.schema,
  })),
);

/** A code that the service behind any route may throw, for each status that comes from there. */
const CODES: Partial<Record<number, ErrorCode>> = {
  404: "not_found",
  409: "idempotency_conflict",
  413: "too_large",
  422: "invalid_request",
  429: "too_many_signals",
  503: "ledger_unavailable",
};

const SERVICES = [
  "admission",
  "control",
  "pauses",
  "reconciler",
  "integrity",
  "consents",
  "signals",
  "attempts",
  "reads",
  "events",
];

/** Fakes whose every service throws this. */
function throwing(error: Error): Fakes {
  const service = new Proxy({}, { get: () => () => Promise.reject(error) });
  return new Proxy(new Fakes(), {
    get: (fakes, name, receiver) => {
      if (name === "workflows")
        return () => {
          throw error;
        };
      if (name === "authenticate" && error.message === "authenticate") return () => Promise.reject(error);
      return SERVICES.includes(String(name)) ? service : (Reflect.get(fakes, name, receiver) as unknown);
    },
  });
}

const ID_OF: readonly (readonly [RegExp, string])[] = [
  [/^\/v1\/consents/, CONSENT_ID],
  [/^\/v1\/attempts/, ATTEMPT_ID],
  [/^\/v1\/pauses/, PAUSE_ID],
  [/^\/v1\/integrity/, FAULT_ID],
];

function pathOf({ method, path }: Operation): string {
  const id = ID_OF.find(([prefix]) => prefix.test(path))?.[1] ?? RUN_ID;
  const filled = path.replace("{id}", id).replace("{item}", "worker-1").replace("{name}", "paid");
  if (method === "DELETE") return `${filled}?reason=by%20a%20test`;
  return path.endsWith("/events") ? `${filled}?wait=0` : filled;
}

function bodyOf(path: string): unknown {
  if (path.endsWith("/batch")) return { runs: [{ workflow: "hello" }] };
  if (path.endsWith("/runs")) return { workflow: "hello" };
  if (path === "/v1/runs/cancel") return { filter: { workflow: "hello" }, reason: "by a test" };
  if (path.endsWith("/passes")) return { passes: ["timers"] };
  if (path.endsWith("/pauses")) return { scope: "tenant", reason: "by a test" };
  if (path.endsWith("/callback")) return { state: "running" };
  if (path.startsWith("/v1/attempts")) return { outcome: "cancelled", reason: "by a test" };
  if (path.endsWith("/decision")) return { verdict: "grant", digest: "0123abcd" };
  return path.endsWith("/signals/{name}") ? {} : { reason: "by a test" };
}

const callback = (path: string) =>
  path.endsWith("/callback") ? { [wire.CALLBACK_TOKEN_HEADER]: CALLBACK_TOKEN } : {};

/** A request that is as it should be but for what is said. */
function request(
  operation: Operation,
  {
    token = tokenFor(operation.path),
    body = operation.takesBody ? JSON.stringify(bodyOf(operation.path)) : undefined,
    headers = {},
    query = "",
  }: { token?: string | null; body?: string; headers?: Record<string, string>; query?: string } = {},
): Request {
  return ask(operation.method, `${pathOf(operation)}${query}`, {
    token,
    ...(body === undefined ? {} : { body }),
    headers: { ...callback(operation.path), ...headers },
  });
}

function tokenFor(path: string): string | null {
  if (path.startsWith("/v1/reconciler")) return "keeper";
  if (path.endsWith("/decision")) return "decider";
  return path.startsWith("/v1") && !path.endsWith("/callback") ? "operator" : null;
}

/** Whoever lacks the permission of a route. */
const lacking = (path: string) => (path.startsWith("/v1/reconciler") ? "operator" : "nobody");

/** An answer with this status, brought about as the document says that it comes. */
function provoke(operation: Operation, status: number): Promise<Response> {
  const app = createHttpApp(new Fakes());
  switch (status) {
    case 400:
      return app(request(operation, { body: "{" }));
    case 401:
      return operation.path.endsWith("/callback")
        ? app(request(operation, { headers: { [wire.CALLBACK_TOKEN_HEADER]: "" } }))
        : app(request(operation, { token: null }));
    case 403:
      return app(request(operation, { token: lacking(operation.path) }));
    case 415:
      return app(request(operation, { headers: { "content-type": "text/plain" } }));
    case 500:
      return createHttpApp(throwing(new Error("defect")))(request(operation));
    default: {
      const code = CODES[status];
      if (code === undefined) throw new Error(`no case for ${status}`);
      return createHttpApp(throwing(new GhoulsError(code, "by a test", { fix: "Nothing." })))(
        request(operation),
      );
    }
  }
}

/** Nothing stands behind them that could throw; a readiness that does is not ready. */
const NOTHING_FAILS = ["/healthz", "/readyz", "/v1/whoami"];

describe.each(operations)("$method $path", (operation) => {
  const succeeding = operation.statuses.filter((status) => status < 300);
  const failing = operation.statuses.filter(
    (status) =>
      operation.schemaOf(status) !== undefined && !(status === 500 && NOTHING_FAILS.includes(operation.path)),
  );

  it("answers what is right with a status of the document", async () => {
    const response = await createHttpApp(new Fakes())(request(operation));
    expect(succeeding).toContain(response.status);
  });

  it.each(failing)("answers %d as the document says, with what to do", async (status) => {
    const response = await provoke(operation, status);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(operation.schemaOf(status)?.$ref).toBe("#/components/schemas/Problem");
    const problem = wire.Problem.parse(await response.json());
    expect(problem).toMatchObject({
      status,
      type: expect.stringMatching(/^urn:ghouls:problem:[a-z_]+$/) as string,
    });
    if (status === 503 || status === 429) expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  });

  it("names every status that its guards answer", () => {
    const guarded = tokenFor(operation.path) !== null;
    const permitted = operation.path === "/v1/whoami" ? [] : [403];
    const bodied = operation.takesBody ? [400, 413, 415, 422] : [];
    expect(operation.statuses).toEqual(
      expect.arrayContaining([...(guarded ? [401, ...permitted] : []), ...bodied, 500]),
    );
  });
});
