import { readFile } from "node:fs/promises";
import { extname, sep } from "node:path";
import type { Loader, Plugin } from "esbuild";

/** The local modules of a build, each read once: what is digested is the very text that is bundled. */
export interface Sources {
  readonly read: (file: string) => Promise<string>;
  readonly plugin: Plugin;
}

const LOADERS: Readonly<Record<string, Loader>> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".jsx": "jsx",
  ".json": "json",
};

export function buildSources(): Sources {
  const texts = new Map<string, Promise<string>>();
  const read = (file: string): Promise<string> => {
    const known = texts.get(file);
    if (known !== undefined) return known;
    const text = readFile(file, "utf8");
    texts.set(file, text);
    return text;
  };
  return {
    read,
    plugin: {
      name: "ghouls-sources",
      setup: (build) => {
        build.onLoad({ filter: /\.([cm]?[jt]s|[jt]sx|json)$/ }, async ({ path }) => {
          if (path.includes(`${sep}node_modules${sep}`)) return undefined;
          const loader = LOADERS[extname(path)];
          return loader === undefined ? undefined : { contents: await read(path), loader };
        });
      },
    },
  };
}
