import { readFile } from "node:fs/promises";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

/** The texts of local modules by their paths, as the host has read them at one moment. */
export type ModuleTexts = Readonly<Record<string, string>>;

/**
 * Gives these texts to whatever imports their files, under the same URLs: a process that starts late has the code whose
 * digests the host knows, and not what has been saved since.
 */
export function serveModules(texts: ModuleTexts): void {
  const byUrl = new Map(Object.entries(texts).map(([file, text]) => [pathToFileURL(file).href, text]));
  registerHooks({
    load: (url, context, nextLoad) => {
      const source = byUrl.get(url);
      if (source === undefined) return nextLoad(url, context);
      // Where the name does not tell its format, Node looks into the file.
      const format = context.format ?? nextLoad(url, context).format;
      return { format, source, shortCircuit: true };
    },
  });
}

/** Serves the code that the host has kept in a file, and answers with its digests, for what is made of the configuration. */
export async function givenCode(file: string | undefined): Promise<{ readonly manifest?: object }> {
  if (file === undefined) return {};
  const { files, manifest } = JSON.parse(await readFile(file, "utf8")) as {
    files: ModuleTexts;
    manifest: object;
  };
  serveModules(files);
  return { manifest };
}
