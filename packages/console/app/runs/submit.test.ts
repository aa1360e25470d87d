import { describe, expect, it } from "vitest";
import { requestOf } from "./submit.tsx";

const hello = { name: "hello", version: 2 };

describe("a run that is asked for by hand", () => {
  it("is asked for as it was written", () => {
    expect(requestOf(hello, '{"name":"Ada"}', "team:payments  url:http://a")).toEqual({
      workflow: "hello",
      version: 2,
      input: { name: "Ada" },
      labels: { team: "payments", url: "http://a" },
    });
    expect(requestOf(hello, "", "")).toEqual({ workflow: "hello", version: 2 });
  });

  it("is not asked for where it cannot be read, and says what to do", () => {
    expect(() => requestOf(hello, "{", "")).toThrow(/^The input is no JSON: /);
    expect(() => requestOf(hello, "", "payments")).toThrow("write label:value");
  });
});
