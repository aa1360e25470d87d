import { readFile, realpath } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import {
  GhoulsError,
  canonicalText,
  sha256,
  workflowKey,
  type AnyWorkflow,
  type DigestBasis,
} from "@ghouls/core";
import * as z from "zod";
import { localModules, projectRootOf } from "./modules.ts";

const TAG = "ghouls-workflow-1";

/** Digests by `<name>@<version>`, made where the sources are, for a bundle that no longer has them. */
export type DigestManifest = Readonly<Record<string, string>>;

/** Gives the text of a module. */
export type ReadModule = (file: string) => Promise<string>;

const readFromDisk: ReadModule = (file) => readFile(file, "utf8");

/**
 * The manifest of a configuration: put into a bundle at its build under the alias `#manifest`.
 * @param read gives the texts; a build passes its own, so that both see the same text
 */
export async function digestManifest(
  config: { readonly workflows: readonly AnyWorkflow[] },
  read: ReadModule = readFromDisk,
): Promise<DigestManifest> {
  return Object.fromEntries(
    await Promise.all(
      config.workflows.map(
        async (workflow) => [workflowKey(workflow), await workflowDigest(workflow, read)] as const,
      ),
    ),
  );
}

/**
 * The digest of a workflow in this process: the manifest's where there is one, else computed from the sources.
 * @throws GhoulsError configuration_invalid for a workflow that the manifest lacks, and for a bundle without a manifest
 */
export async function digestOf(workflow: AnyWorkflow, manifest: DigestManifest | undefined): Promise<string> {
  const key = workflowKey(workflow);
  if (manifest !== undefined) {
    const digest = Object.hasOwn(manifest, key) ? manifest[key] : undefined;
    if (digest !== undefined) return digest;
    throw new GhoulsError("configuration_invalid", `the digest manifest has no workflow ${key}`, {
      fix: "Build the bundle anew, with the manifest of the configuration that it contains.",
    });
  }
  if (workflow.module === fileURLToPath(import.meta.url)) {
    throw new GhoulsError("configuration_invalid", "this bundle has no digest manifest", {
      fix: "Make it at the build with digestManifest(config), and bundle it under the alias #manifest.",
    });
  }
  return workflowDigest(workflow);
}

/**
 * The digest that pins a workflow (design.md §5): over a tag, its name and version, its canonical schemas, and each local
 * module that it reaches by static imports, as it is printed with types, comments, quotes and white space normalised.
 * Names of local variables count; packages do not, their versions stand in the lock file. It depends on how esbuild prints,
 * which is why that one is an exact dependency, and on how zod writes JSON Schema: the corpus beside this file holds both.
 */
export async function workflowDigest(
  workflow: AnyWorkflow,
  read: ReadModule = readFromDisk,
): Promise<string> {
  return sha256(canonicalText(await digestBasis(workflow, read)));
}

/** What the digest of a workflow is made of: its canonical JSON has the digest as its SHA-256. */
export async function digestBasis(
  workflow: AnyWorkflow,
  read: ReadModule = readFromDisk,
): Promise<DigestBasis> {
  if (workflow.module === undefined) {
    throw new Error(
      `workflow "${workflow.name}": the module that defines it is not known; pass module: import.meta.url`,
    );
  }
  return {
    tag: TAG,
    name: workflow.name,
    version: workflow.version,
    input: schemaOf(workflow.input),
    output: workflow.output === undefined ? null : schemaOf(workflow.output),
    modules: await digestsOfModules(workflow.module, read),
  };
}

/** The digest of a file's own code: of the file and each local module that it reaches by static imports, as above. */
export async function codeDigest(file: string): Promise<string> {
  return sha256(canonicalText(await digestsOfModules(await realpath(file), readFromDisk)));
}

async function digestsOfModules(entry: string, read: ReadModule): Promise<[path: string, digest: string][]> {
  const modules = await localModules(entry, projectRootOf(entry));
  return Promise.all(
    modules.map(
      async ({ path, file }) => [path, sha256(await normalised(file, await read(file)))] as [string, string],
    ),
  );
}

/** A schema as JSON Schema, as far as JSON Schema can say it; refinements stand in the module's text. */
export function schemaOf(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

const LOADERS: Readonly<Record<string, "ts" | "tsx" | "js" | "jsx">> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".jsx": "jsx",
};

/** The text of a module without what does not change its meaning. */
async function normalised(file: string, text: string): Promise<string> {
  const extension = extname(file);
  if (extension === ".json") return canonicalText(JSON.parse(text));
  const loader = LOADERS[extension];
  if (loader === undefined) return text;
  const { transform } = await import("esbuild");
  const { code } = await transform(text, {
    loader,
    format: "esm",
    target: "esnext",
    minifyWhitespace: true,
    legalComments: "none",
    charset: "utf8",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  return code;
}
