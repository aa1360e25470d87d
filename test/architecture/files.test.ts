import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { emptyNames, ignoredNames, strangeAtTop, tooLong } from "./files.ts";
import { ROOT, readPackages, readSources, topLevel } from "./sources.ts";

const LINES = 400;
const sources = readSources();

describe("the files", () => {
  it("at the top are those of design.md §7", () => {
    const ignored = ignoredNames(readFileSync(join(ROOT, ".gitignore"), "utf8"));
    expect(strangeAtTop(topLevel(), ignored)).toEqual([]);
  });

  it("are named after what they hold", () => {
    const folders = readPackages().map(({ folder }) => `packages/${folder}`);
    // Ours takes the place of the package of this name (design.md §8).
    const named = folders.filter((path) => path !== "packages/localstack-utils");
    const files = sources.map(({ path }) => path.replace("packages/localstack-utils/", ""));
    expect(emptyNames([...named, ...files])).toEqual([]);
  });

  it(`have at most ${LINES} lines`, () => {
    // Frozen engines are bundles: nobody reads or writes them.
    const written = sources.filter(({ path }) => !path.startsWith("test/compat/engines/"));
    expect(tooLong(written, LINES)).toEqual([]);
  });
});

describe("the check of the files", () => {
  it("finds a strange name at the top, and takes what Git ignores", () => {
    const ignored = ignoredNames("node_modules/\n/output/\n*.tgz\n# docs\n");
    expect(ignored).toEqual(["node_modules", "output"]);
    expect(strangeAtTop(["package.json", ".ci", "output", "docs", "knip.json", "src"], ignored)).toEqual([
      "docs",
      "knip.json",
      "src",
    ]);
  });

  it("finds names that say nothing", () => {
    const bad = ["a/utils.ts", "a/helpers/b.ts", "a/common/b.ts", "a/test-helpers.ts", "a/util.test.ts"];
    expect(emptyNames([...bad, "a/commands/b.ts", "a/utility-bill.ts"])).toEqual(bad);
  });

  it("counts lines, a last line break not among them", () => {
    const file = (path: string, lines: number) => ({ path, text: "x\n".repeat(lines) });
    expect(tooLong([file("packages/a/src/a.ts", 2), file("packages/a/src/b.ts", 3)], 2)).toEqual([
      "packages/a/src/b.ts has 3 lines",
    ]);
    expect(tooLong([file("test/support/a.ts", 3), file("test/races/a.test.ts", 3)], 2)).toEqual([
      "test/support/a.ts has 3 lines",
    ]);
  });
});
