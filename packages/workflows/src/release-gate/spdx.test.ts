import { describe, expect, test } from "vitest";
import { MAX_EXPRESSION, parseExpression, spelling } from "./spdx.ts";

describe("parseExpression", () => {
  test("binds AND closer than OR, so that `A OR B AND C` does not pass by C alone", () => {
    expect(parseExpression("MIT OR GPL-3.0-only AND ISC")).toEqual({
      left: { license: "MIT" },
      conjunction: "or",
      right: { left: { license: "GPL-3.0-only" }, conjunction: "and", right: { license: "ISC" } },
    });
  });

  test.each([
    "",
    "Apache 2.0",
    "MIT OR",
    "(MIT",
    "MIT)",
    "mit",
    "MIT WITH",
    "MIT ISC",
    "@MIT",
    "MIT\u0000",
    "MIT/ISC",
    "#MIT",
    "###OR MIT",
    "MIT OR /ISC",
  ])("is undefined, not an error, for %j", (text) => {
    expect(parseExpression(text)).toBeUndefined();
  });

  test("a nest deep enough to exhaust the stack is undefined", () => {
    const nest = (depth: number) => `${"(".repeat(depth)}MIT${")".repeat(depth)}`;
    expect(parseExpression(nest(50))).toEqual({ license: "MIT" });
    expect(parseExpression(nest(MAX_EXPRESSION))).toBeUndefined();
  });
});

test("spelling ignores case and white space, and nothing else", () => {
  expect(spelling("  Apache\t 2.0\n")).toBe("apache 2.0");
  expect(spelling("Apache-2.0")).not.toBe(spelling("Apache 2.0"));
});
