import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { canonicalText, sha256, type AnyWorkflow } from "@ghouls/core";
import * as z from "zod";
import { localModules, projectRootOf } from "./modules.ts";

const TAG = "ghouls-workflow-1";

/**
 * The digest that pins a workflow (design.md §5): over a tag, its name and version, its canonical schemas, and each local
 * module that it reaches by static imports, as it is printed with types, comments, quotes and white space normalised.
 * Names of local variables count; packages do not, their versions stand in the lock file.
 */
export async function workflowDigest(workflow: AnyWorkflow): Promise<string> {
  if (workflow.module === undefined) {
    throw new Error(
      `workflow "${workflow.name}": the module that defines it is not known; pass module: import.meta.url`,
    );
  }
  const root = projectRootOf(workflow.module);
  const modules = await localModules(workflow.module, root);
  const sources = await Promise.all(
    modules.map(async ({ path, file }) => [path, sha256(await normalised(file))]),
  );
  return sha256(
    canonicalText({
      tag: TAG,
      name: workflow.name,
      version: workflow.version,
      input: schemaOf(workflow.input),
      output: workflow.output === undefined ? null : schemaOf(workflow.output),
      modules: sources,
    }),
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
export async function normalised(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
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
