import { isNode, parseModule } from "../../.ci/build-imports.ts";
import { packageNamed } from "./floors.ts";
import { folderOf, importsIn, resolveFrom, type PackageInfo, type Source } from "./sources.ts";

/** Cycles of files by static imports, as the paths on their way: at least one where files reach each other, else none. */
export function cycles(sources: readonly Source[]): string[][] {
  const graph = new Map(
    sources.map((source) => [
      source.path,
      importsIn(source)
        .filter(({ kind, specifier }) => kind !== "dynamic" && specifier.startsWith("."))
        .map(({ specifier }) => resolveFrom(source.path, specifier)),
    ]),
  );
  const ended = new Set<string>();
  const found: string[][] = [];
  const walk = (path: string, way: readonly string[]): void => {
    const seen = way.indexOf(path);
    if (seen !== -1) {
      found.push([...way.slice(seen), path]);
      return;
    }
    if (ended.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...way, path]);
    ended.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return found;
}

/** Imports of a package's own index from inside of it, by path or by its name. */
export function ownIndexImports(sources: readonly Source[], packages: readonly PackageInfo[]): string[] {
  return sources.flatMap((source) => {
    const own = packages.find(({ folder }) => folder === folderOf(source.path));
    if (own === undefined) return [];
    return importsIn(source)
      .filter(({ specifier }) =>
        specifier.startsWith(".")
          ? /^packages\/[^/]+\/src(\/index\.[a-z]+)?\/?$/.test(resolveFrom(source.path, specifier))
          : packageNamed(specifier) === own.name,
      )
      .map(({ specifier }) => `${source.path} imports ${specifier}`);
  });
}

/** Imports of another package of ours that name no entry of it. */
export function deepImports(sources: readonly Source[], packages: readonly PackageInfo[]): string[] {
  return sources.flatMap((source) =>
    importsIn(source)
      .filter(({ specifier }) => {
        const target = packages.find(({ name }) => name === packageNamed(specifier));
        return target !== undefined && !target.entries.includes(specifier);
      })
      .map(({ specifier }) => `${source.path} imports ${specifier}`),
  );
}

/** Files that only hand on what others export, other than a package's own index. */
export function barrels(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => !/^packages\/[^/]+\/src\/index\.ts$/.test(path))
    .filter(({ path, text }) => {
      const body = parseModule(path, text)["body"];
      const statements = Array.isArray(body) ? body.filter(isNode) : [];
      return (
        statements.length > 0 &&
        statements.every(({ type, source }) => /^Export(All|Named)Declaration$/.test(type) && isNode(source))
      );
    })
    .map(({ path }) => path);
}
