import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface WorkerBundle {
  /** The file to start. */
  readonly file: string;
  remove(): void;
}

/**
 * The worker process of the crash tests as a bundle: they start it many hundreds of times, and most of a start from the sources
 * is reading some hundred of them.
 */
export async function bundleWorker(): Promise<WorkerBundle> {
  const folder = mkdtempSync(join(tmpdir(), "ghouls-worker-"));
  await build({
    entryPoints: [fileURLToPath(new URL("../worker-process.ts", import.meta.url))],
    outdir: folder,
    bundle: true,
    // What is loaded when it is needed stays so.
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node24",
    mainFields: ["module", "main"],
    outExtension: { ".js": ".mjs" },
    external: ["esbuild", "pg-native"],
    banner: {
      js: 'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);',
    },
    sourcemap: "inline",
    logLevel: "error",
  });
  return {
    file: join(folder, "worker-process.mjs"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
