import { GhoulsError, describeFailure } from "@ghouls/core";
import type { BuildFailure, BuildOptions } from "esbuild";
import { absentPackages } from "./absent.ts";
import type { Sources } from "./sources.ts";

/** What the user's code is bundled with, whatever it becomes a part of. */
export interface BundledCode {
  /** Where paths in the result are from. */
  readonly root: string;
  readonly sources: Sources;
  /** Packages that lie beside the bundle. */
  readonly external: readonly string[];
}

/** How code for Node 24 is bundled that may lie anywhere: what Node does with it in development, it does there too. */
export function bundling({ root, sources, external }: BundledCode) {
  return {
    write: false,
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    outExtension: { ".js": ".mjs" },
    mainFields: ["module", "main"],
    // Names stay, so that a stack trace can be read.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    tsconfigRaw: AS_NODE_STRIPS,
    // Digests are made at the build; the native bindings of pg are another driver.
    external: ["esbuild", "pg-native", ...external.flatMap((name) => [name, `${name}/*`])],
    banner: { js: COMMONJS },
    // A name of the user's own stays theirs: only what nobody declares is one of these.
    define: { __dirname: "ghoulsDirname", __filename: "ghoulsFilename" },
    logLevel: "silent",
    metafile: true,
    plugins: [absentPackages, sources.plugin()],
  } as const satisfies BuildOptions;
}

/** What cannot be bundled, in the bundler's words. */
export function cannotBeBundled(what: string, error: unknown): GhoulsError {
  return new GhoulsError("configuration_invalid", `${what} cannot be bundled`, {
    fix: `${nativeFix(error)}${describeFailure(error).message.slice(0, 1_000)}`,
    cause: error,
  });
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
