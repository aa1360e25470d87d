import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stat } from "node:fs/promises";
import { afterEach, beforeEach, test } from "vitest";
import { until } from "./until.support.ts";
import type { FileWatch } from "./watch.ts";
import { watchFiles } from "./watch.ts";

let folder: string;
let changes: number;
let watch: FileWatch;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ghouls-watch-"));
  changes = 0;
  watch = watchFiles(() => (changes += 1));
});
afterEach(() => {
  watch.close();
  rmSync(folder, { recursive: true });
});

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** Watches, and waits until each file has had its first look: the pool of threads takes them in order. */
async function watching(files: readonly string[]): Promise<void> {
  watch.set(files);
  for (const one of [...files, ...files]) await stat(one).catch(() => undefined);
}

test("a file that an editor replaces by a rename is seen, and so is the next save of it", async () => {
  const main = file("main.ts", "one");
  await watching([main]);
  for (const [times, text] of ["two", "three", "four"].entries()) {
    renameSync(file("main.ts.swp", text), main);
    await until(() => changes).toBe(times + 1);
  }
});

test("a file that is not there yet is seen when it comes, and again when it changes in place", async () => {
  await watching([join(folder, "later.ts")]);
  file("later.ts", "here");
  await until(() => changes).toBe(1);
  file("later.ts", "and more");
  await until(() => changes).toBe(2);
});

test("a burst of saves over many files is one change", async () => {
  const files = Array.from({ length: 40 }, (_, index) => file(`${index}.ts`, "old"));
  await watching(files);
  for (const round of [1, 2, 3]) for (const [index] of files.entries()) file(`${index}.ts`, `new ${round}`);
  await until(() => changes).toBe(1);
  // The one of a later save tells that nothing of the burst was left over.
  file("0.ts", "last");
  await until(() => changes).toBe(2);
});

test("a file that is not watched any more changes nothing", async () => {
  const [one, other] = [file("one.ts", "a"), file("other.ts", "a")];
  await watching([one, other]);
  await watching([other]);
  file("one.ts", "changed");
  file("other.ts", "changed");
  await until(() => changes).toBe(1);
  watch.close();
});
