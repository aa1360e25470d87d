import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** The local modules that digests are made of, each read once: what is digested is the very text that is bundled. */
export interface Sources {
  readonly read: (file: string) => Promise<string>;
  /** Gives a bundle what has been read so far; a call for every other file would cost more than reading it. */
  readonly plugin: () => Plugin;
}

/** The same with texts that were read before. */
export function sourcesOf(given: Readonly<Record<string, string>>): Sources {
  const read = Object.entries(given).map(([file, text]) => [file, Promise.resolve(text)] as const);
  return buildSources(new Map(read));
}

export function buildSources(texts = new Map<string, Promise<string>>()): Sources {
  const read = (file: string): Promise<string> => {
    const known = texts.get(file);
    if (known !== undefined) return known;
    const text = readFile(file, "utf8");
    texts.set(file, text);
    return text;
  };
  return {
    read,
    plugin: () => ({
      name: "ghouls-sources",
      setup: (build) => {
        if (texts.size === 0) return;
        const files = [...texts.keys()].map((file) =>
          file.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`),
        );
        build.onLoad({ filter: new RegExp(`^(?:${files.join("|")})$`) }, async ({ path }) => ({
          contents: await read(path),
          loader: "default",
        }));
      },
    }),
  };
}
