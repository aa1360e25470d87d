import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildFailure, BuildResult, Metafile, Plugin } from "esbuild";
import { GhoulsError, describeFailure } from "@ghouls/core";
import type { DigestManifest } from "ghouls";
import { ENTRIES, type Entry } from "../plan/functions.ts";
import { absentPackages } from "./absent.ts";
import type { Sources } from "./sources.ts";

export interface Parts {
  /** Real path of ghouls.config.ts. */
  readonly configPath: string;
  readonly root: string;
  readonly manifest: DigestManifest;
  readonly sources: Sources;
  /** Packages that are deployed beside the bundle. */
  readonly external: readonly string[];
}

/**
 * Functions that are bundled in one go: what they share is read and parsed once, which is nearly all of it. What one of a
 * group does not need itself comes along where another does, so a group is of those that need nearly the same.
 */
const GROUPS: Readonly<Record<Entry, "http" | "ledger" | "outward">> = {
  admission: "http",
  api: "http",
  worker: "ledger",
  reconciler: "ledger",
  migrate: "ledger",
  preflight: "ledger",
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
  try {
    return await build({
      entryPoints: Object.fromEntries(entries.map((entry) => [entry, sourceOf(entry)])),
      outdir,
      write: false,
      absWorkingDir: parts.root,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node24",
      // Loaded when they are needed: an SDK is half of a cold start.
      splitting: true,
      outExtension: { ".js": ".mjs" },
      chunkNames: "chunk-[hash]",
      mainFields: ["module", "main"],
      // Names stay, so that a stack trace can be read.
      minifyWhitespace: true,
      minifySyntax: true,
      legalComments: "none",
      tsconfigRaw: AS_NODE_STRIPS,
      // Digests are made at the build; the native bindings of pg are another driver.
      external: ["esbuild", "pg-native", ...parts.external.flatMap((name) => [name, `${name}/*`])],
      banner: { js: COMMONJS },
      // A name of the user's own stays theirs: only what nobody declares is one of these.
      define: { __dirname: "ghoulsDirname", __filename: "ghoulsFilename" },
      logLevel: "silent",
      metafile: true,
      plugins: [entrancePlugin(parts), absentPackages, parts.sources.plugin()],
    });
  } catch (error) {
    throw new GhoulsError("configuration_invalid", `the functions ${entries.join(", ")} cannot be bundled`, {
      fix: `${nativeFix(error)}${describeFailure(error).message.slice(0, 1_000)}`,
      cause: error,
    });
  }
}

function sourceOf(entry: Entry): string {
  return fileURLToPath(import.meta.resolve(`@ghouls/functions/${entry}`));
}

/** A binary is for the machine that loads it, beside the code that asks for it. */
function nativeFix(error: unknown): string {
  const { errors = [] } = error as Partial<BuildFailure>;
  const native = errors.find(({ text }) => text.includes('".node" files'));
  if (native === undefined) return "";
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(
    native.location?.file ?? "",
  )?.[1];
  return `${found ?? "A package"} has a binary, which cannot be bundled: name it in build: { external: ["${found ?? "…"}"] }. `;
}

/** A folder's own tsconfig.json changes nothing: Node, which runs the same code in development, reads none. */
const AS_NODE_STRIPS = { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } };

/** What CommonJS packages inside an ES module ask for. */
const COMMONJS = [
  'import { createRequire as ghoulsRequire } from "node:module";',
  'import { dirname as ghoulsDirnameOf } from "node:path";',
  'import { fileURLToPath as ghoulsPath } from "node:url";',
  "const require = ghoulsRequire(import.meta.url);",
  "const ghoulsFilename = ghoulsPath(import.meta.url);",
  "const ghoulsDirname = ghoulsDirnameOf(ghoulsFilename);",
].join("\n");

/** Puts the user's configuration and the manifest behind the two aliases of the handlers. */
function entrancePlugin({ configPath, manifest }: Parts): Plugin {
  return {
    name: "ghouls-entrance",
    setup: (build) => {
      build.onResolve({ filter: /^#config$/ }, () => ({ path: configPath }));
      build.onResolve({ filter: /^#manifest$/ }, () => ({ path: "manifest", namespace: "ghouls" }));
      build.onLoad({ filter: /^manifest$/, namespace: "ghouls" }, () => ({
        contents: JSON.stringify(manifest),
        loader: "json",
      }));
    },
  };
}
