import { unwatchFile, watchFile } from "node:fs";

/** Between two looks at a file, in milliseconds. */
const LOOK_MS = 200;

/**
 * Watches files by their paths. Node's polling is taken on purpose: `fs.watch` follows the inode, and so loses a file
 * that an editor replaces by a rename; its recursive form, and libraries over it, watch whole trees and run out of
 * watchers; and none of them sees changes of a mounted folder. Here only the modules of a digest are looked at, and
 * those may also be absent.
 */
export interface FileWatch {
  /** Watches exactly these from now on. */
  set(files: readonly string[]): void;
  close(): void;
}

/** @param changed called once nothing has changed any more for a moment */
export function watchFiles(changed: () => void): FileWatch {
  const watched = new Set<string>();
  let quiet: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(quiet);
    quiet = setTimeout(changed, LOOK_MS);
  };
  const set = (files: readonly string[]): void => {
    const wanted = new Set(files);
    for (const file of watched) if (!wanted.has(file)) unwatchFile(file, listen);
    for (const file of wanted) if (!watched.has(file)) watchFile(file, { interval: LOOK_MS }, listen);
    watched.clear();
    for (const file of wanted) watched.add(file);
  };
  return {
    set,
    close: () => {
      clearTimeout(quiet);
      set([]);
    },
  };
}
