import pg from "pg";
import { afterAll, inject } from "vitest";
import { openLedger, type Ledger, type LedgerOptions } from "@ghouls/ledger";
import type { TestServer } from "./servers.ts";
import { APPLICATION, MIGRATOR, TEMPLATE } from "./template.ts";

/** A database of the test file's own, cloned from the migrated template, and connections in each role. */
export interface TestDatabase {
  readonly name: string;
  readonly applicationUrl: string;
  readonly migratorUrl: string;
  readonly adminUrl: string;
  /** As the application's role on this project's way to PostgreSQL, unless the options say otherwise; closed after the file. */
  ledger(options?: Partial<LedgerOptions>): Ledger;
  /** Where the application's role connects. */
  readonly address: { readonly host: string; readonly port: number };
  /** A connection of its own, closed after the file. */
  client(role: "admin" | "application" | "migrator"): Promise<pg.Client>;
  /** Rows of one statement as the superuser: for factories and assertions, never for what is tested. */
  admin<R extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
}

let counter = 0;

/** On the server of the whole run, or on another one that has the template; or a copy of another database, as it is now. */
export async function testDatabase(
  server: TestServer = inject("postgres"),
  template = TEMPLATE,
): Promise<TestDatabase> {
  const {
    host,
    port,
    adminPassword,
    application = { host, port },
    driver = "pg",
    neonProxy,
    preparedStatements,
  } = server;
  const name = `t_${process.pid}_${(counter += 1)}_${Math.floor(performance.now() * 1000)}`;
  const url = (user: string, password: string, database = name, at = { host, port }) =>
    `postgres://${user}:${password}@${at.host}:${at.port}/${database}`;
  const creator = new pg.Client({ connectionString: url("postgres", adminPassword, "postgres") });
  await creator.connect();
  if (template !== TEMPLATE) {
    // A copy wants nobody else there; whoever is connects anew.
    await creator.query(`alter database ${template} allow_connections false`);
    await creator.query("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = $1", [
      template,
    ]);
  }
  await creator.query(`create database ${name} template ${template}`);
  if (template !== TEMPLATE) await creator.query(`alter database ${template} allow_connections true`);
  await creator.end();

  const closers: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const database: TestDatabase = {
    name,
    address: application,
    applicationUrl: url(APPLICATION.name, APPLICATION.password, name, application),
    migratorUrl: url(MIGRATOR.name, MIGRATOR.password),
    adminUrl: url("postgres", adminPassword),
    ledger: (options = {}) => {
      const ledger = openLedger({
        connectionString: database.applicationUrl,
        driver,
        ...(neonProxy === undefined ? {} : { neonProxy }),
        ...(preparedStatements === undefined ? {} : { preparedStatements }),
        maxConnections: 4,
        chance: () => 0.5,
        ...options,
      });
      closers.push(() => ledger.close());
      return ledger;
    },
    client: async (role) => {
      const urls = {
        admin: database.adminUrl,
        application: database.applicationUrl,
        migrator: database.migratorUrl,
      };
      const client = new pg.Client({ connectionString: urls[role] });
      client.on("error", () => undefined);
      await client.connect();
      closers.push(() => client.end());
      return client;
    },
    admin: async (text, values = []) => {
      return (await adminPool.query(text, values)).rows as never;
    },
  };
  const adminPool = new pg.Pool({ connectionString: database.adminUrl, max: 2 });
  adminPool.on("connect", (client) => client.on("error", () => undefined));
  adminPool.on("error", () => undefined);
  closers.push(() => adminPool.end());
  return database;
}
