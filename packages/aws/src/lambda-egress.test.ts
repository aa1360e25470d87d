import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FaultInjector, JobQuestion } from "@ghouls/core";
import { openLambdaEgress, type LambdaEgress } from "./lambda-egress.ts";

const ARN = "arn:aws:lambda:us-east-1:000000000000:function:egress";
const QUESTION: JobQuestion = {
  kind: "submit",
  job: {
    tenantId: "acme",
    runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
    attemptId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
    idempotencyKey: "k",
    requestText: '{"price":"10 €"}',
    callback: null,
  },
};
const NOW = 1_800_000_000_000;

let server: Server;
let endpoint: string;
let asked: { path: string; headers: IncomingHttpHeaders; body: unknown }[];
let answer: (response: ServerResponse) => void;
const opened: LambdaEgress[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      asked.push({ path: decodeURIComponent(request.url ?? ""), headers: request.headers, body });
      answer(response);
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
  asked = [];
});
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

function open(faults: FaultInjector = () => undefined, at = endpoint): LambdaEgress {
  const egress = openLambdaEgress({
    region: "us-east-1",
    endpoint: at,
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    function: ARN,
    clock: { monotonicMs: () => 0, wallMs: () => NOW },
    faults,
  });
  opened.push(egress);
  return egress;
}

const says =
  (text: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(text);
  };

describe("a question through the egress function", () => {
  it("is one invocation, which is waited for, and says until when it may be put", async () => {
    answer = says('{"state":"succeeded","result":{"signature":"é"}}');
    expect(await open().ask("signer", QUESTION, 5_000)).toEqual({
      state: "succeeded",
      result: { signature: "é" },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      path: `/2015-03-31/functions/${ARN}/invocations`,
      headers: { "x-amz-invocation-type": "RequestResponse" },
      body: { service: "signer", question: QUESTION, timeoutMs: 5_000, untilMs: NOW + 5_000 },
    });
  });

  it("that is answered with something else is unknown", async () => {
    answer = says('{"state":"perhaps"}');
    expect(await open().ask("signer", QUESTION, 5_000)).toMatchObject({ state: "unknown" });
  });

  it("passes a fault point before it is sent, and one after it was answered", async () => {
    answer = says('{"state":"accepted"}');
    const passed: string[] = [];
    const egress = open((point, detail) => void passed.push(`${point} ${detail} ${asked.length}`));
    await egress.ask("signer", QUESTION, 5_000);
    expect(passed).toEqual(["egress.before-ask signer 0", "egress.after-ask signer 1"]);
  });
});

describe("nobody knows what came of a question, which is sent no second time,", () => {
  it.each([
    [
      "that the function failed at",
      '{"errorType":"GhoulsError","errorMessage":"token"}',
      "failed: GhoulsError",
    ],
    ["that the function died of", "", "failed: it did not say why"],
    ["whose failure has no type", '{"errorType":7}', "failed: it did not say why"],
  ])("%s; the function's words are for its own log", async (_what, text, words) => {
    answer = says(text, { "x-amz-function-error": "Unhandled" });
    const refused = await open().ask("signer", QUESTION, 5_000).catch(String);
    expect(refused).toContain(words);
    expect(refused).not.toContain("token");
    expect(asked).toHaveLength(1);
  });

  it("that is answered with what is no JSON", async () => {
    answer = says("<html>");
    await expect(open().ask("signer", QUESTION, 5_000)).rejects.toThrow("no JSON");
    expect(asked).toHaveLength(1);
  });

  it.each([429, 500, 503])("that Lambda answers with %s", async (status) => {
    answer = (response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end("{}");
    };
    await expect(open().ask("signer", QUESTION, 5_000)).rejects.toThrow();
    expect(asked).toHaveLength(1);
  });

  it("whose connection breaks", async () => {
    answer = (response) => void response.destroy();
    await expect(open().ask("signer", QUESTION, 5_000)).rejects.toThrow();
    expect(asked).toHaveLength(1);
  });

  it.each([
    ["is not answered", () => undefined],
    ["is answered by half", (response: ServerResponse) => void response.writeHead(200).write('{"state"')],
  ])("that %s: its time ends, and a little more", async (_what, half) => {
    answer = half;
    const began = performance.now();
    await expect(open().ask("signer", QUESTION, 100)).rejects.toThrow();
    expect(performance.now() - began).toBeGreaterThan(3_000);
    expect(asked).toHaveLength(1);
  });

  it("of an egress that was closed, and the next one is asked over a connection of its own", async () => {
    const held = Promise.withResolvers<void>();
    answer = () => held.resolve();
    const egress = open();
    const lost = egress.ask("signer", QUESTION, 5_000);
    await held.promise;
    egress.close();
    await expect(lost).rejects.toThrow();
    answer = says('{"state":"running"}');
    expect(await egress.ask("signer", QUESTION, 5_000)).toEqual({ state: "running" });
  });
});

it("closing what was never asked does nothing", () => {
  expect(() => open().close()).not.toThrow();
});
