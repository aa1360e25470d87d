import type { AnyService, JobAnswer } from "@ghouls/core";
import { describe, expect, it } from "vitest";
import { jobService } from "../../../../test/support/job-service.ts";
import { StillAskingError, createDirectEgress } from "./direct-egress.ts";

const job = { tenantId: "t", runId: "r", attemptId: "a", idempotencyKey: "k" };

/** What is answered where a lookup is told to stop after 10 ms, and does this then. */
function told(then: (stopped: Promise<void>) => Promise<JobAnswer>): Promise<JobAnswer> {
  const service: AnyService = {
    ...jobService(),
    lookUp: (_job, { signal }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => {
        resolve();
      });
      return then(promise);
    },
  };
  const egress = createDirectEgress({ services: { service }, origins: [] });
  return egress.ask("service", { kind: "lookUp", job }, 10);
}

describe("a question whose time is over", () => {
  it("is answered where the adapter says for certain that nothing was sent", async () => {
    const unsent = { state: "unsent", why: "there was no connection" } as const;
    expect(await told((stopped) => stopped.then(() => unsent))).toEqual(unsent);
  });

  it.each([
    [
      "knows nothing either",
      (stopped: Promise<void>) => stopped.then(() => ({ state: "unknown", why: "?" }) as const),
    ],
    [
      "rejects",
      async (stopped: Promise<void>): Promise<JobAnswer> => {
        await stopped;
        throw new Error("socket hang up");
      },
    ],
  ])("has none where the adapter %s", async (_what, then) => {
    await expect(told(then)).rejects.toThrow("no answer within 10 ms");
  });

  it("is told to be under way still where the adapter does not stop", async () => {
    const never = Promise.withResolvers<JobAnswer>();
    await expect(told(() => never.promise)).rejects.toBeInstanceOf(StillAskingError);
  });
});
