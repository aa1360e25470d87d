import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { noFaults, type AnyService } from "@ghouls/core";
import { defineConfig } from "./config.ts";
import { openDelegation } from "./delegation.ts";
import { openRuntime, processClock } from "./runtime.ts";

const QUESTION = {
  kind: "lookUp",
  job: { tenantId: "acme", runId: "r", attemptId: "a", idempotencyKey: "k" },
} as const;
const lookUp = vi.fn<AnyService["lookUp"]>(async () => ({ state: "running" }));
const signer: AnyService = {
  adapter: "test",
  version: "1",
  identity: {},
  request: z.unknown(),
  result: z.unknown(),
  traits: { lookup: "authoritative", submit: "idempotent", cancel: "final", delaySeconds: 0 },
  times: { timeoutMs: 5_000, pollMs: null, heartbeatMs: null },
  submit: async () => ({ state: "accepted" }),
  lookUp,
  cancel: async () => ({ state: "cancelled" }),
};
const config = defineConfig({
  workflows: [],
  services: { signer },
  egress: { origins: ["http://127.0.0.1:4801"] },
});

let server: Server;
let endpoint: string;
beforeEach(async () => {
  lookUp.mockClear();
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.end('{"state":"accepted"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
});

describe("questions to services leave", () => {
  it.each([
    ["with the configuration's origins", false, config.egress.origins],
    ["on Lambda with none: its own Runtime API listens there", true, []],
  ])("from this process where no function is named for them, %s", async (_how, onLambda, origins) => {
    const { delegation, close } = openDelegation(
      config,
      { egressFunction: undefined, endpoint, onLambda, publicUrl: undefined, region: "us-east-1" },
      { clock: processClock, faults: noFaults },
    );
    expect(await delegation.egress.ask("signer", QUESTION, 5_000)).toEqual({ state: "running" });
    expect(lookUp).toHaveBeenCalledWith(QUESTION.job, expect.objectContaining({ origins }));
    close();
  });

  it("from the function that the environment names, and its connections end with the runtime", async () => {
    const runtime = await openRuntime(config, {
      variables: {
        DATABASE_URL: "postgres://nobody@127.0.0.1:1/nowhere",
        AWS_ENDPOINT_URL: endpoint,
        GHOULS_EGRESS_FUNCTION: "egress",
        GHOULS_PUBLIC_URL: "https://api.example",
      },
    });
    expect(runtime.delegation).toMatchObject({ services: { signer }, publicUrl: "https://api.example" });
    const closed = new Promise<void>((resolve) => {
      server.on("connection", (socket) => socket.on("close", () => resolve()));
    });
    const answer = await runtime.delegation.egress.ask("signer", QUESTION, 5_000);
    expect(answer).toEqual({ state: "accepted" });
    expect(lookUp).not.toHaveBeenCalled();
    await runtime.close();
    await closed;
  });

  it.each([
    ["GHOULS_EGRESS_FUNCTION", ""],
    ["GHOULS_PUBLIC_URL", "ftp://api.example"],
  ])("from nowhere where %s is no such thing", async (name, value) => {
    const variables = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/nowhere", [name]: value };
    await expect(openRuntime(config, { variables })).rejects.toMatchObject({
      code: "configuration_invalid",
      fix: expect.stringContaining(name),
    });
  });
});
