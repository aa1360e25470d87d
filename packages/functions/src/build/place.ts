import { cpSync } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { GhoulsError, describeFailure } from "@ghouls/core";

/** Marks a folder as one that a build may replace, and says what it is. */
export const MARK = ".ghouls-build";

/** Where a build goes: what an earlier one left stays until the next is whole. */
export interface Place {
  /** The folder itself, without links on the way. */
  readonly out: string;
  /** Puts a folder's content there, in the place of what was there, with these words in its mark. */
  fill(from: string, mark: string): Promise<void>;
  /** Takes away what is there for the time of the build only. */
  leave(): Promise<void>;
}

/**
 * Looks before anything is built whether a build may go there.
 * @throws GhoulsError configuration_invalid where it holds something else, or cannot be a folder
 */
export async function placeOf(path: string): Promise<Place> {
  try {
    const out = await folderAt(resolve(path));
    // On the same disk, so that it takes the other's place in one step.
    const beside = await mkdtemp(join(dirname(out), `${basename(out)}.next-`));
    return {
      out,
      fill: (from, mark) => swapped(from, mark, { out, beside }),
      leave: () => rm(beside, { recursive: true, force: true }),
    };
  } catch (error) {
    throw asRefusal(path, error);
  }
}

/** The folder with its parents, of which the last one exists afterwards. */
async function folderAt(path: string): Promise<string> {
  const kind = await kindOf(path);
  if (kind === undefined) return join(await parentAt(dirname(path)), basename(path));
  if (kind === "other") throw refused(`${path} is no folder`);
  const names = await readdir(path);
  if (names.length > 0 && !names.includes(MARK)) {
    throw refused(`${path} is not empty, and no build made it`, "Name an empty folder with --out.");
  }
  return realpath(path);
}

/** One folder after the other: made all at once, Node waits for ever where there can be none (`/proc/x`). */
async function parentAt(path: string): Promise<string> {
  const kind = await kindOf(path);
  if (kind === "other") throw refused(`${path} is no folder`);
  if (kind === "folder") return realpath(path);
  const made = join(await parentAt(dirname(path)), basename(path));
  await mkdir(made);
  return made;
}

async function kindOf(path: string): Promise<"folder" | "other" | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  return found.isDirectory() ? "folder" : "other";
}

async function swapped(
  from: string,
  mark: string,
  { out, beside }: { readonly out: string; readonly beside: string },
): Promise<void> {
  const [next, before] = [join(beside, "next"), join(beside, "before")];
  // In one call: file by file, the other one takes a second for a thousand files.
  cpSync(from, next, { recursive: true });
  await writeFile(join(next, MARK), mark);
  const there = (await kindOf(out)) !== undefined;
  try {
    if (there) await rename(out, before);
    await rename(next, out);
  } catch (error) {
    if ((await kindOf(out)) === undefined && there) await rename(before, out);
    throw asRefusal(out, error);
  }
}

function asRefusal(path: string, error: unknown): GhoulsError {
  if (error instanceof GhoulsError) return error;
  return refused(`nothing can be put at ${path}: ${describeFailure(error).message}`);
}

function refused(what: string, fix = "Name another folder with --out, such as one below it."): GhoulsError {
  return new GhoulsError("configuration_invalid", what, { fix });
}
