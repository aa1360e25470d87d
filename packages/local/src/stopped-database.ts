import { join, resolve } from "node:path";
import { APPLICATION } from "./database.ts";
import { lockDataDir } from "./lock.ts";
import { openLog } from "./log.ts";
import { createOwner } from "./owner.ts";
import { startPostgres } from "./postgres.ts";
import { loadPasswords } from "./secrets.ts";

/** The database of a data folder, for a command. */
export interface StoppedDatabase {
  /** As the application's role. */
  readonly connectionString: string;
  /** Ends the server, and lets a host have the folder. */
  close(): Promise<void>;
}

/**
 * Starts the database of a data folder whose host does not run, for a command that looks into it: after a refused start there
 * is no other way to it. No host starts there meanwhile. Its schema is as the last start has left it.
 * @throws GhoulsError where a host has the folder, or the server cannot start
 */
export async function openStoppedDatabase(dataDir: string): Promise<StoppedDatabase> {
  const folder = resolve(dataDir);
  const lock = await lockDataDir(folder);
  const owner = createOwner();
  owner.defer(() => lock.release());
  try {
    const log = openLog(join(folder, "host.log"), () => undefined);
    owner.defer(() => log.close());
    const { superuser, application } = await loadPasswords(folder);
    const starting = startPostgres({ dataDir: folder, password: superuser, env: process.env, log });
    const postgres = await owner.own(starting);
    return {
      connectionString: postgres.urlFor({ name: APPLICATION, password: application }),
      close: () => owner.end(),
    };
  } catch (error) {
    await owner.end();
    throw error;
  }
}
