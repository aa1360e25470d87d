import { GhoulsError, wire } from "@ghouls/core";
import * as z from "zod";
import { beforeEach, describe, expect, it } from "vitest";
import { createHttpApp } from "./apps.ts";
import type { FetchHandler } from "./context.ts";
import { ask, Fakes, RUN_ID } from "./fakes.support.ts";

const SINGLE = JSON.stringify({ workflow: "hello", input: { name: "world" } });

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

const code = (document: wire.Problem) => document.type.replace("urn:ghouls:problem:", "");

describe("failures behind the edge", () => {
  const failing = async (thrown: unknown) => {
    fakes.admission.failure = { thrown };
    return app(ask("POST", "/v1/runs", { body: SINGLE }));
  };

  it.each([
    ["unknown_workflow", 404, null],
    ["unknown_queue", 422, null],
    ["input_invalid", 422, null],
    ["too_large", 413, null],
    ["idempotency_conflict", 409, null],
    ["hold_ended", 409, null],
    ["admission_busy", 503, "1"],
    ["ledger_unavailable", 503, "5"],
    ["outcome_unknown", 503, "1"],
    ["queue_unavailable", 503, "5"],
  ] as const)("answers %s with %d", async (name, status, retryAfter) => {
    const response = await failing(
      new GhoulsError(name, "in words", { issues: [{ path: "/input", message: "no" }] }),
    );
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after")).toBe(retryAfter);
    const document = await problem(response);
    expect(document).toMatchObject({ type: `urn:ghouls:problem:${name}`, status, requestId: "generated-1" });
    expect(document.errors).toEqual([{ path: "/input", message: "no" }]);
    const logged = {
      message: "request refused for now",
      fields: { requestId: "generated-1", name: "GhoulsError", code: name },
    };
    expect(fakes.lines).toEqual(status === 503 ? [logged] : []);
  });

  it("asks for the same key where the outcome is unknown, and leaves out what the driver said", async () => {
    const document = await problem(
      await failing(new GhoulsError("outcome_unknown", "ECONNRESET at 10.0.0.1")),
    );
    expect(document.fix).toContain("same Idempotency-Key");
    expect(JSON.stringify(document)).not.toContain("10.0.0.1");
  });

  it.each([
    ["unknown_workflow", /Check the id/],
    ["idempotency_conflict", /only where it is still wanted/],
    ["input_invalid", /`errors`/],
    ["too_large", /Send less/],
    ["too_many_signals", /Retry-After/],
  ] as const)("says what to do about %s where the refusal does not", async (name, fix) => {
    expect((await problem(await failing(new GhoulsError(name, "in words")))).fix).toMatch(fix);
    const told = await problem(await failing(new GhoulsError(name, "in words", { fix: "Do this." })));
    expect(told.fix).toBe("Do this.");
  });

  it("passes on the wait that the error names, as whole seconds", async () => {
    const response = await failing(new GhoulsError("admission_busy", "busy", { retryAfterSeconds: 2.5 }));
    expect(response.headers.get("retry-after")).toBe("3");
  });

  it.each([
    [
      "an Error",
      Object.assign(new Error("password=hunter2"), { name: "DatabaseError", detail: "hunter2" }),
      "DatabaseError",
    ],
    ["an Error with a hostile name", Object.assign(new Error("x"), { name: "hunter2\nfake line" }), "Error"],
    ["a string", "hunter2", "string"],
    ["undefined", undefined, "undefined"],
    [
      "a refusal that is the operator's business",
      new GhoulsError("schema_outdated", "hunter2", { fix: "hunter2" }),
      "GhoulsError",
    ],
  ])("answers %s with a bare 500: no text of it leaves or is logged", async (_case, thrown, name) => {
    const response = await failing(thrown);
    expect(response.status).toBe(500);
    expect(response.headers.get("x-request-id")).toBe("generated-1");
    const document = await problem(response);
    expect(code(document)).toBe("internal");
    expect(JSON.stringify([document, fakes.lines])).not.toContain("hunter2");
    expect(fakes.lines).toMatchObject([
      { message: "request failed", fields: { requestId: "generated-1", name } },
    ]);
  });
});

describe("readiness", () => {
  it.each([
    ["a failed check", () => Promise.resolve([{ name: "ledger", ok: false, detail: "schema 3, wants 4" }])],
    ["no checks", () => Promise.resolve([])],
    ["checks that throw", () => Promise.reject(new Error("postgres://user:hunter2@db"))],
  ])("is 503 with %s, and tells no driver's text", async (_case, checks) => {
    fakes.checks = checks;
    const response = await app(ask("GET", "/readyz", { token: null }));
    expect(response.status).toBe(503);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ ready: false });
    expect(text + JSON.stringify(fakes.lines)).not.toContain("hunter2");
  });
});

describe("every answer", () => {
  it.each([
    ["GET", "/v1/workflows", 200],
    ["GET", "/v1/nothing", 404],
    ["GET", "/v1/runs/%E0%A4%A", 404],
    ["DELETE", "/v1/runs", 405],
    ["GET", "/v1/runs?limit=0", 422],
  ])("of %s %s has a request id and is neither sniffed nor stored", async (method, path, status) => {
    const response = await app(ask(method, path));
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toBe("generated-1");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("repeats a sane request id and replaces one that could forge a log line", async () => {
    const idOf = async (id: string) =>
      (await app(ask("GET", "/v1/workflows", { headers: { "x-request-id": id } }))).headers.get(
        "x-request-id",
      );
    expect(await idOf("Root=1-67891233-abcdef012345678912345678")).toBe(
      "Root=1-67891233-abcdef012345678912345678",
    );
    for (const hostile of ["a b", '"}', "a".repeat(129), "é"])
      expect(await idOf(hostile)).toBe("generated-1");
  });

  it("names the methods of a path that was asked with another one", async () => {
    const response = await app(ask("DELETE", "/v1/runs"));
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST");
    expect(code(await problem(response))).toBe("method_not_allowed");
    const release = await app(ask("GET", `/v1/runs/${RUN_ID}/release`));
    expect([release.status, release.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("tells nothing of routes to a request without a token", async () => {
    for (const path of ["/v1/nothing", "/healthz/", "//healthz", "/v1/../openapi.json/"]) {
      expect((await app(ask("GET", path, { token: null }))).status).toBe(401);
    }
  });

  it("takes a token from its header alone, and lets no page of another origin read or send", async () => {
    const elsewhere = {
      cookie: "token=operator; authorization=Bearer operator",
      origin: "https://evil.example",
    };
    for (const path of ["/v1/runs", "/v1/runs?token=operator", "/v1/runs?access_token=operator"])
      expect((await app(ask("GET", path, { token: null, headers: elsewhere }))).status).toBe(401);
    const preflight = { ...elsewhere, "access-control-request-method": "POST" };
    const answers = [
      await app(ask("GET", "/v1/runs", { headers: elsewhere })),
      await app(ask("OPTIONS", "/v1/runs", { token: null, headers: preflight })),
      await app(ask("GET", "/healthz", { token: null, headers: elsewhere })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200]);
    for (const { headers } of answers) {
      const names = [...headers.keys()];
      expect(names.filter((name) => name.startsWith("access-control-") || name === "set-cookie")).toEqual([]);
    }
  });

  it("answers HEAD without a body", async () => {
    const response = await app(ask("HEAD", "/healthz", { token: null }));
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});
