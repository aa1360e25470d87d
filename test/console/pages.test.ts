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

/** Runs of each kind, and every page of the console with what is seen once it is there. */
interface Seeded {
  readonly wild: string;
  readonly pages: readonly (readonly [path: string, seen: string])[];
}
let seeding: Promise<Seeded> | undefined;
const seeded = (): Promise<Seeded> => (seeding ??= seed());

async function seed(): Promise<Seeded> {
  const wild = await project.submit("wild", { texts: HOSTILE });
  const failed = await project.submit("fails", { message: HOSTILE[0] });
  const asking = await project.submit("asks", { title: "Ship it", detail: { texts: HOSTILE } });
  const signing = await project.submit("signs", { digest: "d1" });
  await Promise.all([
    project.until(wild, "DONE"),
    project.until(failed, "FAILED"),
    project.until(asking, "AWAITING_CONSENT"),
    project.until(signing, "AWAITING_DELEGATE"),
  ]);
  const { consents } = await project.get<wire.ConsentPage>(`/v1/consents?runId=${asking}`);
  const { attempts } = await project.get<wire.AttemptPage>(`/v1/attempts?runId=${signing}`);
  const pages = [
    ["/runs", "step_failed"],
    [`/runs/${wild}`, "Hop 1"],
    [`/runs/${wild}?tab=live`, "answer"],
    [`/runs/${wild}?tab=data`, "Request"],
    [`/runs/${wild}?tab=containment`, "There is nothing to contain"],
    [`/runs/${wild}?tab=evidence`, "Copies of its steps"],
    [`/runs/${failed}`, "step_failed"],
    [`/runs/${asking}`, "Look at the consent"],
    ["/consents?show=all", "Ship it"],
    [`/consents/${consents[0]?.consentId}`, "What is asked"],
    ["/attempts?show=all", "sign"],
    [`/attempts/${attempts[0]?.attemptId}`, "What was sent"],
    ["/reconciler", "Newest repairs"],
    ["/workflows", "Schemas"],
    ["/runs/00000000-0000-4000-8000-000000000000", "There is no such run"],
    ["/nowhere", "There is no such page"],
  ] as const;
  return { wild, pages };
}

describe.each(["light", "dark"] as const)("in %s", (theme) => {
  test("every page is there by its address, also when it is loaded again, and axe finds no serious fault", async () => {
    const { pages } = await seeded();
    const tab = await openTab(browser, project, "/runs", { theme }, [/404/]);
    for (const [path, seen] of pages) {
      await tab.visit(path);
      await tab.page.getByText(seen).first().waitFor(PATIENT);
      expect(await tab.axe(), path).toEqual([]);
    }
    await tab.page.reload();
    await tab.page.getByText("There is no such page").waitFor(PATIENT);
    await tab.close();
  });

  test("every page fits on a phone", async () => {
    const viewport = { width: 390, height: 844 };
    const { pages } = await seeded();
    const tab = await openTab(browser, project, "/runs", { theme, viewport }, [/404/]);
    for (const [path, seen] of pages) {
      await tab.visit(path);
      await tab.page
        .getByText(seen)
        .first()
        .waitFor({ ...PATIENT, state: "attached" });
      expect(await tab.page.evaluate("document.documentElement.scrollWidth"), path).toBeLessThanOrEqual(390);
    }
    await tab.close();
  });
});

test("hostile text is text wherever a run can say something", async () => {
  const { wild } = await seeded();
  const tab = await openTab(browser, project, `/runs/${wild}`);
  for (const query of ["", "?tab=live", "?tab=data"]) {
    await tab.visit(`/runs/${wild}${query}`);
    const main = tab.page.locator("main");
    await expect.poll(() => main.textContent(), PATIENT).toContain("<img src=x onerror=");
    await expect.poll(() => main.textContent(), PATIENT).toContain("U+202E");
    expect(await tab.page.locator("main img, main script, main a[href^='javascript:']").count()).toBe(0);
    expect(await tab.page.title()).toBe("Ghouls");
  }
  await tab.close();
});

describe("whoever is not signed in", () => {
  test("stands at the door, and comes from there to the page that they asked for", async () => {
    const { wild } = await seeded();
    const tab = await openTab(browser, project, `/runs/${wild}?tab=data`, { token: "ghouls_unknown" }, [
      /401/,
    ]);
    await tab.page.getByText("This token is not known any more").waitFor(PATIENT);
    expect(await tab.axe()).toEqual([]);
    // The link's token has left the address.
    expect(tab.page.url()).not.toContain("token");
    await tab.page.getByLabel("Token").fill("two words");
    await tab.page.getByRole("button", { name: "Sign in" }).click();
    await tab.page.getByRole("alert").getByText("That is no token").waitFor();
    await tab.page.getByLabel("Token").fill((await project.state()).tokens.operator);
    await tab.page.getByRole("button", { name: "Sign in" }).click();
    await tab.page.getByRole("group", { name: "Request" }).waitFor(PATIENT);
    expect(tab.page.url()).toContain(`/runs/${wild}?tab=data`);
    await tab.page.getByRole("button", { name: "Sign out" }).click();
    await tab.page.getByLabel("Token").waitFor();
    expect(await tab.page.evaluate("sessionStorage.length")).toBe(0);
    await tab.close();
  });
});

test("pauses are set and lifted, and passes run now", async () => {
  const tab = await openTab(browser, project, "/reconciler");
  const { page } = tab;
  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Which runs").selectOption("fails");
  await dialog.getByRole("textbox").fill("by a test");
  await dialog.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("Runs of fails").first().waitFor(PATIENT);
  await page.getByRole("button", { name: "Lift" }).click();
  await dialog.getByRole("textbox").fill("by a test");
  await dialog.getByRole("button", { name: "Lift", exact: true }).click();
  await page.getByText("No workflow and no tenant is paused.").waitFor(PATIENT);
  await page.getByRole("button", { name: "Run all now" }).click();
  await page.getByRole("button", { name: "Run all now" }).waitFor(PATIENT);
  await tab.close();
});
