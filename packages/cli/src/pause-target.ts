import type { PauseTarget, wire } from "@ghouls/core";
import { InvalidArgumentError, type Command } from "commander";
import { withApi, type CommonOptions } from "./command.ts";
import { namedDatabase } from "./database.ts";
import type { ConnectionOptions } from "./dev-file.ts";
import { usageError } from "./failure.ts";
import type { Io, Stores } from "./io.ts";
import { plainText } from "./manage.ts";
import { printable } from "./printable.ts";

/** Options of a command that finds pauses by the API, or straight in a database. */
export interface PausesOptions extends CommonOptions, ConnectionOptions {
  /** True where the environment names it. */
  readonly databaseUrl?: string | true;
  readonly schema: string;
}

export interface PauseOptions extends PausesOptions {
  readonly all?: true;
  readonly workflow?: string;
  /** True for the one of the token. */
  readonly tenant?: string | true;
  readonly reason: string;
  readonly by?: string;
}

/** Adds what finds the API, or a database without one. */
export function withApiOrDatabase(command: Command): Command {
  return withApi(command)
    .option(
      "--database-url [url]",
      "straight in this database, without an API; without a value the one of DATABASE_URL or _SECRET_ARN",
    )
    .option("--schema <name>", "schema of the ledger, with --database-url", "ghouls");
}

/** Adds what a pause holds, and whose word it is. */
export function withTarget(command: Command): Command {
  return withApiOrDatabase(command)
    .argument("[id]", "run id, for a single run")
    .option("--all", "every run of the deployment; the token needs the permission deployment:pause")
    .option("--workflow <name>", "the runs of one workflow", workflowName)
    .option(
      "--tenant [name]",
      "the runs of the token's tenant; with --database-url the tenant's name, also beside --workflow",
      plainText(128),
    )
    .requiredOption("--reason <text>", "why; it is kept", plainText(1_000))
    .option(
      "--by <name>",
      "whose word it is, with --database-url (else the database's role)",
      plainText(200),
    );
}

function workflowName(text: string): string {
  if (!/^[a-z0-9][a-z0-9._-]{0,99}$/i.test(text))
    throw new InvalidArgumentError("Give the name of a workflow, such as release-gate.");
  return text;
}

/** A run, or what else is meant. @throws CommandError where that is nothing, or two things */
export function meant(id: string | undefined, options: PauseOptions): string | PauseTarget {
  const { all, workflow, tenant, databaseUrl } = options;
  const inDatabase = databaseUrl !== undefined;
  const named = [id, all, workflow, workflow === undefined || !inDatabase ? tenant : undefined];
  if (named.filter((one) => one !== undefined).length !== 1) {
    throw usageError("it must be one thing", "Give a run id, --all, --workflow <name> or --tenant.");
  }
  if (id !== undefined) {
    if (inDatabase)
      throw usageError("a single run goes by the API", "Leave --database-url out, or pause --all of it.");
    return id;
  }
  if (inDatabase && tenant === true)
    throw usageError(
      "--tenant has no name",
      "With --database-url there is no token: give the tenant's name.",
    );
  if (!inDatabase && typeof tenant === "string")
    throw usageError(
      "--tenant has a name",
      "The API knows the tenant of its token alone: leave the name out.",
    );
  if (all === true) return { scope: "all", tenantId: null, workflow: null };
  const tenantId = typeof tenant === "string" ? tenant : null;
  if (workflow !== undefined) return { scope: "workflow", tenantId, workflow };
  return { scope: "tenant", tenantId, workflow: null };
}

/** Carries something out in the database that is named. */
export async function inDatabase<T>(
  io: Io,
  { databaseUrl, schema }: PausesOptions,
  carryOut: (stores: Stores) => Promise<T>,
): Promise<T> {
  const option = databaseUrl === true ? undefined : databaseUrl;
  const database = namedDatabase(io, option, ["", "GHOULS_MIGRATION_"]);
  if (database === undefined) {
    throw usageError("no database is named", "Give --database-url a value, or set DATABASE_URL.");
  }
  const stores = io.ledger.openStores({ ...database, schema, maxConnections: 1 });
  try {
    return await carryOut(stores);
  } finally {
    await stores.close();
  }
}

/** What a pause holds, in words. */
export function held({ scope, tenantId, workflow }: PauseTarget): string {
  if (scope === "all") return "every run";
  const where = tenantId === null ? "every tenant" : `tenant ${printable(tenantId)}`;
  return workflow === null ? `every run of ${where}` : `workflow ${printable(workflow)} of ${where}`;
}

/** Who has paused it, since when and why. */
export function whose({ by, at, reason }: { by: string; at: string | Date; reason: string }): string {
  return printable(`${typeof at === "string" ? at : at.toISOString()} by ${by}: ${reason}`);
}

const SCOPES: Readonly<Record<wire.HeldBy["scope"], string>> = {
  run: "itself",
  workflow: "its workflow",
  tenant: "its tenant",
  all: "every run",
};

/** What holds a run, in words. */
export function heldBy(pause: wire.HeldBy): string {
  return `${SCOPES[pause.scope]}, since ${whose(pause)}`;
}
