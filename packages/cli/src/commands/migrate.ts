import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { namedDatabase } from "../database.ts";
import { EXIT, usageError } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText, printable } from "../printable.ts";

interface MigrateOptions extends CommonOptions {
  readonly databaseUrl?: string;
  readonly schema: string;
  readonly appRole: string;
  readonly print?: boolean;
}

/** `ghouls migrate`: brings the ledger's schema up to this version. */
export function addMigrate(program: Command, context: Context): void {
  const command = withJson(program.command("migrate"))
    .description("bring the schema of the ledger up to this version")
    .option(
      "--database-url <url>",
      "the migrator's connection (else GHOULS_MIGRATION_DATABASE_URL or _SECRET_ARN, else DATABASE_URL or _SECRET_ARN)",
    )
    .option("--schema <name>", "schema of the ledger", "ghouls")
    .option("--app-role <name>", "role that the application connects as", "ghouls_app")
    .option("--print", "print the SQL of an empty schema and touch no database");
  const options = () => command.opts<MigrateOptions>();
  command.action(act(context, options, () => migrate(context.io, options())));
}

async function migrate(io: Io, options: MigrateOptions): Promise<number> {
  const { schema, appRole: applicationRole } = options;
  if (options.print === true) {
    const sql = io.ledger.migrationSql({ schema, applicationRole });
    io.out(options.json === true ? `${jsonText({ sql })}\n` : sql.endsWith("\n") ? sql : `${sql}\n`);
    return EXIT.ok;
  }
  const database = namedDatabase(io, options.databaseUrl, ["GHOULS_MIGRATION_", ""]);
  if (database === undefined) {
    throw usageError(
      "no database is named",
      "Give --database-url, or set GHOULS_MIGRATION_DATABASE_URL to the connection string of the role that owns the schema " +
        "(or GHOULS_MIGRATION_DATABASE_SECRET_ARN to a secret that holds it).",
    );
  }
  const { applied } = await io.ledger.migrate({ ...database, schema, applicationRole });
  if (options.json === true) io.out(`${jsonText({ schema, applied })}\n`);
  else if (applied.length === 0) io.out(`The schema ${printable(schema)} is up to date.\n`);
  else for (const { number, name } of applied) io.out(`applied ${number} ${printable(name)}\n`);
  return EXIT.ok;
}
