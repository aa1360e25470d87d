import { afterEach, expect, test, vi } from "vitest";
import { createEventsHandler, createApiHandler } from "./http.ts";
import { defineConfig } from "../config.ts";

/** What a function URL invokes with. Source: AWS Lambda, "Invoking Lambda function URLs". */
const EVENT = {
  version: "2.0",
  rawPath: "/v1/runs/0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c/events",
  rawQueryString: "",
  headers: { host: "url.test", accept: "text/event-stream" },
  requestContext: { http: { method: "GET" } },
  isBase64Encoded: false,
};
const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 60_000 };
const config = defineConfig({ workflows: [] });
const overrides = {
  write: () => undefined,
  variables: { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", AWS_REGION: "us-east-1" },
};

afterEach(() => {
  vi.unstubAllGlobals();
});

test("streams where Lambda does: status and headers first, then what there is", async () => {
  const written: Buffer[] = [];
  let metadata: unknown;
  vi.stubGlobal("awslambda", {
    streamifyResponse: (handler: unknown) => handler,
    HttpResponseStream: {
      from: (stream: unknown, given: unknown) => {
        metadata = given;
        return stream;
      },
    },
  });
  const { Writable } = await import("node:stream");
  const responseStream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk);
      done();
    },
  });
  const handler = createEventsHandler(config, overrides) as unknown as (
    event: unknown,
    stream: unknown,
    context: unknown,
  ) => Promise<void>;
  await handler(EVENT, responseStream, context);
  expect(metadata).toMatchObject({
    statusCode: 401,
    headers: { "content-type": "application/problem+json" },
  });
  expect(JSON.parse(Buffer.concat(written).toString())).toMatchObject({ status: 401 });
});

test("gathers where the runtime does not stream, as the api function does", async () => {
  const gathered = createEventsHandler(config, overrides) as unknown as ReturnType<typeof createApiHandler>;
  const api = createApiHandler(config, overrides);
  for (const handler of [gathered, api])
    expect(await handler(EVENT as never, context as never)).toMatchObject({ statusCode: 401 });
});
