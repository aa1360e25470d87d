import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildResult, Metafile, Plugin } from "esbuild";
import type { DigestManifest } from "ghouls";
import { ENTRIES, type Entry } from "../plan/functions.ts";
import { bundling, cannotBeBundled, type BundledCode } from "./bundling.ts";

export interface Parts extends BundledCode {
  /** Real path of ghouls.config.ts. */
  readonly configPath: string;
  readonly manifest: DigestManifest;
  /** Bundles of the releases of this build. */
  readonly releases: readonly string[];
}

/**
 * Functions that are bundled in one go: what they share is read and parsed once, which is nearly all of it. What one of a
 * group does not need itself comes along where another does, so a group is of those that need nearly the same.
 */
const GROUPS: Readonly<Record<Entry, "http" | "ledger" | "releases" | "outward">> = {
  admission: "http",
  api: "http",
  events: "http",
  reconciler: "ledger",
  migrate: "ledger",
  // These read where releases lie, and a worker runs what it finds there.
  worker: "releases",
  preflight: "releases",
  // Alone: nothing of the ledger comes along.
  egress: "outward",
};

/**
 * Bundles every function into a folder of its own, named after it.
 * @throws GhoulsError configuration_invalid where something cannot be bundled
 */
export async function bundleAll(into: string, parts: Parts): Promise<Metafile[]> {
  const groups = Map.groupBy(ENTRIES, (entry) => GROUPS[entry]);
  return Promise.all([...groups.values()].map((entries) => bundle(entries, into, parts)));
}

async function bundle(entries: readonly Entry[], into: string, parts: Parts): Promise<Metafile> {
  const result = await bundled(entries, into, parts);
  const texts = new Map(result.outputFiles.map(({ path, contents }) => [basename(path), contents]));
  for (const entry of entries) {
    const folder = join(into, entry);
    await mkdir(folder, { recursive: true });
    for (const name of reached(result.metafile.outputs, `${entry}.mjs`)) {
      const text = texts.get(name);
      if (text === undefined) throw new Error(`the bundle of ${entry} has no ${name}`);
      await writeFile(join(folder, name === `${entry}.mjs` ? "index.mjs" : name), text);
    }
  }
  return result.metafile;
}

/** The files that one of several entries loads, now or later, itself included. */
function reached(outputs: Metafile["outputs"], entry: string): Set<string> {
  const imports = new Map(
    Object.entries(outputs).map(([path, output]) => [
      basename(path),
      output.imports.filter(({ external }) => external !== true).map(({ path: to }) => basename(to)),
    ]),
  );
  const found = new Set([entry]);
  for (const name of found) for (const next of imports.get(name) ?? []) found.add(next);
  return found;
}

type Bundled = BuildResult<{ write: false; metafile: true }>;

async function bundled(entries: readonly Entry[], outdir: string, parts: Parts): Promise<Bundled> {
  const { build } = await import("esbuild");
  const common = bundling(parts);
  try {
    return await build({
      ...common,
      entryPoints: Object.fromEntries(entries.map((entry) => [entry, sourceOf(entry)])),
      outdir,
      // Loaded when they are needed: an SDK is half of a cold start.
      splitting: true,
      chunkNames: "chunk-[hash]",
      plugins: [entrancePlugin(parts), hostPlugin(entries), ...common.plugins],
    });
  } catch (error) {
    throw cannotBeBundled(`the functions ${entries.join(", ")}`, error);
  }
}

function sourceOf(entry: Entry): string {
  return fileURLToPath(import.meta.resolve(`@ghouls/functions/${entry}`));
}

/**
 * What the code of a release imports of `ghouls` is for whoever loads one. Elsewhere nobody does, and the bundler would still count it
 * as used, and with it all that it names.
 */
function hostPlugin(entries: readonly Entry[]): Plugin {
  return {
    name: "ghouls-release-host",
    setup: (build) => {
      if (entries.includes("worker")) return;
      build.onResolve({ filter: /^\.\/host\.[jt]s$/ }, ({ path, importer }) =>
        /[/\\]releases[/\\]module\.[jt]s$/.test(importer) ? { path, external: true } : undefined,
      );
    },
  };
}

/** Puts the user's configuration and what the build knows behind the aliases of the handlers. */
function entrancePlugin({ configPath, manifest, releases }: Parts): Plugin {
  const known: Readonly<Record<string, unknown>> = { manifest, releases };
  return {
    name: "ghouls-entrance",
    setup: (build) => {
      build.onResolve({ filter: /^#config$/ }, () => ({ path: configPath }));
      build.onResolve({ filter: /^#(?:manifest|releases)$/ }, ({ path }) => ({
        path: path.slice(1),
        namespace: "ghouls",
      }));
      build.onLoad({ filter: /^/, namespace: "ghouls" }, ({ path }) => ({
        contents: JSON.stringify(known[path]),
        loader: "json",
      }));
    },
  };
}
