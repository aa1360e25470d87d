import { describe, expect, it } from "vitest";
import { wordOf } from "./word.ts";

const form = (values: Record<string, string>) => ({ get: (name: string) => values[name] ?? null });

describe("an operator's word about a job", () => {
  it("has what that outcome needs", () => {
    expect(wordOf("succeeded", "seen", form({ result: '{"a":1}' }))).toEqual({
      outcome: "succeeded",
      reason: "seen",
      result: { a: 1 },
    });
    expect(wordOf("failed", "seen", form({ code: " gone " }))).toEqual({
      outcome: "failed",
      reason: "seen",
      error: { code: "gone", message: "seen" },
    });
    expect(wordOf("cancelled", "seen", form({}))).toEqual({ outcome: "cancelled", reason: "seen" });
  });

  it("is refused where it cannot be read", () => {
    expect(() => wordOf("succeeded", "seen", form({ result: "{" }))).toThrow(
      "write null where it gives nothing",
    );
  });
});
