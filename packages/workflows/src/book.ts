import { mkdir, open, readFile, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type * as z from "zod";

/** A file with a line of JSON for each entry: what is appended twice stands there twice. */

/** Opens it to write at its end, and makes its folder. */
export async function openBook(file: string): Promise<FileHandle> {
  await mkdir(dirname(file), { recursive: true });
  return open(file, "a", 0o600);
}

/** Once it has returned, a loss of power does not take the entry back. */
export async function append(book: FileHandle, entry: unknown): Promise<void> {
  // The line break comes first: half a line, of a process that was killed in its middle, spoils no other.
  await book.appendFile(`\n${JSON.stringify(entry)}`);
  await book.sync();
}

/** Every entry, in its order; half a line is none, and so is what is no entry. A file that is not there has none. */
export async function entriesOf<T>(file: string, schema: z.ZodType<T>): Promise<readonly T[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return text.split("\n").flatMap((line) => {
    const entry = schema.safeParse(parsed(line));
    return entry.success ? [entry.data] : [];
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
