import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import type { DevProject } from "../dev-project.ts";

export interface TabOptions {
  readonly as?: "operator" | "submitter" | "decider";
  /** Instead of theirs. */
  readonly token?: string;
  readonly theme?: "light" | "dark";
  readonly viewport?: { readonly width: number; readonly height: number };
}

/** A page of the console, and what is wrong with it so far. */
export interface Tab {
  readonly page: Page;
  /** Errors of the page and its console, breaches of its policy, and requests that went elsewhere or failed. */
  readonly faults: readonly string[];
  /** Goes to another page within the console, as a deep link does. */
  readonly visit: (path: string) => Promise<void>;
  /** Serious and critical faults that axe finds. */
  readonly axe: () => Promise<string[]>;
  /** Ends it. @throws where anything was wrong */
  readonly close: () => Promise<void>;
}

/** As a text: the repository's types know no browser. */
const TELL_BREACHES = `addEventListener("securitypolicyviolation", ({ violatedDirective, sample }) => {
  console.error("policy: " + violatedDirective + " " + sample);
});`;
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Opens the console as somebody who follows a link that signs in. Refusals that a test provokes are named in `expected`. */
export async function openTab(
  browser: Browser,
  project: DevProject,
  path: string,
  { as = "operator", token, theme = "light", viewport = { width: 1280, height: 900 } }: TabOptions = {},
  expected: readonly RegExp[] = [],
): Promise<Tab> {
  const { consoleUrl, tokens } = await project.state();
  if (consoleUrl === undefined) throw new Error("the console is not built: npm run build:console");
  const context = await browser.newContext({ colorScheme: theme, viewport, reducedMotion: "reduce" });
  const page = await context.newPage();
  const faults: string[] = [];
  const fault = (text: string): void => {
    if (!expected.some((each) => each.test(text))) faults.push(text);
  };
  page.on("pageerror", (error) => fault(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") fault(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(consoleUrl)) fault(`elsewhere: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) fault(`${response.status()}: ${response.url()}`);
  });
  await page.addInitScript(TELL_BREACHES);
  const link = new URLSearchParams({ token: token ?? tokens[as] }).toString();
  await page.goto(`${consoleUrl}${path}#${link}`);
  return {
    page,
    faults,
    visit: async (next) => {
      await page.goto(`${consoleUrl}${next}`);
    },
    axe: async () => {
      // Not by a script element: the policy of the page refuses one.
      await page.evaluate(await readFile(AXE, "utf8"));
      return page.evaluate(async () => {
        const { axe } = globalThis as unknown as {
          axe: {
            run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
          };
        };
        const { violations } = await axe.run();
        return violations
          .filter(({ impact }) => impact === "serious" || impact === "critical")
          .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
      });
    },
    close: async () => {
      await context.close();
      expect(faults).toEqual([]);
    },
  };
}
