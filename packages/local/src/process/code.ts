import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { CodeAnswer, CodeSettings, Refusal } from "../code.ts";
import { fail, onHostGone, tell } from "ghouls/processes/channel";
import { serveModules, type ModuleTexts } from "./serve-modules.ts";

/**
 * Reads the code that a configuration reaches: `code.ts <module> <config>`. It loads the code as workers will, so that
 * what cannot be loaded is known before any of them is replaced, and answers with its texts and digests.
 */

interface Loaded extends CodeSettings {
  readonly root: string;
  readonly config: {
    readonly workflows?: readonly { readonly name: string; readonly accepts: readonly string[] }[];
  };
}

interface Exports {
  modulesOf(
    file: string,
  ): Promise<
    { readonly modules: readonly string[] } | { readonly refused: Refusal; readonly files: readonly string[] }
  >;
  loadConfig(path: string): Promise<Loaded>;
  digestManifest(config: unknown, read: (file: string) => Promise<string>): Promise<Record<string, string>>;
}

async function textsOf(files: readonly string[]): Promise<ModuleTexts> {
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(file, "utf8")] as const)),
  );
}

async function answerFor(exports: Exports, configPath: string): Promise<CodeAnswer> {
  const reached = await exports.modulesOf(configPath);
  if ("refused" in reached) return { refused: refusalOf(reached.refused), files: reached.files };
  const { modules } = reached;
  const files = await textsOf(modules);
  serveModules(files);
  const loaded = await loadedBy(exports, configPath, modules);
  if ("refused" in loaded) return loaded;
  const { queues, databaseSchema, actsMarginSeconds, leaseMs, beatMs, capacities, dev } = loaded;
  const manifest = await exports.digestManifest(loaded.config, (file) => textIn(files, file));
  // The list was made from the disk: it is that of these texts only where nothing was saved meanwhile.
  const now = await textsOf(modules);
  if (modules.some((file) => now[file] !== files[file])) return { moved: true };
  const settings = { queues, databaseSchema, actsMarginSeconds, leaseMs, beatMs, capacities, dev };
  const accepts = (loaded.config.workflows ?? []).flatMap(({ name, accepts: digests }) =>
    digests.map((digest) => ({ name, digest })),
  );
  return { code: { files, manifest, accepts, settings } };
}

function textIn(files: ModuleTexts, file: string): Promise<string> {
  const text = files[file];
  return text === undefined
    ? Promise.reject(new Error(`${file} was not among the modules`))
    : Promise.resolve(text);
}

async function loadedBy(
  exports: Exports,
  configPath: string,
  modules: readonly string[],
): Promise<Loaded | { readonly refused: Refusal; readonly files: readonly string[] }> {
  try {
    return await exports.loadConfig(configPath);
  } catch (error) {
    const refusal = refusalOf(error);
    const place = placeOf(error, modules);
    const message = place === undefined ? refusal.message : `${refusal.message} (at ${place})`;
    return { refused: { ...refusal, message }, files: modules };
  }
}

function refusalOf(error: unknown): Refusal {
  const { message, fix, issues } = error as Partial<Refusal>;
  return {
    message: message ?? String(error),
    ...(fix === undefined ? {} : { fix }),
    ...(issues === undefined ? {} : { issues }),
  };
}

/** The first place in the user's own code that an error, or what caused it, has come from: file and line. */
function placeOf(error: unknown, modules: readonly string[]): string | undefined {
  const files = new Map(modules.map((file) => [pathToFileURL(file).href, file]));
  for (let one = error; one instanceof Error; one = one.cause) {
    for (const [, url = "", line] of (one.stack ?? "").matchAll(/(file:[^\s):]*):(\d+)/g)) {
      const file = files.get(url);
      if (file !== undefined) return `${relative(process.cwd(), file)}:${line}`;
    }
  }
  return undefined;
}

async function main(): Promise<void> {
  const [module = "", configPath = ""] = process.argv.slice(2);
  onHostGone(() => process.exit(0));
  const answer = await answerFor((await import(module)) as Exports, configPath);
  tell({ type: "ready", answer });
}

await main().catch(fail);
