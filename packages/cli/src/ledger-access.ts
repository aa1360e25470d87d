import type { Command } from "commander";
import { withJson, type CommonOptions } from "./command.ts";
import { openDoctorDatabase } from "./doctor-database.ts";
import type { Io, LedgerTools } from "./io.ts";

/** Options of a command that looks into the ledger itself. */
export interface LedgerAccess extends CommonOptions {
  readonly databaseUrl?: string;
  readonly schema: string;
  readonly dataDir: string;
}

export type OpenLedger = ReturnType<LedgerTools["openLedger"]>;

/** Adds what finds the database. */
export function withLedgerAccess(command: Command): Command {
  return withJson(command)
    .option(
      "--database-url <url>",
      "the application's connection (else DATABASE_URL or DATABASE_SECRET_ARN, else the running `ghouls dev`, else the stopped one's database)",
    )
    .option("--schema <name>", "schema of the ledger", "ghouls")
    .option("--data-dir <folder>", "data folder of `ghouls dev`", ".ghouls");
}

/** Carries something out with the ledger that the options find. */
export async function inLedger<T>(
  io: Io,
  options: LedgerAccess,
  task: (ledger: OpenLedger) => Promise<T>,
): Promise<T> {
  const database = await openDoctorDatabase(io, options);
  try {
    const { schema } = options;
    const ledger = io.ledger.openLedger({ ...database.connection, schema, maxConnections: 1 });
    try {
      return await task(ledger);
    } finally {
      await ledger.close();
    }
  } finally {
    await database.close();
  }
}
