import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

const DRAFT = ".draft";

/**
 * Writes a file whole or not at all, and so that a loss of power does not take it away again: the bytes are flushed before the
 * name is given, and the name after it. Only its owner may read it.
 */
export async function writeDurably(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}${DRAFT}`;
  await using opened = await open(draft, "wx", 0o600);
  await opened.writeFile(text);
  await opened.sync();
  await rename(draft, file);
  await syncFolder(dirname(file));
}

async function syncFolder(folder: string): Promise<void> {
  await using opened = await open(folder, "r");
  await opened.sync();
}

/** The text of a file; undefined where there is none. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Makes a folder that only its owner may read, and takes away the drafts of a process that was killed while it wrote.
 * @returns the names of its files
 */
export async function openFolder(folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  const drafts = names.filter((name) => name.endsWith(DRAFT));
  await Promise.all(drafts.map((name) => rm(join(folder, name), { force: true })));
  return names.filter((name) => !name.endsWith(DRAFT));
}
