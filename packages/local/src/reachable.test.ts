import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { checkReachableByPostgres, closedFolderAbove } from "./reachable.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "ghouls-reachable-")));
const inner = join(folder, "a", "b");
mkdirSync(inner, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

test("a folder that others may not pass through is found, the outermost first", async () => {
  chmodSync(folder, 0o700);
  chmodSync(join(folder, "a"), 0o700);
  expect(await closedFolderAbove(inner)).toBe(folder);
  await expect(checkReachableByPostgres(inner)).rejects.toMatchObject({
    code: "configuration_invalid",
    message: expect.stringContaining(`its data folder: ${folder} is closed to others`),
    fix: expect.stringContaining("--data-dir"),
  });
  chmodSync(folder, 0o711);
  expect(await closedFolderAbove(inner)).toBe(join(folder, "a"));
  chmodSync(join(folder, "a"), 0o711);
  expect(await closedFolderAbove(inner)).toBeUndefined();
});

test("a path that is not there is an error", async () => {
  await expect(closedFolderAbove(join(folder, "none"))).rejects.toThrow(/ENOENT/);
});
