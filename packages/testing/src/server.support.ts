import { afterAll, vi } from "vitest";
import { testDatabase, type TestDatabase } from "../../../test/support/database.ts";

/** Lets the kit find a database on the server of the whole run by its environment, with the two roles of a deployment. */
export async function databaseOfTheRun(): Promise<TestDatabase> {
  const db = await testDatabase();
  await db.admin(`grant create on database ${db.name} to test_migrator`);
  vi.stubEnv("DATABASE_URL", db.applicationUrl);
  vi.stubEnv("GHOULS_MIGRATION_DATABASE_URL", db.migratorUrl);
  afterAll(() => {
    vi.unstubAllEnvs();
  });
  return db;
}
