import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { noFaults, type AnyService } from "@ghouls/core";
import { openDelegation } from "./delegation.ts";
import { processClock } from "./runtime.ts";

const JOB = { tenantId: "acme", runId: "r", attemptId: "a", idempotencyKey: "k" };
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
const config = { services: { signer }, egress: { origins: ["http://127.0.0.1:4801"] } };
const parts = { clock: processClock, faults: noFaults };
const environment = {
  egressFunction: undefined,
  endpoint: undefined,
  onLambda: false,
  publicUrl: "https://api.example",
  region: "us-east-1",
};

describe("questions to services leave", () => {
  it.each([
    [false, config.egress.origins],
    [true, []],
  ])(
    "from this process where no function is named for them; on Lambda (%s) without origins",
    async (onLambda, origins) => {
      const opened = openDelegation(config, { ...environment, onLambda }, parts);
      lookUp.mockClear();
      const answer = await opened.delegation.egress.ask("signer", { kind: "lookUp", job: JOB }, 5_000);
      expect(answer).toEqual({ state: "running" });
      expect(lookUp).toHaveBeenCalledWith(JOB, expect.objectContaining({ origins }));
      expect(opened.delegation).toMatchObject({ services: { signer }, publicUrl: "https://api.example" });
      opened.close();
    },
  );

  it("from the function that is named, and its connections end with the process's others", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    const server = createServer((request, response) => {
      request.resume();
      request.on("end", () => response.end('{"state":"accepted"}'));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const opened = openDelegation(config, { ...environment, endpoint, egressFunction: "egress" }, parts);
    lookUp.mockClear();
    const answer = await opened.delegation.egress.ask("signer", { kind: "lookUp", job: JOB }, 5_000);
    expect(answer).toEqual({ state: "accepted" });
    expect(lookUp).not.toHaveBeenCalled();
    opened.close();
    // It ends only when no connection is left.
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    vi.unstubAllEnvs();
  });
});
