import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { NonRetryableError } from "ghouls";
import { readable } from "./files.ts";

/** A file as written. */
export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/**
 * Writes a text file whole or not at all: into a temporary file beside it, flushed to the disk, then renamed. The
 * folder is made where it is missing. Writing the same text again changes nothing. Two writers do not disturb each
 * other, as each has a temporary file of its own; one that was killed leaves its temporary file.
 * @throws NonRetryableError if the folder cannot be made or written to
 */
export async function writeAtomically(folder: string, name: string, text: string): Promise<WrittenFile> {
  const path = join(folder, name);
  const bytes = Buffer.from(text, "utf8");
  const temporary = join(folder, `.${name}.${randomUUID()}.tmp`);
  try {
    await mkdir(folder, { recursive: true });
    const file = await open(temporary, "wx");
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // e.g. where a part of the path is no folder
    throw new NonRetryableError(
      `${path} cannot be written: ${readable(error)}. Name another folder as "output" in the input.`,
      { cause: error },
    );
  }
  return { path, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}
