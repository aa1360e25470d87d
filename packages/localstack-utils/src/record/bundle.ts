import { readFile } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import * as esbuild from "esbuild";

/** What the SST command leaves to Node when it bundles a configuration. */
const EXTERNAL = [
  "@pulumi/*",
  "@pulumiverse/*",
  "@sst-provider/*",
  "@aws-sdk/*",
  "undici",
  "esbuild",
  "archiver",
  "glob",
  "vite",
];

const BANNER = `import { createRequire as ownRequire } from "node:module";
import { fileURLToPath as ownPath } from "node:url";
const require = ownRequire(import.meta.url);
const __filename = ownPath(import.meta.url);
const __dirname = ownPath(new URL(".", import.meta.url));
`;

export interface BundleOptions {
  /** Folder of the project. */
  readonly root: string;
  readonly outfile: string;
  readonly code: string;
  readonly banner?: string;
  readonly define?: Readonly<Record<string, string>>;
  readonly inject?: readonly string[];
  /** Statements at the start of each of the project's own files, such as the import of `sst`; without them only `app` is read. */
  readonly globals?: string;
}

/** Files below this folder are the recorder's own. */
const RECORDER = import.meta.dirname;

/** Bundles a program around an sst.config.ts as the SST command does (its pkg/js, 4.17). */
export async function bundle(options: BundleOptions): Promise<void> {
  const { root, outfile, code, banner = "", define = {}, inject = [] } = options;
  await esbuild.build({
    absWorkingDir: root,
    stdin: { contents: code, resolveDir: root, sourcefile: "eval.ts", loader: "ts" },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
    sourcemap: "inline",
    logLevel: "silent",
    nodePaths: [join(root, ".sst/platform/node_modules")],
    external: EXTERNAL,
    define: { ...define },
    inject: [...inject],
    banner: { js: BANNER + banner },
    plugins: [options.globals === undefined ? refuseTopLevelImports() : injectGlobals(options.globals)],
  });
}

/** The command refuses them: a configuration is read before what it would import is installed. */
function refuseTopLevelImports(): esbuild.Plugin {
  return {
    name: "refuse-top-level-imports",
    setup: (build) => {
      build.onResolve({ filter: /.*/ }, ({ importer, kind, path }) =>
        basename(importer) === "sst.config.ts" && kind === "import-statement"
          ? { errors: [{ text: `sst.config.ts imports ${path} at its top: import it inside of run()` }] }
          : undefined,
      );
    },
  };
}

function injectGlobals(globals: string): esbuild.Plugin {
  return {
    name: "inject-globals",
    setup: (build) => {
      build.onLoad({ filter: /\.(js|ts|jsx|tsx)$/ }, async ({ path }) => {
        const foreign = [`${sep}.sst${sep}`, `${sep}node_modules${sep}`].some((part) => path.includes(part));
        if (foreign || path.startsWith(RECORDER)) return undefined;
        return { contents: `${globals}\n${await readFile(path, "utf8")}`, loader: "default" };
      });
    },
  };
}
