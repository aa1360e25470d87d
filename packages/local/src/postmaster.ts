import { realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { GhoulsError } from "@ghouls/core";
import { commandOf, isAlive, signalIfAlive, untilGone } from "ghouls/processes/alive";
import { readIfThere } from "ghouls/processes/files";

/** The server's major version: a data folder of another one cannot be opened. */
const POSTGRES_MAJOR = "18";

/** Whether a data folder has been initialised. @throws GhoulsError where it is of another major version */
export async function isInitialised(databaseDir: string): Promise<boolean> {
  const version = await readIfThere(join(databaseDir, "PG_VERSION"));
  if (version === undefined) return false;
  if (version.trim() === POSTGRES_MAJOR) return true;
  throw new GhoulsError(
    "configuration_invalid",
    `${databaseDir} belongs to PostgreSQL ${version.trim()}, and this is PostgreSQL ${POSTGRES_MAJOR}`,
    { fix: "Take another data folder (--data-dir), or move this one away; its data is not touched." },
  );
}

/** Process number of the server that runs on a data folder, by its postmaster.pid; undefined where none does. */
export async function postmasterOf(databaseDir: string): Promise<number | undefined> {
  const file = await readIfThere(join(databaseDir, "postmaster.pid"));
  const [first = "", folder = ""] = (file ?? "").split("\n");
  const pid = Number(first);
  if (!isAlive(pid)) return undefined;
  if (!(await isSameFolder(folder, databaseDir))) return undefined;
  return /postgres/.test(await commandOf(pid)) ? pid : undefined;
}

/**
 * Ends the server that a killed host left behind, and removes a postmaster.pid that names no server of this folder:
 * its number may have been given to another process, and PostgreSQL would refuse to start.
 * @returns whether one was ended
 */
export async function endLeftover(databaseDir: string): Promise<boolean> {
  const pid = await postmasterOf(databaseDir);
  if (pid === undefined) {
    await rm(join(databaseDir, "postmaster.pid"), { force: true });
    return false;
  }
  signalIfAlive(pid, "SIGQUIT");
  if (await untilGone(pid, 10_000)) return true;
  throw new GhoulsError("internal", `a PostgreSQL server of an earlier start (process ${pid}) does not end`, {
    fix: `End process ${pid}, then start again.`,
  });
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  try {
    return (await realpath(one)) === (await realpath(other));
  } catch {
    return false;
  }
}
