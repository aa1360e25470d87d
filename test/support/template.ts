import pg from "pg";
import { createRoles, migrate } from "@ghouls/ledger";

export const TEMPLATE = "ghouls_template";
export const MIGRATOR = { name: "test_migrator", password: "migrator" };
export const APPLICATION = { name: "test_app", password: "application" };

/** The roles and the migrated template, on a new server of this machine. */
export async function createTemplate(port: number): Promise<void> {
  const admin = (database: string) => `postgres://postgres:admin@127.0.0.1:${port}/${database}`;
  await createDatabase(admin("postgres"), TEMPLATE);
  await createRoles(admin(TEMPLATE), { schema: "ghouls", migrator: MIGRATOR, application: APPLICATION });
  await migrate({
    connectionString: `postgres://${MIGRATOR.name}:${MIGRATOR.password}@127.0.0.1:${port}/${TEMPLATE}`,
    applicationRole: APPLICATION.name,
  });
}

async function createDatabase(connectionString: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
}
