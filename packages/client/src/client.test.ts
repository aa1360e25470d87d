import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { wire } from "@ghouls/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ADMITTED,
  AT,
  breakOff,
  hangUp,
  json,
  problem,
  RUN_ID,
  viewOf,
  type Answer,
} from "./answers.support.ts";
import { createClient } from "./client.ts";
import { ProblemError, UnreachableError } from "./errors.ts";
import { pause, type ClientOptions } from "./transport.ts";

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
let server: Server;
let seen: Seen[];
let answers: Answer[];
let waits: number[];

/** The last answer is given to every further request. */
beforeEach(async () => {
  seen = [];
  answers = [];
  waits = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      answer?.(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function clientOf(options: Partial<ClientOptions> = {}) {
  const { port } = server.address() as AddressInfo;
  const sleep = (ms: number, signal?: AbortSignal) => {
    waits.push(ms);
    return pause(0, signal);
  };
  return createClient({ baseUrl: `http://127.0.0.1:${port}/`, token: "secret", sleep, ...options });
}

describe("submit", () => {
  it("repeats a request whose answer was lost under the same key, so that no second run is made", async () => {
    answers = [
      hangUp,
      breakOff,
      problem("outcome_unknown", 503, { "retry-after": "2" }),
      json(ADMITTED, 202),
    ];
    expect(await clientOf().submit({ workflow: "hello", input: { a: 1 } })).toEqual(ADMITTED);
    expect(seen).toHaveLength(4);
    expect(new Set(seen.map((request) => request.headers["idempotency-key"])).size).toBe(1);
    expect(seen[0]?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(seen.map((request) => request.body))).toEqual(
      new Set(['{"workflow":"hello","input":{"a":1}}']),
    );
    expect(waits).toEqual([200, 400, 2_000]);
  });

  it("keeps the caller's key and sends the token", async () => {
    answers = [json(ADMITTED, 202)];
    await clientOf().submit({ workflow: "hello" }, { idempotencyKey: "order-1" });
    expect(seen[0]).toMatchObject({
      method: "POST",
      url: "/v1/runs",
      headers: { "idempotency-key": "order-1", authorization: "Bearer secret" },
    });
  });

  it("gives up after the tries it has, and says that the outcome is open", async () => {
    answers = [hangUp];
    const error = await clientOf({ tries: 3 })
      .submit({ workflow: "hello" })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnreachableError);
    expect((error as UnreachableError).fix).toContain("same key");
    expect(seen).toHaveLength(3);
  });

  it("does not repeat what will not pass: 409 is told at once with the fields of the problem", async () => {
    answers = [problem("idempotency_conflict", 409)];
    const error = await clientOf()
      .submit({ workflow: "hello" })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      status: 409,
      code: "idempotency_conflict",
      title: "T",
      message: "in words",
      detail: "in words",
      fix: "do this",
      requestId: "r1",
      errors: [{ path: "/a", message: "m" }],
    });
    expect(seen).toHaveLength(1);
  });

  it("does not sit out a Retry-After that is longer than half a minute", async () => {
    answers = [problem("ledger_unavailable", 503, { "retry-after": "3600" })];
    await expect(clientOf().submit({ workflow: "hello" })).rejects.toMatchObject({
      status: 503,
      retryAfterSeconds: 3_600,
    });
    expect(waits).toEqual([]);
  });

  it("gives every member of a batch a key and repeats the batch with the same ones", async () => {
    answers = [hangUp, json({ runs: [] }, 202)];
    await clientOf().submitBatch({ runs: [{ workflow: "a" }, { workflow: "b", idempotencyKey: "mine" }] });
    expect(seen[1]?.body).toBe(seen[0]?.body);
    const { runs } = JSON.parse(seen[0]?.body ?? "") as wire.BatchRequest;
    expect(runs).toMatchObject([
      { idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      { idempotencyKey: "mine" },
    ]);
  });
});

describe("answers that are not ours", () => {
  it.each([
    ["a page of a gateway", (response: ServerResponse) => void response.writeHead(400).end("<html>"), 400],
    ["JSON that is no problem", json({ message: "no" }, 403), 403],
    ["a success of another shape", json({ runId: 7 }, 202), 202],
    ["a success that is no JSON", (response: ServerResponse) => void response.writeHead(200).end("ok"), 200],
  ])("are an error with their status: %s", async (_case, answer, status) => {
    answers = [answer];
    await expect(clientOf().submit({ workflow: "hello" })).rejects.toMatchObject({
      name: "ProblemError",
      code: "unexpected_answer",
      status,
    });
  });

  it("are not followed elsewhere with the token", async () => {
    answers = [(response) => void response.writeHead(307, { location: "/v1/elsewhere" }).end()];
    await expect(clientOf({ tries: 1 }).listWorkflows()).rejects.toBeInstanceOf(UnreachableError);
    expect(seen.map((request) => request.url)).toEqual(["/v1/workflows"]);
  });
});

describe("pauses", () => {
  it("send a reason, and take what the API answers", async () => {
    const client = clientOf();
    const held = { scope: "run", pauseId: null, by: "olga", reason: "a leak", at: AT } as const;
    const paused = { runId: RUN_ID, paused: true, status: "QUEUED", pauses: [held] };
    const unpaused = { runId: RUN_ID, unpaused: true, status: "QUEUED", pauses: [] };
    const pause = {
      pauseId: "p1",
      scope: "tenant",
      tenantId: "t1",
      workflow: null,
      by: "olga",
      reason: "a leak",
      at: AT,
    } as const;
    answers = [json(paused)];
    expect(await client.pause(RUN_ID, "a leak")).toEqual(paused);
    answers = [json(unpaused)];
    expect(await client.unpause(RUN_ID, "mended")).toEqual(unpaused);
    answers = [json({ created: true, pause })];
    expect(await client.setPause({ scope: "tenant", reason: "a leak" })).toEqual({ created: true, pause });
    answers = [json({ lifted: true, pause })];
    expect(await client.liftPause("../p1", "a & b")).toEqual({ lifted: true, pause });
    answers = [json({ pauses: [pause] })];
    expect(await client.listPauses()).toEqual({ pauses: [pause] });
    expect(seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      ["POST", `/v1/runs/${RUN_ID}/pause`, '{"reason":"a leak"}'],
      ["POST", `/v1/runs/${RUN_ID}/unpause`, '{"reason":"mended"}'],
      ["POST", "/v1/pauses", '{"scope":"tenant","reason":"a leak"}'],
      ["DELETE", "/v1/pauses/..%2Fp1?reason=a+%26+b", ""],
      ["GET", "/v1/pauses", ""],
    ]);
  });
});

