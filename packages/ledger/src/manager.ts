import { GhoulsError } from "@ghouls/core";
import type { Executor, Row } from "./connection/database.ts";
import { LedgerError } from "./connection/errors.ts";
import type { Statement } from "./sql/statement.ts";

/**
 * Carries out what only the role that owns the schema may: the application's only reads keys and grants, else what it runs
 * could make itself one.
 * @throws GhoulsError configuration_invalid where this role may not
 */
export async function asManager(
  executor: Executor,
  what: "keys" | "grants",
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  try {
    return await executor.run(statement, values);
  } catch (error) {
    if (!(error instanceof LedgerError) || error.sqlState !== "42501") throw error;
    throw new GhoulsError("configuration_invalid", `this role may not manage ${what}`, {
      fix: `Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads ${what}.`,
      cause: error,
    });
  }
}
