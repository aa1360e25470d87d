import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildFailure, Metafile, Plugin } from "esbuild";
import { GhoulsError, describeFailure } from "@ghouls/core";
import { digestManifest, loadConfig, type DigestManifest } from "ghouls";
import { ENTRIES, type Entry } from "../plan/functions.ts";
import { absentPackages } from "./absent.ts";
import { askedOf, copyOutside, outsideFiles } from "./outside.ts";
import { placeOf } from "./place.ts";
import { buildSources, type Sources } from "./sources.ts";
import { tryOut } from "./trial.ts";

export interface BuildOptions {
  /** Path of ghouls.config.ts. */
  readonly config: string;
  /** Folder that gets one folder for each function. What an earlier build left there is gone once this one is whole. */
  readonly out: string;
}

export interface BuiltFunction {
  readonly entry: Entry;
  /** The folder to deploy: index.mjs and its chunks. */
  readonly folder: string;
  readonly handler: "index.handler";
  /** All of its files together. */
  readonly bytes: number;
}

export interface Built {
  /** Digest over all files: the same sources give the same build. */
  readonly build: string;
  readonly functions: readonly BuiltFunction[];
  /** Digest by `<name>@<version>`, as it stands in the bundles. */
  readonly workflows: DigestManifest;
}

/**
 * Bundles the functions of a configuration, each as a folder for Lambda. The digests of its workflows are made over the
 * very texts that are bundled (design.md §5). Each is loaded once before the build takes the place of an earlier one.
 * @throws GhoulsError configuration_invalid where the configuration cannot be loaded or bundled, a bundle cannot be loaded,
 * or `out` holds something else or cannot be a folder
 */
export async function buildFunctions(options: BuildOptions): Promise<Built> {
  const { config, path: configPath, root } = await loadConfig(options.config);
  const place = await placeOf(options.out);
  const away = await mkdtemp(join(tmpdir(), "ghouls-build-"));
  try {
    const sources = buildSources();
    const workflows = await digestManifest(config, sources.read);
    const { external } = config.build;
    const parts: Parts = { configPath, root, manifest: workflows, sources, external };
    const metafiles = await Promise.all(ENTRIES.map((entry) => bundle(entry, join(away, entry), parts)));
    const outside = await outsideFiles(external, askedOf(metafiles, external, root), root);
    for (const entry of ENTRIES) await copyOutside(outside, join(away, entry));
    await tryOut(ENTRIES.map((entry) => ({ entry, folder: join(away, entry) })));
    await place.fill(away);
    const functions = await Promise.all(ENTRIES.map((entry) => builtFunction(entry, join(place.out, entry))));
    return { build: await digestOfFolders(functions), functions, workflows };
  } finally {
    await rm(away, { recursive: true, force: true });
    await place.leave();
  }
}

interface Parts {
  readonly configPath: string;
  readonly root: string;
  readonly manifest: DigestManifest;
  readonly sources: Sources;
  /** Packages that are deployed beside the bundle. */
  readonly external: readonly string[];
}

async function bundle(entry: Entry, folder: string, parts: Parts): Promise<Metafile> {
  const { build } = await import("esbuild");
  try {
    const { metafile } = await build({
      entryPoints: { index: fileURLToPath(import.meta.resolve(`@ghouls/functions/${entry}`)) },
      outdir: folder,
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
      plugins: [entrancePlugin(parts), absentPackages, parts.sources.plugin],
    });
    return metafile;
  } catch (error) {
    throw new GhoulsError("configuration_invalid", `the function ${entry} cannot be bundled`, {
      fix: `${nativeFix(error)}${describeFailure(error).message.slice(0, 1_000)}`,
      cause: error,
    });
  }
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

async function builtFunction(entry: Entry, folder: string): Promise<BuiltFunction> {
  return { entry, folder, handler: "index.handler", bytes: await bytesOf(folder) };
}

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

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

async function bytesOf(folder: string): Promise<number> {
  const files = await filesOf(folder);
  const sizes = await Promise.all(files.map(async (file) => (await readFile(join(folder, file))).byteLength));
  return sizes.reduce((total, size) => total + size, 0);
}

async function digestOfFolders(functions: readonly BuiltFunction[]): Promise<string> {
  const hash = createHash("sha256");
  for (const { entry, folder } of functions) {
    for (const file of await filesOf(folder)) {
      hash.update(`${entry}/${file}\0`).update(await readFile(join(folder, file)));
    }
  }
  return hash.digest("hex").slice(0, 32);
}