describe("faults", () => {
  it("are listed with the filters that the API takes, and acknowledged with a reason", async () => {
    const client = clientOf();
    const fault = {
      faultId: "f1",
      check: "c",
      tenantId: null,
      runId: null,
      subject: "s",
      detail: "d",
      open: true,
      foundAt: AT,
      foundBy: "doctor",
      seenAt: AT,
      goneAt: null,
      quarantine: null,
      acknowledged: null,
    } as const;
    answers = [json({ faults: [fault], nextCursor: null })];
    expect(await client.listFaults()).toEqual({ faults: [fault], nextCursor: null });
    await client.listFaults({ open: true, limit: 3, cursor: "a+b" });
    await client.listFaults({ open: false });
    answers = [json({ acknowledged: true, fault })];
    expect(await client.acknowledgeFault("../f1", "known")).toEqual({ acknowledged: true, fault });
    expect(seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      ["GET", "/v1/integrity", ""],
      ["GET", "/v1/integrity?limit=3&cursor=a%2Bb&open=true", ""],
      ["GET", "/v1/integrity", ""],
      ["POST", "/v1/integrity/..%2Ff1/acknowledgement", '{"reason":"known"}'],
    ]);
  });
});

describe("reads", () => {
  it("send filters as the API takes them, and ids that cannot leave their place in the path", async () => {
    const client = clientOf();
    answers = [json({ runs: [], nextCursor: null })];
    await client.listRuns();
    await client.listRuns({
      status: ["DONE", "FAILED"],
      workflow: "a&b",
      attention: true,
      limit: 5,
      cursor: "c=",
    });
    answers = [json({ runId: RUN_ID, terminal: null, rejected: [], copies: [], nextCursor: null })];
    await client.getEvidence("a/b", { limit: 2, cursor: "c=" });
    answers = [json(viewOf("DONE"))];
    await client.getRun("../workflows?x");
    answers = [json({ runId: RUN_ID, enqueueSeq: 1, released: true })];
    await client.release(RUN_ID);
    expect(seen.map((request) => `${request.method} ${request.url}`)).toEqual([
      "GET /v1/runs",
      "GET /v1/runs?status=DONE&status=FAILED&workflow=a%26b&attention=true&limit=5&cursor=c%3D",
      "GET /v1/runs/a%2Fb/evidence?limit=2&cursor=c%3D",
      "GET /v1/runs/..%2Fworkflows%3Fx",
      `POST /v1/runs/${RUN_ID}/release`,
    ]);
  });

  it("give up a server that never answers, after the timeout", async () => {
    answers = [() => undefined];
    await expect(clientOf({ tries: 1, timeoutMs: 30 }).getRun(RUN_ID)).rejects.toBeInstanceOf(
      UnreachableError,
    );
  });

  it("end with the caller's reason when its signal fires, before or while waiting for the answer", async () => {
    const controller = new AbortController();
    answers = [() => controller.abort(new Error("enough"))];
    await expect(clientOf().getRun(RUN_ID, { signal: controller.signal })).rejects.toThrow("enough");
    await expect(clientOf().getRun(RUN_ID, { signal: controller.signal })).rejects.toThrow("enough");
    expect(seen).toHaveLength(1);
  });
});

