import type { Lockfile } from "./lockfile.ts";

/** Direct dependencies as lockfile paths, by the path of the package that has them; "" is the project. */
export type Graph = ReadonlyMap<string, readonly string[]>;

/**
 * Finds for each dependency the package that Node would load: the nearest `node_modules` at or above the dependent
 * (nodejs.org, modules, "Loading from node_modules folders"). Links are followed. What is not installed (an optional
 * peer, another platform's binary) is left away.
 */
export function dependencyGraph(lockfile: Lockfile): Graph {
  const paths = new Set(lockfile.packages.map(({ path }) => path));
  const resolve = (from: string, name: string): string | undefined => {
    for (let folder: string | undefined = from; folder !== undefined; folder = parentOf(folder)) {
      const candidate = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
      const target = lockfile.links.get(candidate) ?? candidate;
      if (paths.has(target)) return target;
    }
    return undefined;
  };
  const resolveAll = (from: string, names: readonly string[]): readonly string[] => [
    ...new Set(names.map((name) => resolve(from, name)).filter((path) => path !== undefined)),
  ];
  return new Map([
    ["", resolveAll("", lockfile.project.dependsOn)],
    ...lockfile.packages.map(({ path, dependsOn }): [string, readonly string[]] => [
      path,
      resolveAll(path, dependsOn),
    ]),
  ]);
}

/** The folder above; "" is the project's, and nothing is above it. */
function parentOf(folder: string): string | undefined {
  if (folder === "") return undefined;
  const at = folder.lastIndexOf("/");
  return at === -1 ? "" : folder.slice(0, at);
}
