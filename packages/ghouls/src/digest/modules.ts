import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { GhoulsError } from "@ghouls/core";
import type { BuildFailure, Message, Metafile } from "esbuild";

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

/** The files of the local modules that a file reaches; or why nobody can tell, and in which files that may be mended. */
export type Reached =
  | { readonly modules: readonly string[] }
  | { readonly refused: GhoulsError; readonly files: readonly string[] };

/** The local modules that a file reaches, by the list that digests are made of. Never rejects for what they contain. */
export async function modulesOf(file: string): Promise<Reached> {
  const root = projectRootOf(file);
  try {
    return { modules: (await localModules(file, root)).map((module) => module.file) };
  } catch (error) {
    const messages = messagesOf(error);
    if (messages === undefined) throw error;
    const [first, ...others] = messages.map(inWords);
    return {
      refused: new GhoulsError("configuration_invalid", first ?? "a module cannot be read", {
        fix: `Correct it and save${others.length === 0 ? "" : `; then: ${others.slice(0, 4).join("; ")}`}.`,
        cause: error,
      }),
      files: messages.flatMap((message) => filesOf(message, root)),
    };
  }
}

function messagesOf(error: unknown): readonly Message[] | undefined {
  if (!(error instanceof Error) || !("errors" in error)) return undefined;
  return (error as BuildFailure).errors;
}

function inWords({ location, text }: Message): string {
  return location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`;
}

/** Where it was found, and what it names that is not there. */
function filesOf({ location, text }: Message, root: string): string[] {
  if (location === null) return [];
  const file = join(root, location.file);
  const missing = /^Could not resolve "(\.[^"]*)"/.exec(text)?.[1];
  return missing === undefined ? [file] : [file, resolve(dirname(file), missing)];
}
