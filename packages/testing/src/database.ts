import { randomBytes } from "node:crypto";
import { GhoulsError } from "@ghouls/core";
import { createScratchLedger, createScratchRoles, type ScratchLedger } from "@ghouls/ledger/scratch";

/** How a server is reached that a global setup has started; the workers of a test runner inherit the environment. */
const APPLICATION_URL = "GHOULS_TESTING_DATABASE_URL";
const MIGRATION_URL = "GHOULS_TESTING_MIGRATION_DATABASE_URL";

/** A database in which each ledger of a test has a schema of its own. */
interface Server {
  /** As whom the ledger is used. */
  readonly applicationUrl: string;
  /** As a role that may create schemas. */
  readonly migrationUrl: string;
}

interface OwnServer extends Server {
  stop(): Promise<void>;
}

/** A ledger in a schema of its own. */
export interface Database {
  readonly scratch: ScratchLedger;
  readonly applicationUrl: string;
  /** Drops the schema, and stops the server where nothing else in this process uses it. */
  readonly close: () => Promise<void>;
}

/** The server of this process, and how many ledgers are in it. */
let own: { readonly started: Promise<OwnServer>; users: number } | undefined;

/**
 * A new schema with a random name: in the database that is named, else in that of the global setup, else in DATABASE_URL,
 * else in a PostgreSQL that is started for this process.
 * @throws GhoulsError configuration_invalid where the role may not create one
 */
export async function openDatabase(
  databaseUrl: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Database> {
  const schema = `ghouls_test_${randomBytes(8).toString("hex")}`;
  const server = named(databaseUrl) ?? ofSetup(env) ?? ofEnvironment(env);
  if (server !== undefined) {
    const scratch = await scratchIn(server, schema);
    return { scratch, applicationUrl: server.applicationUrl, close: () => scratch.drop() };
  }
  const { started, leave } = enterOwn(env);
  try {
    const { applicationUrl, migrationUrl } = await started;
    const scratch = await scratchIn({ applicationUrl, migrationUrl }, schema);
    const close = async () => {
      try {
        await scratch.drop();
      } finally {
        await leave();
      }
    };
    return { scratch, applicationUrl, close };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** Starts a server for a whole run of tests, unless there is one; answers what ends it. */
export async function startForAll(env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  if ((ofSetup(env) ?? ofEnvironment(env)) !== undefined) return () => Promise.resolve();
  const server = await startOwn(env);
  env[APPLICATION_URL] = server.applicationUrl;
  env[MIGRATION_URL] = server.migrationUrl;
  return async () => {
    delete env[APPLICATION_URL];
    delete env[MIGRATION_URL];
    await server.stop();
  };
}

function named(databaseUrl: string | undefined): Server | undefined {
  return databaseUrl === undefined ? undefined : { applicationUrl: databaseUrl, migrationUrl: databaseUrl };
}

function ofSetup(env: NodeJS.ProcessEnv): Server | undefined {
  const [applicationUrl, migrationUrl] = [env[APPLICATION_URL], env[MIGRATION_URL]];
  return applicationUrl && migrationUrl ? { applicationUrl, migrationUrl } : undefined;
}

function ofEnvironment(env: NodeJS.ProcessEnv): Server | undefined {
  const applicationUrl = env["DATABASE_URL"];
  if (!applicationUrl) return undefined;
  return { applicationUrl, migrationUrl: env["GHOULS_MIGRATION_DATABASE_URL"] || applicationUrl };
}

function scratchIn({ applicationUrl, migrationUrl }: Server, schema: string): Promise<ScratchLedger> {
  const role = applicationUrl === migrationUrl ? undefined : roleOf(applicationUrl);
  return createScratchLedger({
    connectionString: migrationUrl,
    schema,
    ...(role === undefined ? {} : { applicationRole: role }),
  });
}

/** @throws GhoulsError where the URL names no user */
function roleOf(url: string): string {
  const role = URL.canParse(url) ? decodeURIComponent(new URL(url).username) : "";
  if (role !== "") return role;
  throw new GhoulsError("configuration_invalid", "the database's URL names no user", {
    fix: "Write it as postgres://user:password@host/database.",
  });
}

function enterOwn(env: NodeJS.ProcessEnv) {
  own ??= { started: startOwn(env), users: 0 };
  const entered = own;
  entered.users += 1;
  const leave = async () => {
    entered.users -= 1;
    if (entered.users > 0) return;
    if (own === entered) own = undefined;
    // One that did not start has nothing to stop, and whoever waits for it is told.
    await entered.started.then(
      (server) => server.stop(),
      () => undefined,
    );
  };
  return { started: entered.started, leave };
}

async function startOwn(env: NodeJS.ProcessEnv): Promise<OwnServer> {
  // Not loaded where a server is there: the package brings one.
  const { startThrowawayPostgres } = await import("@ghouls/local/throwaway");
  const postgres = await startThrowawayPostgres({ env });
  const password = () => randomBytes(24).toString("base64url");
  const migrator = { name: "ghouls_migrator", password: password() };
  const application = { name: "ghouls_app", password: password() };
  await createScratchRoles(postgres.adminUrl, { migrator, application });
  return {
    applicationUrl: postgres.urlFor(application),
    migrationUrl: postgres.urlFor(migrator),
    stop: () => postgres.stop(),
  };
}
