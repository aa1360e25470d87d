import { describe, expect, it } from "vitest";
import { sampleOf } from "./sample-input.ts";

describe("an input to begin with", () => {
  it("has what is required, with defaults and first choices", () => {
    expect(
      sampleOf({
        type: "object",
        required: ["name", "count", "mode", "tags", "deep"],
        properties: {
          name: { type: "string" },
          count: { type: "integer", minimum: 1 },
          mode: { enum: ["fast", "slow"] },
          tags: { type: "array", minItems: 1, items: { const: "a" } },
          deep: { anyOf: [{ type: "object", properties: {} }, { type: "null" }] },
          kept: { type: "string", default: "x" },
        },
      }),
    ).toEqual({ name: "", count: 1, mode: "fast", tags: ["a"], deep: {} });
  });

  it("takes a default over a type, and gives null for what it cannot read", () => {
    expect(sampleOf({ type: "string", default: "x" })).toBe("x");
    expect([sampleOf(undefined), sampleOf({}), sampleOf(true)]).toEqual([null, null, null]);
    expect(sampleOf({ type: ["boolean", "null"] })).toBe(false);
  });

  it("ends where a schema is its own member", () => {
    const tree: Record<string, unknown> = { type: "object", required: ["next"] };
    tree["properties"] = { next: tree };
    expect(JSON.stringify(sampleOf(tree))).toContain("null");
  });
});
