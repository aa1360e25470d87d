import type { ServerResponse } from "node:http";

/** What a server answers in the tests: whole, refused, broken off. */

export type Answer = (response: ServerResponse) => void;

export const RUN_ID = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
export const AT = "2026-01-02T03:04:05.678Z";
const WORKFLOW = { name: "hello", version: 1, digest: "d1" };
export const ADMITTED = {
  runId: RUN_ID,
  created: true,
  status: "QUEUED",
  enqueueSeq: 1,
  workflow: WORKFLOW,
  queue: "runs",
  priority: 5,
  held: false,
  startsAt: null,
};

export function viewOf(status: string) {
  return {
    runId: RUN_ID,
    workflow: WORKFLOW,
    status,
    queue: "runs",
    priority: 5,
    agent: null,
    labels: {},
    idempotencyKey: null,
    requestedBy: "sam",
    enqueueSeq: 1,
    steps: 0,
    errorCode: null,
    parentRunId: null,
    redriveOf: null,
    redrivenAs: null,
    attention: null,
    quarantine: null,
    pausedAt: null,
    pauses: [],
    deadlineAt: null,
    createdAt: AT,
    startsAt: null,
    startedAt: null,
    finishedAt: null,
    input: null,
    output: null,
    error: null,
    waits: [],
    reservations: [],
    bodiesEmptiedAt: null,
    containment: [],
  };
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
export const hangUp: Answer = (response) => void response.destroy();
export const breakOff: Answer = (response) => {
  response.writeHead(202, { "content-length": "1000" });
  response.write("{", () => response.destroy());
};
export const problem = (code: string, status: number, headers: Record<string, string> = {}): Answer =>
  json(
    {
      type: `urn:ghouls:problem:${code}`,
      title: "T",
      status,
      detail: "in words",
      fix: "do this",
      requestId: "r1",
      errors: [{ path: "/a", message: "m" }],
    },
    status,
    headers,
  );
