import { gzipSync } from "node:zlib";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SITE_FOLDER } from "@ghouls/console";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";
import { openChromium } from "../support/console/chromium.ts";
import { openTab } from "../support/console/tab.ts";
import { PROJECT } from "../support/console/workflows.ts";

// Real processes and a real browser on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });
const PATIENT = { timeout: 60_000 };
/** Of all that a browser loads before it shows the list of runs. */
const MOST_BYTES = 200_000;

let browser: Browser;
let project: DevProject;
beforeAll(async () => {
  [browser, project] = await Promise.all([openChromium(), devProject(PROJECT)]);
  await project.start();
});
afterAll(async () => {
  await browser?.close();
  await project?.remove();
});

test("the first load of the console is under 200 kB gzipped, and nothing of it stands in the page itself", async () => {
  await project.submit("fails", { message: "x" });
  const tab = await openTab(browser, project, "/runs");
  const { consoleUrl } = await project.state();
  const asked = new Set<string>();
  tab.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith("/v1/")) asked.add(pathname);
  });
  await tab.page.reload();
  await tab.page.locator(".run-row").first().waitFor(PATIENT);
  const sizeOf = async (path: string): Promise<number> => {
    const answer = await fetch(`${consoleUrl}${path}`, { headers: { accept: "text/html" } });
    return gzipSync(await answer.bytes(), { level: 9 }).byteLength;
  };
  const loaded = await Promise.all([...asked].map(async (path) => [path, await sizeOf(path)] as const));
  const total = loaded.reduce((sum, [, size]) => sum + size, 0);
  expect(loaded.map(([path]) => path)).toEqual(expect.arrayContaining(["/runs", "/config.json"]));
  process.stdout.write(`first load: ${total} bytes gzipped in ${loaded.length} files\n`);
  expect(total, JSON.stringify(loaded)).toBeLessThan(MOST_BYTES);
  // Pages that are not open are not loaded.
  expect(loaded.filter(([path]) => /reconciler|tree/.test(path))).toEqual([]);
  await tab.close();
  const html = await readFile(join(SITE_FOLDER, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|https?:|\son\w+=/);
});

test("the policy that the page is served with lets nothing in but its own files", async () => {
  const { consoleUrl } = await project.state();
  const answer = await fetch(`${consoleUrl}/runs`, { headers: { accept: "text/html" } });
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self';");
  const tab = await openTab(browser, project, "/runs", {}, [/policy|Content Security Policy|Trusted/i]);
  const ran = await tab.page.evaluate(`(() => {
    const script = document.createElement("script");
    try { script.textContent = "document.title = 'ran'"; document.head.append(script); } catch { return "refused"; }
    return document.title;
  })()`);
  expect(ran).not.toBe("ran");
  await tab.close();
});
