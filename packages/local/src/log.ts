import { createWriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { createInterface } from "node:readline";

/** Where lines go that a person reads. */
export type Print = (line: string) => void;

/** The host's log: one line per call. Names, numbers and codes; what child processes write is passed on as it is. */
export interface HostLog {
  line(source: string, text: string): void;
  /** Passes the lines of a child's output on, until it ends. */
  follow(source: string, stream: Readable): void;
  /** Resolves when all is written. */
  close(): Promise<void>;
}

/** Moves a log that is larger than `maxBytes` to `<file>.1`, over the one that is there. */
export async function rotate(file: string, maxBytes: number): Promise<void> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > maxBytes) await rename(file, `${file}.1`);
}

/** Control characters but tab, so that a line stays a line and the terminal stays itself (S13). */
// oxlint-disable-next-line no-control-regex -- they are what is removed
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;

/**
 * A log that appends to a file, and shows each line to `print` too.
 * @param file created with mode 0600 where absent
 */
export function openLog(file: string, print: Print): HostLog {
  const stream = createWriteStream(file, { flags: "a", mode: 0o600 });
  stream.on("error", (error) => print(`host | the log file ${file} cannot be written: ${error.message}`));
  const line = (source: string, text: string): void => {
    const clean = `${source} | ${text.replaceAll(CONTROL, "?")}`;
    if (stream.writable) stream.write(`${new Date().toISOString()} ${clean}\n`);
    print(clean);
  };
  return {
    line,
    follow: (source, readable) => {
      createInterface({ input: readable }).on("line", (text) => line(source, text));
    },
    close: async () => {
      if (stream.destroyed) return;
      const closed = once(stream, "close");
      stream.end();
      await closed;
    },
  };
}
