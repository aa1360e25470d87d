import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FaultInjector, ReleaseStore } from "@ghouls/core";

/** Bundles of releases in a folder, each as `<bundle>.json`. What is there is whole: it is written beside, and renamed. */
export function openFolderReleases(folder: string, faults: FaultInjector): ReleaseStore {
  const fileOf = (name: string): string => join(folder, `${name}.json`);
  return {
    put: async (name, bytes) => {
      await faults("releases.before-write", name);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const beside = await mkdtemp(join(folder, ".next-"));
      try {
        await writeFile(join(beside, "bundle"), bytes);
        await rename(join(beside, "bundle"), fileOf(name));
      } finally {
        await rm(beside, { recursive: true, force: true });
      }
      await faults("releases.after-write", name);
    },
    get: async (name) => {
      await faults("releases.before-read", name);
      const bytes = await readFile(fileOf(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      await faults("releases.after-read", name);
      return bytes;
    },
    delete: async (name) => {
      await faults("releases.before-delete", name);
      await rm(fileOf(name), { force: true });
      await faults("releases.after-delete", name);
    },
  };
}
