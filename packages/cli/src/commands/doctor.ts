import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { namedDatabase } from "../database.ts";
import { readDevFile } from "../dev-file.ts";
import { verifyAll } from "./doctor-full.ts";
import { EXIT, usageError } from "../failure.ts";
import type { DatabaseConnection, Diagnosis, Io } from "../io.ts";
import { jsonText, printable, table } from "../printable.ts";

interface DoctorOptions extends CommonOptions {
  readonly databaseUrl?: string;
  readonly schema: string;
  readonly dataDir: string;
  readonly full?: true;
}

/** `ghouls doctor`: the invariants of the ledger, with the rows that break them (design.md §4). */
export function addDoctor(program: Command, context: Context): void {
  const command = withJson(program.command("doctor"))
    .description("check the invariants of the ledger; exit code 1 where one is broken")
    .option(
      "--database-url <url>",
      "the application's connection (else DATABASE_URL or DATABASE_SECRET_ARN, else the running `ghouls dev`)",
    )
    .option("--schema <name>", "schema of the ledger", "ghouls")
    .option("--data-dir <folder>", "data folder of `ghouls dev`", ".ghouls")
    .option(
      "--full",
      "also verify all terminal records and seals; keeps each fault, and quarantines its run",
    );
  const options = () => command.opts<DoctorOptions>();
  command.action(act(context, options, () => doctor(context.io, options())));
}

async function doctor(io: Io, options: DoctorOptions): Promise<number> {
  const database =
    namedDatabase(io, options.databaseUrl, [""]) ?? (await runningDatabase(io, options.dataDir));
  if (database === undefined) {
    throw usageError(
      "no database is named",
      "Start `ghouls dev` in this folder, give --database-url or set DATABASE_URL.",
    );
  }
  const ledger = io.ledger.openLedger({ ...database, schema: options.schema, maxConnections: 1 });
  let diagnoses: readonly Diagnosis[];
  let look: Awaited<ReturnType<typeof verifyAll>> | undefined;
  try {
    diagnoses = await ledger.doctor();
    if (options.full === true) look = await verifyAll(ledger);
  } finally {
    await ledger.close();
  }
  const ok = diagnoses.length > 0 && diagnoses.every((diagnosis) => diagnosis.ok) && look?.ok !== false;
  const evidence = look === undefined ? {} : { evidence: look.evidence };
  io.out(
    options.json === true
      ? `${jsonText({ ok, checks: diagnoses, ...evidence })}\n`
      : `${readable(diagnoses)}${look?.text ?? ""}`,
  );
  return ok ? EXIT.ok : EXIT.failed;
}

/** The one of the running `ghouls dev`. */
async function runningDatabase(io: Io, dataDir: string): Promise<DatabaseConnection | undefined> {
  const connectionString = (await readDevFile(io, dataDir))?.databaseUrl;
  return connectionString === undefined ? undefined : { connectionString };
}

function readable(diagnoses: readonly Diagnosis[]): string {
  const rows = diagnoses.map(({ check, ok, rows: broken }) => [
    ok ? "ok" : "BROKEN",
    String(broken.length),
    check,
  ]);
  const broken = diagnoses
    .filter(({ ok }) => !ok)
    .map(({ check, rows: found }) =>
      [`\n${printable(check)}\n`, ...found.map((row) => `  ${printable(jsonText(row))}\n`)].join(""),
    );
  return table(["RESULT", "ROWS", "CHECK"], rows) + broken.join("");
}
