import type { wire } from "@ghouls/core";
import { describe, expect, it } from "vitest";
import { askedBy } from "./waits.ts";

type Call = Extract<wire.TimelineEntry, { kind: "step" }>;
const call = (kind: Call["call"], name: string, nth: number): Call => ({
  kind: "step",
  at: "2030-01-31T12:00:00Z",
  enqueueSeq: 1,
  ordinal: 1,
  call: kind,
  name,
  scope: "",
  nth,
  outcome: "ok",
  tries: 1,
  startedAt: "2030-01-31T12:00:00Z",
});
const consent = (consentId: string, createdAt: string, closedBy: string | null) =>
  ({
    consentId,
    title: "ship",
    status: closedBy === null ? "PENDING" : "GRANTED",
    createdAt,
    closedBy,
  }) as wire.ConsentSummary;
const owners = {
  // Newest first, as the API lists them.
  consents: [consent("c2", "2030-01-02T00:00:00Z", null), consent("c1", "2030-01-01T00:00:00Z", "user:ada")],
  attempts: [
    {
      attemptId: "a1",
      name: "sign",
      status: "SUCCEEDED",
      createdAt: "2030-01-01T00:00:00Z",
      closedBy: "service",
    } as wire.AttemptSummary,
  ],
};

describe("who ended a wait", () => {
  it("is told by the consent that the call has asked for, the n-th of its name", () => {
    expect(askedBy(call("consent", "ship", 1), owners)).toEqual({
      kind: "consent",
      id: "c1",
      told: "granted by user:ada",
    });
    expect(askedBy(call("consent", "ship", 2), owners)?.told).toBe("pending");
    expect(askedBy(call("consent", "ship", 3), owners)).toBeUndefined();
  });

  it("is told by the job that was delegated", () => {
    expect(askedBy(call("delegate", "sign", 1), owners)).toEqual({
      kind: "attempt",
      id: "a1",
      told: "succeeded by service",
    });
  });

  it("is nobody where nobody was asked", () => {
    expect(askedBy(call("step", "ship", 1), owners)).toBeUndefined();
  });
});
