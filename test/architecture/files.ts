import type { Source } from "./sources.ts";

/** design.md §7: the top of the repository, beside dot files. */
const TOP = [
  "package.json",
  "tsconfig.json",
  "sst.config.ts",
  "packages",
  "infra",
  "test",
  "README.md",
  "package-lock.json",
  "LICENSE",
  "CHANGELOG.md",
];

/** Names at the top that design.md §7 has no place for. What Git ignores is not part of the repository. */
export function strangeAtTop(names: readonly string[], ignored: readonly string[]): string[] {
  return names.filter((name) => !name.startsWith(".") && !TOP.includes(name) && !ignored.includes(name));
}

/** The names in a .gitignore that stand for themselves, such as "output/". */
export function ignoredNames(gitignore: string): string[] {
  return gitignore
    .split("\n")
    .map((line) => line.trim().replace(/^\/|\/$/g, ""))
    .filter((name) => /^[\w.-]+$/.test(name));
}

/** Files and folders whose name does not say what they hold. */
export function emptyNames(paths: readonly string[]): string[] {
  return paths.filter((path) => /(^|[/.-])(utils?|commons?|helpers?|misc)([/.-]|$)/i.test(path));
}

/** Files that have grown past a number of lines; tests are lists, and may. */
export function tooLong(sources: readonly Source[], limit: number): string[] {
  return sources
    .filter(({ path }) => !path.endsWith(".test.ts"))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > limit)
    .map(({ path, lines }) => `${path} has ${lines} lines`);
}
