import { describe, expect, it } from "vitest";
import { cacheControlOf, consoleHeaders, contentSecurityPolicy } from "./headers.ts";

describe("the headers of the console", () => {
  it("let nothing in but its own files", () => {
    const policy = consoleHeaders()["content-security-policy"];
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("connect-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|data:|https?:/);
  });

  it("name each origin once that it speaks to", () => {
    const api = "https://api.example.com";
    expect(contentSecurityPolicy([api, "http://127.0.0.1:4700", api])).toContain(
      "connect-src 'self' https://api.example.com http://127.0.0.1:4700;",
    );
  });

  it.each(["https://api.example.com/v1", "api.example.com", "*", "https://a.example; script-src *", "data:"])(
    "refuse %s, which is no origin",
    (text) => {
      expect(() => contentSecurityPolicy([text])).toThrow("is no origin");
    },
  );

  it("keep what is named by its content, and nothing else", () => {
    expect(cacheControlOf("/assets/index-D9.js")).toContain("immutable");
    expect([cacheControlOf("/index.html"), cacheControlOf("/config.json")]).toEqual(["no-store", "no-store"]);
  });
});
