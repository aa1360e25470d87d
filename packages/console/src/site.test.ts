import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSite, type Site } from "./site.ts";

const HTML = "text/html,application/xhtml+xml,*/*;q=0.8";
let folder: string;
let site: Site | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ghouls-site-"));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "<!doctype html>");
  await writeFile(join(folder, "assets", "index-D9.js"), "export {};");
  site = await openSite({ folder, config: { apiUrl: "", eventsUrl: "" }, connect: ["https://a.example"] });
});
afterAll(() => rm(folder, { recursive: true }));

const text = (path: string, accept?: string): string | undefined => {
  const body = site?.fileFor(path, accept)?.body;
  return body === undefined ? undefined : Buffer.from(body).toString();
};

describe("the built console", () => {
  it("is there with its types, its policy, and what may be kept of it", () => {
    expect(site?.fileFor("/assets/index-D9.js", undefined)?.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "content-security-policy": expect.stringContaining("connect-src 'self' https://a.example;") as string,
    });
    expect(site?.fileFor("/index.html", undefined)?.headers).toMatchObject({ "cache-control": "no-store" });
    expect(text("/config.json")).toBe('{"apiUrl":"","eventsUrl":""}\n');
  });

  it("answers deep links with its page, to who asks for a page", () => {
    for (const path of ["/", "/runs", "/runs/0193e2a0-0000-7000-8000-000000000000"])
      expect(text(path, HTML)).toBe("<!doctype html>");
    expect(text("/runs", "application/json")).toBeUndefined();
    expect(text("/runs")).toBeUndefined();
  });

  it.each(["/v1/runs", "/v1", "/healthz", "/readyz", "/openapi.json"])("leaves %s to the API", (path) => {
    expect(text(path, HTML)).toBeUndefined();
  });

  it.each([
    "/assets/index-gone.js",
    "/../package.json",
    "/assets/../../package.json",
    "/%2e%2e/package.json",
    "//etc/passwd.txt",
  ])("has nothing at %s", (path) => {
    expect(text(path, HTML)).toBeUndefined();
  });

  it("is undefined where it was not built", async () => {
    const config = { apiUrl: "" };
    expect(await openSite({ folder: join(folder, "gone"), config })).toBeUndefined();
    expect(await openSite({ folder: join(folder, "assets"), config })).toBeUndefined();
  });

  it("says why it cannot be read", async () => {
    await expect(
      openSite({ folder: join(folder, "index.html"), config: { apiUrl: "" } }),
    ).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});
