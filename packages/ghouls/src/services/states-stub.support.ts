import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, vi } from "vitest";
import type { JobSubmission } from "@ghouls/core";

export const MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:dig";
export const KEY = "ghouls-6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1";
export const EXECUTION = `arn:aws:states:eu-west-1:123456789012:execution:dig:${KEY}`;
export const TOKEN = "tok_0123456789abcdef";
export const JOB: JobSubmission = {
  tenantId: "acme",
  runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  attemptId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
  idempotencyKey: KEY,
  requestText: '{"depth":2.0}',
  callback: { url: "https://ghouls.example/v1/attempts/1/callback", token: TOKEN },
};

export type Answer = (response: ServerResponse) => void;
interface Asked {
  readonly action: string;
  readonly body: Record<string, unknown>;
}
export const says =
  (body: object): Answer =>
  (response) =>
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(body));
export const refuses =
  (code: string, status = 400, message = "no"): Answer =>
  (response) =>
    response
      .writeHead(status, { "content-type": "application/x-amz-json-1.0" })
      .end(JSON.stringify({ __type: `com.amazonaws.states#${code}`, message }));
export const breaks: Answer = (response) => response.destroy();
const isThere = says({ stateMachineArn: MACHINE, type: "STANDARD", status: "ACTIVE", creationDate: 1 });
const started = says({ executionArn: EXECUTION, startDate: 1 });
export const stands = (status: string, more: object = {}) =>
  says({
    executionArn: EXECUTION,
    stateMachineArn: MACHINE,
    startDate: 1,
    status,
    input: JOB.requestText,
    ...more,
  });

/** Step Functions as it is scripted, at the address that its client finds in the environment. */
export interface StatesStub {
  readonly asked: readonly Asked[];
  /** By action; the last answer of an action is that of all further questions, and none is a broken connection. */
  answers: Record<string, Answer[]>;
  readonly actions: () => string[];
  readonly starts: () => readonly Asked[];
}

/** Its machine is there, and starts what it is asked to, until a test says more. */
export function statesStub(): StatesStub {
  let server: Server;
  let endpoint: string;
  const asked: Asked[] = [];
  const stub: StatesStub = {
    asked,
    answers: {},
    actions: () => asked.map(({ action }) => action),
    starts: () => asked.filter(({ action }) => action === "StartExecution"),
  };
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const action = String(request.headers["x-amz-target"]).replace("AWSStepFunctions.", "");
        asked.push({ action, body: JSON.parse(Buffer.concat(chunks).toString()) as Asked["body"] });
        const queue = stub.answers[action] ?? [];
        const answer = queue.length > 1 ? queue.shift() : queue[0];
        (answer ?? breaks)(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked.length = 0;
    stub.answers = { DescribeStateMachine: [isThere], StartExecution: [started] };
    vi.stubEnv("AWS_ENDPOINT_URL_SFN", endpoint);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    return () => vi.unstubAllEnvs();
  });
  return stub;
}
