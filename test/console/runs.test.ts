import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";
import { openChromium } from "../support/console/chromium.ts";
import { openTab } from "../support/console/tab.ts";
import { PROJECT } from "../support/console/workflows.ts";

// Real processes and a real browser on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });
const PATIENT = { timeout: 60_000 };

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

/** Whether it has the focus, as the browser says; by its document, as the repository's types know no browser. */
const isFocused = (element: {
  readonly ownerDocument?: { readonly activeElement: unknown } | null;
}): boolean => element.ownerDocument?.activeElement === element;
const gateOf = (name: string) => join(project.folder, name);

test("a run is asked for by hand, speaks while one looks on, and shows what it gave", async () => {
  const { page, close } = await openTab(browser, project, "/runs");
  await page.getByRole("button", { name: "New run" }).click();
  await page.getByRole("dialog").getByLabel("Workflow").selectOption("story v1");
  const gate = gateOf("spoken");
  await page.getByLabel("Input, as JSON").fill(JSON.stringify({ gate }));
  await page.getByLabel("Labels").fill("team:payments");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("heading", { name: "story v1" }).waitFor(PATIENT);
  await page.getByText("Running").first().waitFor(PATIENT);
  await page.getByRole("tab", { name: "Live" }).click();
  const stream = page.getByRole("log");
  await expect.poll(() => stream.textContent(), PATIENT).toContain("word-30 ");
  // Closed and opened again in the middle of it: nothing is missed and nothing said twice.
  await page.reload();
  await expect.poll(() => stream.textContent(), PATIENT).toContain("word-60 ");
  await writeFile(gate, "");
  await page.locator(".page-head .pill", { hasText: "Done" }).waitFor(PATIENT);
  const words = ((await stream.textContent()) ?? "").trim().split(" ");
  expect(words).toEqual(words.map((_, index) => `word-${index}`));
  await page.getByText("told", { exact: true }).waitFor(PATIENT);
  await page.getByRole("tab", { name: "Request and result" }).click();
  await page.getByRole("group", { name: "Result" }).getByText("words").waitFor(PATIENT);
  await close();
});

test("a request that cannot be read is not sent, and what was written stays", async () => {
  const { page, close } = await openTab(browser, project, "/runs", {}, [/^422: |status of 422/]);
  await page.getByRole("button", { name: "New run" }).click();
  const input = page.getByLabel("Input, as JSON");
  await input.fill("{ broken");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("alert").getByText("The input is no JSON").waitFor();
  expect(await input.inputValue()).toBe("{ broken");
  // What the API refuses is shown with what to do.
  await input.fill('{"nothing":"that it takes"}');
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("alert").getByText("Request").waitFor(PATIENT);
  await page.getByRole("button", { name: "Leave it" }).click();
  await close();
});

test("a cancel asks for a reason, and its containment is watched to the end", async () => {
  const gate = gateOf("held");
  const runId = await project.submit("holds", { gate });
  await project.until(runId, "RUNNING");
  const { page, close } = await openTab(browser, project, `/runs/${runId}`);
  await page.getByText("carries it").waitFor(PATIENT);
  await page.getByRole("button", { name: "Cancel" }).click();
  const dialog = page.getByRole("dialog");
  // Nothing is sent without a reason.
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  expect((await project.view(runId)).status).toBe("RUNNING");
  await dialog.getByRole("textbox").fill("asked for by a test");
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.locator(".page-head .pill", { hasText: "Cancelling" }).waitFor(PATIENT);
  await page.getByText("It will be CANCELLED once it is proven").waitFor(PATIENT);
  await page.getByRole("tab", { name: "Containment" }).click();
  await page.getByText("open", { exact: true }).waitFor(PATIENT);
  await writeFile(gate, "");
  await page.locator(".page-head .pill", { hasText: "Cancelled" }).waitFor(PATIENT);
  await page.getByText("over", { exact: true }).waitFor(PATIENT);
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByText("fenced", { exact: true }).first().waitFor(PATIENT);
  await close();
});

test("a worker is killed while one watches: its loss is told, and the next hop goes on", async () => {
  const gate = gateOf("killed");
  const runId = await project.submit("holds", { gate });
  await project.until(runId, "RUNNING");
  const { page, close } = await openTab(browser, project, `/runs/${runId}`);
  await page.getByText("Hop 1").waitFor(PATIENT);
  await page.getByText("prepare").waitFor(PATIENT);
  const { processes } = await project.state();
  const claimed = (await project.timeline(runId)).find((entry) => entry.kind === "claimed");
  const worker = processes.find((each) => claimed?.kind === "claimed" && each.worker === claimed.worker);
  process.kill(worker?.pid ?? 0, "SIGKILL");
  await page.getByText("worker lost").waitFor(PATIENT);
  await page.getByText("SIGKILL").waitFor(PATIENT);
  await page.getByText("Hop 2").waitFor(PATIENT);
  await writeFile(gate, "");
  await page.locator(".page-head .pill", { hasText: "Done" }).waitFor(PATIENT);
  await close();
});

test("runs are found by label, id, state and time, and every filter stands in the address", async () => {
  const { page, close, visit } = await openTab(browser, project, "/runs");
  const row = page.locator(".run-row");
  await expect.poll(() => row.count(), PATIENT).toBeGreaterThanOrEqual(3);
  await page.keyboard.press("/");
  await page.keyboard.type("team:payments");
  await page.keyboard.press("Enter");
  await expect.poll(() => row.count(), PATIENT).toBe(1);
  expect(page.url()).toContain("label=");
  await page.reload();
  await expect.poll(() => row.count(), PATIENT).toBe(1);
  await page.getByRole("button", { name: "Without the label team:payments" }).click();
  await page.getByRole("button", { name: "Cancelled" }).click();
  await expect.poll(() => row.locator(".pill").allTextContents(), PATIENT).toEqual(["Cancelled"]);
  await page.goBack();
  await expect.poll(() => row.count(), PATIENT).toBeGreaterThanOrEqual(3);
  await page.getByLabel("Search runs").fill("no such thing at all");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("a label such as team:payments").waitFor();
  await visit("/runs?status=%5B%22FAILED%22%5D&hours=1");
  await page.getByText("No run is like that").waitFor(PATIENT);
  const [first] = (await project.get<{ runs: { runId: string }[] }>("/v1/runs")).runs;
  await page.getByLabel("Search runs").fill(first?.runId ?? "");
  await page.keyboard.press("Enter");
  await page.getByText(first?.runId ?? "", { exact: true }).waitFor(PATIENT);
  await close();
});

test("a run is found, opened and cancelled by the keyboard alone", async () => {
  const runId = await project.submit("holds", { gate: gateOf("by keyboard") });
  await project.until(runId, "RUNNING");
  const { page, close } = await openTab(browser, project, "/runs");
  await page.locator(".run-row").first().waitFor(PATIENT);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByText(runId, { exact: true }).waitFor(PATIENT);
  const cancel = page.getByRole("button", { name: "Cancel" });
  await cancel.waitFor(PATIENT);
  for (let presses = 0; presses < 40; presses += 1) {
    if (await cancel.evaluate(isFocused)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  const reason = page.getByRole("dialog").getByRole("textbox");
  await expect.poll(() => reason.evaluate(isFocused), PATIENT).toBe(true);
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await project.view(runId)).status, PATIENT).toMatch(/^CANCELL/);
  await writeFile(gateOf("by keyboard"), "");
  await close();
});
