import { isBuiltin } from "node:module";
import { sep } from "node:path";
import type { Plugin } from "esbuild";

/**
 * Packages load optional ones that are not installed, and catch what that throws. Left outside, such a call throws at run
 * time, just as it does without a bundle. An import of the user's own code that leads nowhere stays an error.
 */
export const absentPackages: Plugin = {
  name: "ghouls-absent",
  setup: (build) => {
    build.onResolve({ filter: /^[^.#/]/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      const lazy = kind === "require-call" || kind === "dynamic-import";
      if (!lazy || pluginData === SEEN || isBuiltin(path)) return undefined;
      if (!importer.includes(`${sep}node_modules${sep}`)) return undefined;
      const found = await build.resolve(path, { importer, kind, resolveDir, pluginData: SEEN });
      return found.errors.length === 0 ? found : { path, external: true };
    });
  },
};

/** Marks the question that the plugin itself asks. */
const SEEN = Symbol("ghouls-absent");
