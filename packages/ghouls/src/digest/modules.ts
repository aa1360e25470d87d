import { existsSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { Metafile } from "esbuild";

/** The folder of the nearest package.json above a file: what paths in a digest are relative to. */
export function projectRootOf(file: string): string {
  let folder = dirname(file);
  for (;;) {
    if (existsSync(join(folder, "package.json"))) return folder;
    const parent = dirname(folder);
    if (parent === folder) return dirname(file);
    folder = parent;
  }
}

/** A local module: its path from the project's root with "/" on every system, and where it lies. */
export interface LocalModule {
  readonly path: string;
  readonly file: string;
}

/** The local modules that a file reaches by static imports, itself included, sorted by path. Packages stay outside. */
export async function localModules(file: string, root: string): Promise<LocalModule[]> {
  const { build } = await import("esbuild");
  const { metafile } = await build({
    entryPoints: [file],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    packages: "external",
    platform: "node",
    format: "esm",
    logLevel: "silent",
    outdir: root,
  });
  const entry = relative(root, file).split(sep).join("/");
  return [...reach(metafile.inputs, entry)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((path) => ({ path, file: join(root, path) }));
}

function reach(inputs: Metafile["inputs"], entry: string): Set<string> {
  const reached = new Set<string>();
  const open = [entry];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const edge of inputs[path]?.imports ?? []) {
      if (edge.kind === "import-statement" && edge.external !== true && inputs[edge.path] !== undefined)
        open.push(edge.path);
    }
  }
  return reached;
}
