import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { NonRetryableError } from "ghouls";

/** What a file is called in messages, how large it may be, and what the reader can do where it cannot be read. */
export interface ReadLimits {
  readonly what: string;
  readonly maxBytes: number;
  readonly fix: string;
}

/**
 * Reads a text file that must be a plain file (no device, which might never end) of a bounded size.
 * @throws NonRetryableError with the reason and `fix`
 */
export async function readBounded(path: string, { what, maxBytes, fix }: ReadLimits): Promise<string> {
  try {
    const { size, isFile } = await stat(path).then((found) => ({ size: found.size, isFile: found.isFile() }));
    if (!isFile) throw new Error("it is not a file");
    if (size > maxBytes) throw new Error(`it has ${size} bytes, more than the ${maxBytes} that are read`);
    return await readFile(path, "utf8");
  } catch (error) {
    throw new NonRetryableError(`The ${what} ${path} cannot be read: ${readable(error)}. ${fix}`, {
      cause: error,
    });
  }
}

/** The SHA-256 of a text's UTF-8 bytes, in hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of its path is a file, not a folder",
  EEXIST: "a file of that name is in the way",
  EISDIR: "it is a folder",
  EACCES: "this user may not touch it",
  EPERM: "this user may not touch it",
  EROFS: "the file system is read-only",
};

/** Why a file operation failed, in words. */
export function readable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code === undefined ? undefined : REASONS[code]) ?? message;
}