describe("redrive and the cancel by filter", () => {
  it("send what they are asked for", async () => {
    const { held: _, startsAt: _at, ...admitted } = ADMITTED;
    const made = { ...admitted, redriveOf: RUN_ID, kept: 1, from: null };
    const page = { dryRun: true, cancelled: 0, ending: 0, ended: 0, runs: [], nextCursor: null };
    answers = [json(made, 202), json(page)];
    const request = { filter: { workflow: "hello" }, reason: "x", dryRun: true };
    expect(await clientOf().redrive(RUN_ID, "mended")).toEqual(made);
    expect(await clientOf().cancelMatching(request)).toEqual(page);
    expect(seen.map(({ method, url, body }) => [`${method} ${url}`, JSON.parse(body)])).toEqual([
      [`POST /v1/runs/${RUN_ID}/redrive`, { reason: "mended" }],
      ["POST /v1/runs/cancel", request],
    ]);
  });
});

describe("waitForRun", () => {
  it("reads until the run has ended and keeps the pace it was told", async () => {
    answers = [json(viewOf("QUEUED")), json(viewOf("RUNNING")), json(viewOf("FAILED"))];
    expect(await clientOf().waitForRun(RUN_ID, { pollMs: 70 })).toMatchObject({ status: "FAILED" });
    expect(waits).toEqual([70, 70]);
  });

  it("stops between two reads when its signal fires", async () => {
    const controller = new AbortController();
    answers = [json(viewOf("RUNNING"))];
    const sleep = (ms: number, signal?: AbortSignal) => {
      queueMicrotask(() => controller.abort(new Error("enough")));
      return pause(ms, signal);
    };
    await expect(
      clientOf({ sleep }).waitForRun(RUN_ID, { pollMs: 60_000, signal: controller.signal }),
    ).rejects.toThrow("enough");
    await expect(pause(60_000, controller.signal)).rejects.toThrow("enough");
  });
});

describe("delegated jobs", () => {
  const ID = "7f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f2";
  const listed = {
    attemptId: ID,
    runId: RUN_ID,
    workflow: "release-gate",
    name: "sign",
    status: "UNCERTAIN",
    service: "signer",
    executor: { adapter: "http", version: "1", digest: "d" },
    digest: "d",
    idempotencyKey: "ghouls-1",
    submissions: 1,
    uncertain: "503",
    trouble: null,
    cancelling: null,
    contradiction: null,
    createdAt: AT,
    acknowledgedAt: null,
    heartbeatAt: null,
    deadlineAt: null,
    nextLookAt: AT,
    closedAt: null,
    closedBy: null,
  };

  it("are listed, read and settled", async () => {
    const [page, view] = [
      { attempts: [listed], nextCursor: null },
      { ...listed, request: {}, result: null, error: null },
    ];
    const settled = { attemptId: ID, runId: RUN_ID, status: "FAILED", resumed: true };
    answers = [json(page), json(view), json(settled)];
    const client = clientOf();
    expect(await client.listAttempts({ status: "UNCERTAIN", runId: RUN_ID })).toEqual(page);
    expect(await client.getAttempt(ID)).toEqual(view);
    expect(await client.resolveAttempt(ID, { outcome: "failed", reason: "asked" })).toEqual(settled);
    expect(seen.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
      `GET /v1/attempts?status=UNCERTAIN&runId=${RUN_ID} `,
      `GET /v1/attempts/${ID} `,
      `POST /v1/attempts/${ID}/resolution {"outcome":"failed","reason":"asked"}`,
    ]);
  });
});
