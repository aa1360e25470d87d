import pg from "pg";
import { afterAll, inject } from "vitest";
import { APPLICATION, MIGRATOR } from "./template.ts";

/** A database without the migrations, whose schema belongs to the migrator as an administrator's first step leaves it. */
export interface EmptyDatabase {
  readonly name: string;
  readonly applicationUrl: string;
  readonly migratorUrl: string;
  readonly adminUrl: string;
  admin<R extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
  migrator<R extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
}

let counter = 0;

export async function emptyDatabase(schema: string | null = "ghouls"): Promise<EmptyDatabase> {
  const { host, port, adminPassword } = inject("postgres");
  const name = `e_${process.pid}_${(counter += 1)}_${Math.floor(performance.now() * 1000)}`;
  const url = (user: string, password: string, database = name) =>
    `postgres://${user}:${password}@${host}:${port}/${database}`;
  const creator = await connected(url("postgres", adminPassword, "postgres"));
  await creator.query(`create database ${name}`);
  await creator.end();
  const admin = await connected(url("postgres", adminPassword));
  if (schema !== null) await admin.query(`create schema ${schema} authorization ${MIGRATOR.name}`);
  const migrator = await connected(url(MIGRATOR.name, MIGRATOR.password));
  afterAll(async () => {
    await migrator.end();
    await admin.end();
  });
  return {
    name,
    applicationUrl: url(APPLICATION.name, APPLICATION.password),
    migratorUrl: url(MIGRATOR.name, MIGRATOR.password),
    adminUrl: url("postgres", adminPassword),
    admin: async (text, values) => (await admin.query(text, values)).rows as never,
    migrator: async (text, values) => (await migrator.query(text, values)).rows as never,
  };
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}
