import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { RELEASE_ENTRY, type AnyWorkflow, type Release, type ReleaseFile } from "@ghouls/core";

/** The module that stands for `ghouls` in a release, beside its entry. */
export const HOST_MODULE = "./ghouls-host.mjs";

const HOSTS_KEY = "ghouls.release-hosts";
const HOSTS = Symbol.for(HOSTS_KEY);

/**
 * Imports the code of a release, and answers the workflows that it defines; those of modules that it imports only when it
 * runs are told of then. Its files are put into a folder of their own that nobody else may read, which goes at once where
 * all of it is in one module, else with this process. Rejects with what the module throws.
 */
export async function importRelease(
  files: Release["files"],
  onDefinedLater: (definition: AnyWorkflow) => void = () => undefined,
): Promise<readonly AnyWorkflow[]> {
  // Loaded when it is needed: most workers have the code of all their runs.
  const { releaseHost } = await import("./host.ts");
  const folder = await mkdtemp(join(tmpdir(), "ghouls-release-"));
  const key = randomUUID();
  const defined: AnyWorkflow[] = [];
  let isImported = false;
  const host = releaseHost((definition) =>
    isImported ? onDefinedLater(definition) : defined.push(definition),
  );
  hosts().set(key, host);
  try {
    for (const [path, file] of Object.entries(files)) await writeBelow(folder, path, file);
    await writeFile(join(folder, HOST_MODULE), hostText(key, Object.keys(host)));
    await import(pathToFileURL(join(folder, RELEASE_ENTRY)).href);
    isImported = true;
    return defined;
  } finally {
    hosts().delete(key);
    if (Object.keys(files).length === 1) await rm(folder, { recursive: true, force: true });
    else removeAtExit(folder);
  }
}

/** Folders whose code may still read files of its own. */
const folders = new Set<string>();

function removeAtExit(folder: string): void {
  if (folders.size === 0)
    process.once("exit", () => folders.forEach((one) => rmSync(one, { recursive: true, force: true })));
  folders.add(folder);
}

function hosts(): Map<string, unknown> {
  const holder = globalThis as { [HOSTS]?: Map<string, unknown> };
  return (holder[HOSTS] ??= new Map());
}

function hostText(key: string, names: readonly string[]): string {
  const list = names.join(", ");
  return `const { ${list} } = globalThis[Symbol.for("${HOSTS_KEY}")].get("${key}");\nexport { ${list} };\n`;
}

async function writeBelow(folder: string, path: string, file: ReleaseFile): Promise<void> {
  const to = join(folder, path);
  await mkdir(dirname(to), { recursive: true });
  await writeFile(to, typeof file === "string" ? file : Buffer.from(file.base64, "base64"));
}
