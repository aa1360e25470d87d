import type { wire } from "@ghouls/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";
import { openChromium } from "../support/console/chromium.ts";
import { openTab } from "../support/console/tab.ts";
import { HOSTILE, PROJECT } from "../support/console/workflows.ts";

// Real processes and a real browser on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });
const PATIENT = { timeout: 60_000 };
const PHONE = { width: 390, height: 844 };

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

async function asked(title: string, detail: unknown = { amount: 12 }, quorum = 1): Promise<string> {
  const runId = await project.submit("asks", { title, detail, quorum });
  await project.until(runId, "AWAITING_CONSENT");
  return runId;
}
const consentOf = async (runId: string): Promise<wire.ConsentSummary> => {
  const { consents } = await project.get<wire.ConsentPage>(`/v1/consents?runId=${runId}`);
  const [consent] = consents;
  if (consent === undefined) throw new Error(`run ${runId} asks for nothing`);
  return consent;
};

describe("a consent", () => {
  test("is found in one's inbox, read as it is bound, and granted with a note", async () => {
    const runId = await asked("Ship the release", { version: "1.2.3" });
    const { digest } = await consentOf(runId);
    const { page, close } = await openTab(browser, project, "/consents", { as: "decider" });
    await page.getByRole("link", { name: "Ship the release" }).click();
    await page.getByText("1.2.3").waitFor(PATIENT);
    await page.getByText(digest).first().waitFor(PATIENT);
    await page.getByText("It expires in 2 d 23 h").waitFor(PATIENT);
    await page.getByRole("button", { name: "Grant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(digest).waitFor();
    await dialog.getByRole("textbox").fill("looked at it");
    await dialog.getByRole("button", { name: "Grant", exact: true }).click();
    await page.locator(".page-head .pill", { hasText: "Granted" }).waitFor(PATIENT);
    await page.getByText("looked at it").waitFor(PATIENT);
    expect((await project.until(runId, "DONE")).output).toEqual({ outcome: "GRANTED" });
    await close();
    // Whoever looks at the run is told who ended its wait.
    const run = await openTab(browser, project, `/runs/${runId}`);
    await run.page.getByRole("link", { name: "granted by decider" }).click();
    await run.page.getByRole("heading", { name: "Ship the release" }).waitFor(PATIENT);
    await run.close();
  });

  test("is denied on a phone, on the road", async () => {
    const runId = await asked("Pay 12,000 to Ada");
    const tab = await openTab(browser, project, "/consents", { as: "decider", viewport: PHONE });
    const { page } = tab;
    await page.getByRole("link", { name: "Pay 12,000 to Ada" }).click();
    await page.getByRole("button", { name: "Deny" }).waitFor(PATIENT);
    // Nothing has to be pushed sideways.
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(PHONE.width);
    await page.getByRole("button", { name: "Deny" }).click();
    const dialog = page.getByRole("dialog");
    const box = await dialog.boundingBox();
    expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 999) <= PHONE.width).toBe(true);
    await dialog.getByRole("button", { name: "Deny", exact: true }).click();
    await page.locator(".page-head .pill", { hasText: "Denied" }).waitFor(PATIENT);
    expect((await project.until(runId, "DONE")).output).toEqual({ outcome: "DENIED" });
    await tab.close();
  });

  test("that somebody was faster with is not decided twice, and the dialog says what happened", async () => {
    const runId = await asked("Who is first");
    const { consentId } = await consentOf(runId);
    const tab = await openTab(browser, project, `/consents/${consentId}`, { as: "decider" }, [/409/]);
    await tab.page.getByRole("button", { name: "Grant" }).click();
    await project.decide(runId, "deny");
    await tab.page.getByRole("dialog").getByRole("button", { name: "Grant", exact: true }).click();
    await tab.page.getByRole("dialog").getByRole("alert").waitFor(PATIENT);
    expect((await project.until(runId, "DONE")).output).toEqual({ outcome: "DENIED" });
    await tab.close();
  });

  test("is shown to those who may not decide it, with who may", async () => {
    const runId = await asked("Not for operators");
    const { consentId } = await consentOf(runId);
    const tab = await openTab(browser, project, `/consents/${consentId}`, { as: "operator" });
    await tab.page.getByText("Your token may not decide consents").waitFor(PATIENT);
    expect(await tab.page.getByRole("button", { name: "Grant" }).count()).toBe(0);
    await tab.close();
  });

  test("whose text is hostile runs nothing, and shows what is hidden in it", async () => {
    const title = `Pay \u202E001 to <img src=x onerror="document.title='pwned'">`;
    const runId = await asked(title, { texts: HOSTILE, ["\u202Ekey"]: "x" });
    const { consentId } = await consentOf(runId);
    const tab = await openTab(browser, project, `/consents/${consentId}`, { as: "decider" });
    const heading = tab.page.getByRole("heading", { level: 1 });
    await expect.poll(() => heading.textContent(), PATIENT).toContain("U+202E");
    expect(await heading.textContent()).toContain("<img src=x onerror=");
    const tree = tab.page.getByRole("group", { name: "The request" });
    for (const shown of ["U+202E", "U+200B", "U+2028", "U+0007", "javascript:document.title"]) {
      expect(await tree.textContent()).toContain(shown);
    }
    expect(await tab.page.locator("main img, main script, main a[href^='javascript:']").count()).toBe(0);
    expect(await tab.page.title()).toBe("Ghouls");
    await tab.close();
  });
});

test("a job of which nobody knows is shown with what was sent and what a lookup said, and settled by a word", async () => {
  const runId = await project.submit("signs", { digest: "d1" });
  const attempts = () => project.get<wire.AttemptPage>(`/v1/attempts?runId=${runId}`);
  await expect.poll(async () => (await attempts()).attempts[0]?.status, PATIENT).toBe("UNCERTAIN");
  const { page, close } = await openTab(browser, project, "/attempts");
  await page.getByRole("link", { name: "sign" }).click();
  await page.getByText("Nobody knows what became of it.").waitFor(PATIENT);
  await page.getByRole("group", { name: "What was sent" }).getByText("d1").waitFor();
  await page.getByRole("button", { name: "Say what became of it" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("What it gave, as JSON").fill("{");
  await dialog.getByLabel("How do you know?").fill("asked the signer by telephone");
  await dialog.getByRole("button", { name: "This is so" }).click();
  await dialog.getByRole("alert").getByText("What it gave is no JSON").waitFor();
  await dialog.getByLabel("What it gave, as JSON").fill('{"signature":"s1"}');
  await dialog.getByRole("button", { name: "This is so" }).click();
  await page.locator(".page-head .pill", { hasText: "Succeeded" }).waitFor(PATIENT);
  expect((await project.until(runId, "DONE")).output).toEqual({ signature: "s1" });
  await close();
});
