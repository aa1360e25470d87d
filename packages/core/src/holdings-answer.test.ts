import { describe, expect, test } from "vitest";
import { readAuthorityAnswer, readGrantAnswer } from "./holdings-answer.ts";

describe("the answer of an authority check", () => {
  test("is one of two words, the second with its reason, bounded", () => {
    expect(readAuthorityAnswer({ outcome: "valid", more: 1 })).toEqual({ outcome: "valid" });
    expect(readAuthorityAnswer({ outcome: "revoked", reason: "x".repeat(2_000) })).toEqual({
      outcome: "revoked",
      reason: "x".repeat(1_000),
    });
  });

  test.each([undefined, null, true, "revoked", {}, { outcome: "revoked" }, { outcome: "no", reason: "x" }])(
    "%j is none, and fails no run",
    (answer) => {
      expect(() => readAuthorityAnswer(answer)).toThrow("that is no answer of an authority check");
    },
  );
});

describe("the answer of a grant provider", () => {
  test("is a grant with what it has of value, end and release, or a refusal with its reason", () => {
    const given = {
      outcome: "granted",
      value: 7,
      expiresAt: new Date(7),
      release() {
        this.value = 0;
      },
    };
    const read = readGrantAnswer(given);
    expect(read).toEqual({ ...given, release: expect.any(Function) });
    if (read.outcome === "granted") void read.release?.();
    expect(given.value).toBe(0);
    expect(readGrantAnswer({ outcome: "granted" })).toEqual({ outcome: "granted", value: undefined });
    expect(readGrantAnswer({ outcome: "refused", reason: "no" })).toEqual({
      outcome: "refused",
      reason: "no",
    });
  });

  test.each([
    undefined,
    false,
    { outcome: "refused" },
    { outcome: "denied", reason: "x" },
    { outcome: "granted", expiresAt: "2026-12-01" },
    { outcome: "granted", expiresAt: new Date(Number.NaN) },
    { outcome: "granted", release: true },
  ])("%j is none, and fails no run", (answer) => {
    expect(() => readGrantAnswer(answer)).toThrow("that is no answer of a grant provider");
  });
});
