import { readFile } from "node:fs/promises";
import { sep } from "node:path";
import type { Plugin } from "esbuild";

/** The local modules of a build, each read once: what is digested is the very text that is bundled. */
export interface Sources {
  readonly read: (file: string) => Promise<string>;
  readonly plugin: Plugin;
}

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
          return { contents: await read(path), loader: "default" };
        });
      },
    },
  };
}
