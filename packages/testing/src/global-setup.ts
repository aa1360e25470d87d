import { startForAll } from "./database.ts";

/**
 * One PostgreSQL for a whole run of vitest, in which each test file has a schema of its own:
 * `globalSetup: ["@ghouls/testing/global-setup"]`. Where DATABASE_URL names a database, nothing is started.
 * @returns what stops it
 */
export default function setup(): Promise<() => Promise<void>> {
  return startForAll(process.env);
}
