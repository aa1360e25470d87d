import { GhoulsError } from "@ghouls/core";
import type { HostLog, Print } from "./log.ts";
import type { LedgerParts } from "./parts.ts";
import { startPostgres } from "./postgres.ts";
import type { ProcessEnd } from "ghouls/processes/child";
import { checkReachableByPostgres } from "./reachable.ts";
import { loadPasswords } from "./secrets.ts";
import type { ProcessEntry } from "./state.ts";

/** A database that is migrated, or that its owner says is. */
export interface Database {
  /** As the application's role. */
  readonly url: string;
  /** As the role that owns the schema; undefined where nobody has named it. */
  readonly migrationUrl: string | undefined;
  readonly processes: readonly ProcessEntry[];
  /** Where it is embedded: resolves when it has ended. */
  readonly ended: Promise<ProcessEnd> | undefined;
  stop(): Promise<void>;
  kill(): void;
}

export interface DatabaseOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly dataDir: string;
  readonly log: HostLog;
  readonly print: Print;
  readonly ledger: LedgerParts;
  /** Known only when the configuration is loaded, which goes on meanwhile. */
  readonly schema: Promise<string>;
}

const MIGRATOR = "ghouls_migrator";
export const APPLICATION = "ghouls_app";

/** The database of DATABASE_URL, or else an embedded one in the data folder. */
export function openDatabase(options: DatabaseOptions): Promise<Database> {
  const url = options.env["DATABASE_URL"];
  return url === undefined || url === "" ? embedded(options) : external(options, url);
}

async function embedded(options: DatabaseOptions): Promise<Database> {
  if (process.getuid?.() === 0) await checkReachableByPostgres(options.dataDir);
  const passwords = await loadPasswords(options.dataDir);
  const postgres = await startPostgres({ ...options, password: passwords.superuser });
  try {
    const schema = await options.schema;
    const migrator = { name: MIGRATOR, password: passwords.migrator };
    const application = { name: APPLICATION, password: passwords.application };
    await options.ledger.createRoles(postgres.adminUrl, {
      schema,
      migrator,
      application,
      mayCreateSchemas: true,
    });
    await options.ledger.migrate({
      connectionString: postgres.urlFor(migrator),
      schema,
      applicationRole: application.name,
    });
    return {
      url: postgres.urlFor(application),
      migrationUrl: postgres.urlFor(migrator),
      processes: [
        { role: "postgres", pid: postgres.pid },
        { role: "postgres-keeper", pid: postgres.keeperPid },
      ],
      ended: postgres.ended,
      stop: () => postgres.stop(),
      kill: () => postgres.kill(),
    };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

async function external(options: DatabaseOptions, url: string): Promise<Database> {
  const migrationUrl = options.env["GHOULS_MIGRATION_DATABASE_URL"];
  if (migrationUrl === undefined || migrationUrl === "") {
    options.print(
      "DATABASE_URL is used as it is; its schema is not touched. Bring it up to date with `npx ghouls migrate`, " +
        "or set GHOULS_MIGRATION_DATABASE_URL to a role that may, and it is done at each start.",
    );
  } else {
    await options.ledger.migrate({
      connectionString: migrationUrl,
      schema: await options.schema,
      applicationRole: roleOf(url),
    });
  }
  return {
    url,
    migrationUrl: migrationUrl || undefined,
    processes: [],
    ended: undefined,
    stop: () => Promise.resolve(),
    kill: () => undefined,
  };
}

/** @throws GhoulsError where the URL names no user */
function roleOf(url: string): string {
  const user = URL.canParse(url) ? decodeURIComponent(new URL(url).username) : "";
  if (user !== "") return user;
  throw new GhoulsError("configuration_invalid", "DATABASE_URL names no user", {
    fix: "Write it as postgres://user:password@host/database.",
  });
}
