import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import type { BuildResult, Plugin } from "esbuild";
import {
  GhoulsError,
  RELEASE_ENTRY,
  canonicalText,
  releaseText,
  sha256,
  workflowKey,
  type AnyWorkflow,
  type Release,
  type ReleaseFile,
} from "@ghouls/core";
import { HOST_MODULE, digestBasis, type DigestManifest } from "ghouls";
import { bundling, cannotBeBundled, type BundledCode } from "./bundling.ts";
import { lastWords, runElsewhere } from "./elsewhere.ts";
import { askedOf, copyOutside, outsideFiles } from "./outside.ts";

/** A release that a build has made. */
export interface MadeRelease {
  readonly workflow: Release["workflow"];
  /** SHA-256 of its text, and its name in a store. */
  readonly bundle: string;
  readonly text: string;
}

export interface ReleaseParts extends BundledCode {
  /** Those whose releases are made. */
  readonly workflows: readonly AnyWorkflow[];
  /** Those of the configuration. */
  readonly all: readonly AnyWorkflow[];
  readonly manifest: DigestManifest;
}

type Bundled = BuildResult<{ write: false; metafile: true }>;

/**
 * Bundles the code of workflows, each for itself (design.md §5, Releases): the same code is the same text. Each is loaded once as a
 * worker would load it.
 * @throws GhoulsError configuration_invalid for what cannot be bundled or loaded, or whose module does not define its workflow
 */
export async function makeReleases(parts: ReleaseParts): Promise<MadeRelease[]> {
  const { workflows, all, manifest, sources } = parts;
  if (workflows.length === 0) return [];
  const contents = await Promise.all(workflows.map((workflow) => contentsOf(workflow, parts)));
  const defined = await tryReleases(
    workflows,
    contents.map(({ files }) => files),
  );
  for (const [index, keys] of defined.entries()) {
    for (const one of all) {
      const times = keys.filter((key) => key === workflowKey(one)).length;
      // Of two, a worker could not tell which is meant.
      if (times > 1 || (times === 0 && one === workflows[index])) throw notDefined(one, times);
    }
  }
  return Promise.all(
    workflows.map(async (definition, index): Promise<MadeRelease> => {
      const { name, version, onWorkerLoss, deadlineMs } = definition;
      const digest = manifest[workflowKey(definition)] ?? "";
      const { files = {}, modules = new Set() } = contents[index] ?? {};
      // Also what its code defines only once it runs.
      const later = all.filter(({ module = "" }) => modules.has(module)).map(workflowKey);
      const defines = [...(defined[index] ?? []), ...later].flatMap((key) =>
        Object.hasOwn(manifest, key) ? [[key, manifest[key] ?? ""] as const] : [],
      );
      const workflow = { name, version, digest, onWorkerLoss, deadlineMs: deadlineMs ?? null };
      const basis = await digestBasis(definition, sources.read);
      if (sha256(canonicalText(basis)) !== digest) throw movedMeanwhile(definition);
      const text = releaseText({
        workflow,
        basis,
        defines: Object.fromEntries(defines),
        files,
      });
      return { workflow, bundle: sha256(text), text };
    }),
  );
}

interface Contents {
  readonly files: Release["files"];
  /** All that its code may come to import, as absolute paths. */
  readonly modules: ReadonlySet<string>;
}

/** One build for each: what they share would be cut by which others there are, and the same code would not be the same text. */
async function contentsOf(workflow: AnyWorkflow, parts: ReleaseParts): Promise<Contents> {
  const { external, root } = parts;
  const { metafile, outputFiles } = await bundled(workflow, parts);
  const files = outputFiles.map(
    ({ path, contents }) => [basename(path), fileOf(Buffer.from(contents))] as const,
  );
  const own = Object.fromEntries(files);
  const modules = new Set(Object.keys(metafile.inputs).map((path) => resolve(root, path)));
  if (external.length === 0) return { files: own, modules };
  const asked = askedOf([metafile], external, root);
  const named = external.filter((one) => asked.some(({ specifier }) => isOf(specifier, one)));
  return { files: { ...own, ...(await besides(await outsideFiles(named, asked, root))) }, modules };
}

function isOf(specifier: string, name: string): boolean {
  return specifier === name || specifier.startsWith(`${name}/`);
}

