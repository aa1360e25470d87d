import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "./packed.ts";
import { write } from "./project.ts";
import { output } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ghouls-count-test-"));
  write(folder, {
    "good.json": JSON.stringify({ success: true, numPassedTests: 10, numFailedTests: 0 }),
    "bad.json": JSON.stringify({ success: false, numPassedTests: 3, numFailedTests: 2 }),
    "unloaded.json": JSON.stringify({ success: false, numPassedTests: 3, numFailedTests: 0 }),
  });
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("the count at the end of CI", () => {
  it.each([
    [["good.json", "good.json"], "20 passed, 0 failed\n"],
    [["good.json", "bad.json"], "13 passed, 2 failed\n"],
    [["good.json", "unloaded.json"], "13 passed, 1 failed\n"],
    [["good.json", "missing.json"], "10 passed, 1 failed\n"],
  ] as const)("of %j hides no run that broke off", async (reports, said) => {
    const files = reports.map((file) => join(folder, file));
    expect(await output(process.execPath, [join(ROOT, ".ci/count.ts"), ...files], ROOT)).toBe(said);
  });
});
