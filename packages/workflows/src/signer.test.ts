import type { JobSubmission } from "ghouls";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "./release-gate/fixtures.ts";
import { REQUEST, callee, startSigning } from "./signing-service/service.support.ts";
import { signatureFault } from "./signing-service/statement.ts";
import type { Signed } from "./signing-service/statement.ts";

// The adapter and the service that it is for, which know nothing of each other but the protocol.

let url: string;
beforeEach(async () => {
  vi.resetModules();
  ({ url } = await startSigning(await temporaryFolder()));
});
afterEach(() => vi.unstubAllEnvs());

async function opened() {
  vi.stubEnv("GHOULS_SERVICE_SIGNER_URL", url);
  const { signer, signerOrigin } = await import("./signer.ts");
  return { signer, context: { signal: new AbortController().signal, origins: [signerOrigin] } };
}

function job(key: string, over: Partial<JobSubmission> = {}): JobSubmission {
  return {
    tenantId: "acme",
    runId: REQUEST.runId,
    attemptId: "attempt-1",
    idempotencyKey: key,
    requestText: JSON.stringify(REQUEST),
    callback: null,
    ...over,
  };
}

test("a job is accepted, reported to its callback, and found with a signature of what was asked for", async () => {
  const { signer, context } = await opened();
  const { url: callback, calls } = await callee();
  const submission = job("k/1", { callback: { url: callback, token: "a-long-secret" } });
  expect(await signer.submit(submission, context)).toEqual({ state: "accepted" });
  await expect.poll(() => calls.length).toBe(1);
  const found = await signer.lookUp(job("k/1"), context);
  expect(found).toEqual(calls[0]?.body);
  const result = signer.result.parse((found as { result: unknown }).result) as Signed;
  expect(signatureFault(REQUEST, result)).toBeUndefined();
  expect(await signer.submit(submission, context)).toEqual(found);
});

test("what it says of keys is what its traits promise", async () => {
  const { signer, context } = await opened();
  expect(signer.traits).toEqual({
    lookup: "authoritative",
    submit: "idempotent",
    cancel: "final",
    delaySeconds: 1,
  });
  expect(await signer.lookUp(job("never"), context)).toEqual({ state: "absent" });
  expect(await signer.cancel(job("early"), context)).toEqual({ state: "cancelled" });
  expect(await signer.submit(job("early"), context)).toEqual({ state: "cancelled" });
  const refused = await signer.submit(job("odd", { requestText: "{}" }), context);
  expect(refused).toMatchObject({ state: "failed", error: { code: "bad_request" } });
});

test("without a word on where it is, it is where the service listens by itself", async () => {
  vi.stubEnv("GHOULS_SERVICE_SIGNER_URL", "");
  const { signer, signerOrigin } = await import("./signer.ts");
  expect([signerOrigin, signer.identity]).toEqual([
    "http://127.0.0.1:4801",
    { url: "http://127.0.0.1:4801/jobs" },
  ]);
});