async function bundled(workflow: AnyWorkflow, parts: ReleaseParts): Promise<Bundled> {
  const { build } = await import("esbuild");
  const common = bundling(parts);
  try {
    return await build({
      ...common,
      entryPoints: { [basename(RELEASE_ENTRY, ".mjs")]: ENTRY },
      outdir: parts.root,
      // What is imported later is initialised later: in one file, a module without side effects would not be in time.
      splitting: true,
      chunkNames: "chunk-[hash]",
      plugins: [entrance(workflow), ...common.plugins],
    });
  } catch (error) {
    throw cannotBeBundled(`the code of ${workflowKey(workflow)}`, error);
  }
}

const ENTRY = "ghouls-release";

/** An entrance that takes the whole module of a workflow; and what stands for `ghouls` in it. */
function entrance({ module = "" }: AnyWorkflow): Plugin {
  return {
    name: ENTRY,
    setup: (build) => {
      build.onResolve({ filter: /^ghouls-release$/ }, ({ path }) => ({ path, namespace: ENTRY }));
      build.onLoad({ filter: /^/, namespace: ENTRY }, () => ({
        contents: `export * as code from ${JSON.stringify(module)};`,
        resolveDir: "/",
        loader: "js",
      }));
      build.onResolve({ filter: /^ghouls$/ }, () => ({ path: HOST_MODULE, external: true }));
    },
  };
}

async function besides(outside: Parameters<typeof copyOutside>[0]): Promise<Record<string, ReleaseFile>> {
  if (outside.length === 0) return {};
  const folder = await mkdtemp(join(tmpdir(), "ghouls-beside-"));
  try {
    copyOutside(outside, folder);
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    return Object.fromEntries(
      paths.map((path) => [relative(folder, path).split("\\").join("/"), fileOf(readFileSync(path))]),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function fileOf(bytes: Buffer): ReleaseFile {
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : { base64: bytes.toString("base64") };
}

const TRY = `import { readFileSync } from "node:fs";
const { importRelease } = await import(given.ghouls);
for (const file of given.files) {
  try {
    const defined = await importRelease(JSON.parse(readFileSync(file, "utf8")));
    say({ defined: defined.map(({ name, version }) => name + "@" + version) });
  } catch (error) {
    say({ words: wordsOf(error) });
  }
}
`;
const PATIENCE_MS = 60_000;

/** Loads each as a worker does, and answers what it defines. */
async function tryReleases(
  workflows: readonly AnyWorkflow[],
  all: readonly Release["files"][],
): Promise<readonly (readonly string[])[]> {
  const folder = await mkdtemp(join(tmpdir(), "ghouls-release-"));
  try {
    const files = all.map((one, index) => {
      const file = join(folder, `${index}.json`);
      writeFileSync(file, JSON.stringify(one));
      return file;
    });
    const given = { ghouls: import.meta.resolve("ghouls"), files };
    const { said, stderr, end } = await runElsewhere<{ defined?: string[]; words?: string }>(
      TRY,
      given,
      PATIENCE_MS,
    );
    return workflows.map((definition, index) => {
      const { defined, words } = said[index] ?? { words: lastWords(stderr, end) };
      if (defined === undefined) throw cannotBeLoaded(workflowKey(definition), words ?? "");
      return defined;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function cannotBeLoaded(key: string, words: string): GhoulsError {
  const missing = /does not provide an export named '(\w+)'/.exec(words)?.[1];
  return new GhoulsError("configuration_invalid", `the code of ${key} cannot be loaded by itself: ${words}`, {
    fix:
      missing !== undefined && words.includes("ghouls-host")
        ? `Import "${missing}" of ghouls in the configuration, or elsewhere than where a workflow is defined: a worker of later code has only what workflows are made with.`
        : 'Only what it imports is there, or deployed beside it: a package that reads files of its own, or loads others by name, belongs into build: { external: ["…"] } of ghouls.config.ts.',
  });
}

function notDefined({ name, version, module }: AnyWorkflow, times: number): GhoulsError {
  return new GhoulsError(
    "configuration_invalid",
    `the module of workflow "${name}" version ${version} (${module}) defines it ${times} times when it is imported by itself`,
    {
      fix: "Call workflow() once at the top of a module; where a function of yours calls it, pass module: import.meta.url of the module that calls that function at its top.",
    },
  );
}

function movedMeanwhile(definition: AnyWorkflow): GhoulsError {
  return new GhoulsError(
    "configuration_invalid",
    `the code of ${workflowKey(definition)} was saved meanwhile`,
    {
      fix: "Do it again.",
    },
  );
}
