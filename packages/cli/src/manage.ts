import { durationMs, isDuration } from "@ghouls/core";
import { InvalidArgumentError, type Command } from "commander";
import { withJson, type CommonOptions } from "./command.ts";
import { namedDatabase } from "./database.ts";
import { readDevFile } from "./dev-file.ts";
import { usageError } from "./failure.ts";
import type { DatabaseConnection, Io, Stores } from "./io.ts";
import { printable } from "./printable.ts";

/** Options of a command that manages keys or grants, in the database itself. */
export interface ManageOptions extends CommonOptions {
  readonly databaseUrl?: string;
  readonly schema: string;
  readonly dataDir: string;
}

/** Adds what finds the database of the role that owns the schema. */
export function withOwnersDatabase(command: Command): Command {
  return withJson(command)
    .option(
      "--database-url <url>",
      "connection of the role that owns the schema (else GHOULS_MIGRATION_DATABASE_URL or _SECRET_ARN, else DATABASE_URL " +
        "or _SECRET_ARN, else the running `ghouls dev`)",
    )
    .option("--schema <name>", "schema of the ledger", "ghouls")
    .option("--data-dir <folder>", "data folder of `ghouls dev`", ".ghouls");
}

/** Carries something out with the keys and grants of the database that the options name. */
export async function manage<T>(
  io: Io,
  options: ManageOptions,
  carryOut: (stores: Stores) => Promise<T>,
): Promise<T> {
  const database =
    namedDatabase(io, options.databaseUrl, ["GHOULS_MIGRATION_", ""]) ??
    (await runningDatabase(io, options.dataDir));
  if (database === undefined) {
    throw usageError(
      "no database is named",
      "Start `ghouls dev` in this folder, give --database-url, or set GHOULS_MIGRATION_DATABASE_URL to the connection string " +
        "of the role that owns the schema.",
    );
  }
  const stores = io.ledger.openStores({ ...database, schema: options.schema, maxConnections: 1 });
  try {
    return await carryOut(stores);
  } finally {
    await stores.close();
  }
}

async function runningDatabase(io: Io, dataDir: string): Promise<DatabaseConnection | undefined> {
  const dev = await readDevFile(io, dataDir);
  const connectionString = dev?.migrationUrl ?? dev?.databaseUrl;
  return connectionString === undefined ? undefined : { connectionString };
}

/** A parser of how long something lasts, in milliseconds. */
export function lifetime(text: string): number {
  if (!isDuration(text) || durationMs(text) === 0) {
    throw new InvalidArgumentError('Give a whole number and a unit, such as "12h" or "90d".');
  }
  return durationMs(text);
}

/** A parser of texts that people read again, in a list and in a log. */
export function plainText(most: number): (text: string) => string {
  return (text) => {
    const plain = text.trim();
    if (plain === "" || plain.length > most || printable(plain) !== plain || !plain.isWellFormed())
      throw new InvalidArgumentError(`Give a text of one line, at most ${most} characters.`);
    return plain;
  };
}

/** Whether something that may be revoked or expire can be used. */
export function stateOf(row: { readonly revokedAt: Date | null; readonly expired: boolean }): string {
  if (row.revokedAt !== null) return "revoked";
  return row.expired ? "expired" : "usable";
}

/** What a second revocation is told of the first. */
export function revokedBefore(row: {
  readonly revokedAt: Date | null;
  readonly revokedBy: string | null;
  readonly revocationReason: string | null;
}): string {
  const when = row.revokedAt?.toISOString() ?? "";
  return `revoked before, ${when} by ${printable(`${row.revokedBy}: ${row.revocationReason}`)}\n`;
}
