import { describe, expect, it } from "vitest";
import { folderOf, productionSources, readSources } from "./sources.ts";
import { surroundingsUsed } from "./surroundings.ts";

/** Only floor 4 and above read the environment, and they pass clock and chance down (design.md §7). */
const BELOW_FLOOR_4 = ["core", "ledger", "engine", "api", "aws", "client"];
/** The key that makes a retry of the client safe, where its user gives none: made once a call, at the user's side. */
const CLIENT_KEY = /^packages\/client\/src\/client\.ts:\d+ crypto\.randomUUID$/;

describe("below floor 4", () => {
  it.each(BELOW_FLOOR_4)("%s reads no environment, clock or chance, and prints nothing", (folder) => {
    const sources = productionSources(readSources()).filter(({ path }) => folderOf(path) === folder);
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.flatMap(surroundingsUsed).filter((use) => !CLIENT_KEY.test(use))).toEqual([]);
  });

  it("has no exception that nothing needs", () => {
    expect(
      productionSources(readSources())
        .flatMap(surroundingsUsed)
        .some((use) => CLIENT_KEY.test(use)),
    ).toBe(true);
  });
});

describe("the check of the surroundings", () => {
  const found = (text: string) => surroundingsUsed({ path: "a.ts", text }).length;

  it.each([
    `process.env["A"];`,
    `process["env"];`,
    `globalThis.process.env;`,
    `const { env } = process;`,
    `import { env } from "node:process";`,
    `import process from "process";`,
    `const clock = { now: Date.now };`,
    `new Date().toISOString();`,
    `Date();`,
    `export const f = (now: () => number = () => Date.now()) => now();`,
    `Math.random();`,
    `performance.now();`,
    `import { performance as p } from "node:perf_hooks";`,
    `crypto.randomUUID();`,
    `import { randomUUID } from "node:crypto";`,
    `import * as crypto from "node:crypto";`,
    `console.log(1);`,
    `console[level](1);`,
  ])("finds %s", (text) => {
    expect(found(text)).toBe(1);
  });

  it.each([
    `new Date(0); Date.parse("2026-01-01"); Date.UTC(2026);`,
    `Math.max(1, 2);`,
    `import { createHash } from "node:crypto"; createHash("sha256");`,
    `clock.now(); ids.random(); options.env;`,
    `// process.env, Date.now(), console.log()\nexport const text = "Math.random()";`,
    `import type { Performance } from "node:perf_hooks";`,
    `class A { console = 1; process(env: string) { return env; } }`,
  ])("takes %s", (text) => {
    expect(found(text)).toBe(0);
  });
});
