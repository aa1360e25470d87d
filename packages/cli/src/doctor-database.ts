import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { namedDatabase } from "./database.ts";
import { isLeftBehind, isNoFile, readDevFile } from "./dev-file.ts";
import { usageError } from "./failure.ts";
import type { DatabaseConnection, Io } from "./io.ts";
import { loadLocalHost } from "./local-host.ts";

/** Where the doctor looks. */
export interface DoctorDatabase {
  readonly connection: DatabaseConnection;
  close(): Promise<void>;
}

/**
 * The database that an option or the environment names; else that of the running `ghouls dev`; else, where none runs, the one
 * that lives in its data folder, started for as long as this takes: a start that was refused has left no other way to it.
 * @throws CommandError where there is none
 */
export async function openDoctorDatabase(
  io: Io,
  { databaseUrl, dataDir }: { readonly databaseUrl?: string; readonly dataDir: string },
): Promise<DoctorDatabase> {
  const connection = namedDatabase(io, databaseUrl, [""]) ?? (await runningDatabase(io, dataDir));
  if (connection !== undefined) return { connection, close: () => Promise.resolve() };
  const folder = resolve(io.cwd, dataDir);
  if (await isThere(join(folder, "postgres"))) {
    const local = await loadLocalHost(io);
    const stopped = await local.openStoppedDatabase(folder);
    return {
      connection: { connectionString: stopped.connectionString },
      close: () => stopped.close(),
    };
  }
  throw usageError(
    `no database is named, and there is none of \`ghouls dev\` in ${folder}`,
    "Start `ghouls dev` in this folder, name its data folder with --data-dir, give --database-url or set DATABASE_URL.",
  );
}

async function runningDatabase(io: Io, dataDir: string): Promise<DatabaseConnection | undefined> {
  const dev = await readDevFile(io, dataDir);
  if (dev?.databaseUrl === undefined || isLeftBehind(dev)) return undefined;
  return { connectionString: dev.databaseUrl };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isNoFile(error)) return false;
    throw error;
  }
}
