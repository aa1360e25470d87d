import { GhoulsError } from "@ghouls/core";
import { Connections, type ConnectionOptions, type Held } from "../connection/connections.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import type { Migration } from "./migrations/migration.ts";
import { DEFAULT_SCHEMA, assertIdentifier, bindSchema } from "../sql/statement.ts";

/** The migrator's connection; the application's role has no DDL. */
export interface MigrateOptions extends Pick<
  ConnectionOptions,
  | "connectionString"
  | "driver"
  | "neonProxy"
  | "password"
  | "connectTimeoutMs"
  | "connectPatienceMs"
  | "chance"
> {
  readonly schema?: string;
  readonly applicationRole?: string;
}

export interface MigrateResult {
  readonly applied: readonly { readonly number: number; readonly name: string }[];
  /** The number of the newest migration that is in place now. */
  readonly version: number;
}

export const DEFAULT_APPLICATION_ROLE = "ghouls_app";

/** What the application may do. Set anew at every migrate, so that a new role needs no migration. */
function grantsSql(schema: string, role: string): string {
  return `
grant usage on schema ${schema} to ${role};
grant select on ${schema}.migrations to ${role};
grant select, insert, update on ${schema}.workflows to ${role};
grant select, insert, update on ${schema}.releases to ${role};
grant select, insert, update on ${schema}.runs to ${role};
grant select, insert on ${schema}.labels to ${role};
grant select, insert, update on ${schema}.deliveries to ${role};
grant select, insert on ${schema}.journal to ${role};
grant select, insert, delete on ${schema}.checkpoints to ${role};
grant select, insert, update on ${schema}.containment_items to ${role};
grant select, insert, update on ${schema}.intents to ${role};
grant select, insert, update on ${schema}.undos to ${role};
grant select on ${schema}.steps_to_undo to ${role};
grant select, insert, update on ${schema}.waits to ${role};
grant select, insert, update on ${schema}.arms to ${role};
grant select, insert, update on ${schema}.consents to ${role};
grant select, insert on ${schema}.consent_decisions to ${role};
grant select, insert, update on ${schema}.signals to ${role};
grant select, insert, update on ${schema}.attempts to ${role};
grant select, insert, delete on ${schema}.child_ends to ${role};
grant select, insert, update on ${schema}.capacities to ${role};
grant select, insert, update on ${schema}.reservations to ${role};
grant select, insert on ${schema}.evidence to ${role};
grant select, insert, update on ${schema}.skips to ${role};
grant select, insert on ${schema}.audit to ${role};
grant select, update (last_used_at) on ${schema}.api_keys to ${role};
grant select on ${schema}.grants to ${role};
grant select, insert, update (lifted_at, lifted_by, lift_reason) on ${schema}.pauses to ${role};
grant select, insert, update on ${schema}.passes to ${role};
grant select, insert, update, delete on ${schema}.degraded_owners to ${role};
grant select on ${schema}.degraded_pages to ${role};
grant select, insert, delete on ${schema}.repairs to ${role};
grant select, insert, delete, update (due_at) on ${schema}.end_acts to ${role};
grant select, insert on ${schema}.terminal_records to ${role};
grant select, insert on ${schema}.seals to ${role};
grant select, update on ${schema}.seal_checks to ${role};
grant execute on function ${schema}.empty_bodies(text, uuid, integer) to ${role};
grant execute on function ${schema}.empty_steps(text, uuid, integer) to ${role};
grant select, insert,
  update (detail, seen_at, gone_at, acknowledged_at, acknowledged_by, acknowledgement, quarantine) on ${schema}.integrity_faults to ${role};
grant select, insert, update, delete on ${schema}.dead_letters to ${role};
grant select on ${schema}.doctor_open_deliveries to ${role};
grant select on ${schema}.doctor_working_runs to ${role};
grant select on ${schema}.doctor_attempts to ${role};
grant select on ${schema}.doctor_children to ${role};
grant select on ${schema}.units_in_use to ${role};
grant select on ${schema}.doctor_reservations to ${role};
grant select on ${schema}.doctor_undos to ${role};
grant select on ${schema}.doctor_contradicted_attempts to ${role};
grant select on ${schema}.doctor_terminal_runs to ${role};
grant select on ${schema}.doctor_pending_deliveries to ${role};
grant select on ${schema}.doctor_journals to ${role};
grant select on ${schema}.doctor_open_items to ${role};
grant select on ${schema}.doctor_endings to ${role};
grant select on ${schema}.doctor_waits to ${role};
grant select on ${schema}.doctor_ended_waits to ${role};
grant select on ${schema}.doctor_lost_claims to ${role};
grant select on ${schema}.doctor_quarantined_runs to ${role};
grant select on ${schema}.doctor_runs_with_attention to ${role};
`;
}

/** Even `create schema if not exists` wants CREATE on the database, which the migrator has not: its schema is there. */
function prologueSql(schema: string): string {
  return `
do $$ begin
  if not exists (select from pg_namespace where nspname = '${schema}') then create schema ${schema}; end if;
end $$;
create table if not exists ${schema}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`;
}

function stepSql(migration: Migration, schema: string): string {
  return `${bindSchema(migration.sql, schema)}
insert into ${schema}.migrations (number, name) values (${migration.number}, '${migration.name}');
`;
}

/** All of it as one script, for those who apply migrations by their own means. Runs on an empty schema. */
export function migrationSql(options: { schema?: string; applicationRole?: string } = {}): string {
  const { schema, role } = named(options);
  return [
    "begin;",
    prologueSql(schema).trim(),
    ...MIGRATIONS.map(
      (migration) => `-- ${migration.number} ${migration.name}\n${stepSql(migration, schema).trim()}`,
    ),
    grantsSql(schema, role).trim(),
    "commit;",
    "",
  ].join("\n\n");
}

/**
 * Applies what is missing, in one transaction under an advisory lock: two migrators at once apply each step once.
 * @throws GhoulsError configuration_invalid where the role may not, where the application's role is absent, or where
 *   the schema is newer than this code
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { schema, role } = named(options);
  const connections = new Connections({
    ...options,
    maxConnections: 1,
    // A migration takes as long as it takes.
    answerTimeoutMs: 0,
    applicationName: "ghouls-migrate",
  });
  const patience = connections.patience();
  try {
    const held = await connections.connect("the migration", patience);
    try {
      return await applyMissing(held, schema, role);
    } finally {
      // With whatever a failed transaction left open.
      held.release(true);
    }
  } catch (error) {
    throw readable(error, role);
  } finally {
    patience.end();
    await connections.close();
  }
}

async function applyMissing(held: Held, schema: string, role: string): Promise<MigrateResult> {
  await held.query("begin");
  const lock = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
  await held.query({ text: lock, values: [`ghouls-migrate:${schema}`] });
  await held.query(prologueSql(schema));
  const present = await held.query(`select number from ${schema}.migrations order by number`);
  const newest = Number(present.rows.at(-1)?.["number"] ?? 0);
  const known = MIGRATIONS.at(-1)?.number ?? 0;
  if (newest > known) {
    throw new GhoulsError(
      "configuration_invalid",
      `the schema is at migration ${newest}, this code knows ${known}`,
      {
        fix: "Run the newer version of ghouls.",
      },
    );
  }
  const missing = MIGRATIONS.filter((migration) => migration.number > newest);
  for (const migration of missing) await held.query(stepSql(migration, schema));
  await held.query(grantsSql(schema, role));
  const answer = await held.query("commit");
  if (answer.command !== "COMMIT") throw new Error(`the migration's COMMIT answered ${answer.command}`);
  return { applied: missing.map(({ number, name }) => ({ number, name })), version: known };
}

function named(options: { schema?: string; applicationRole?: string }): { schema: string; role: string } {
  const schema = options.schema ?? DEFAULT_SCHEMA;
  const role = options.applicationRole ?? DEFAULT_APPLICATION_ROLE;
  assertIdentifier(schema, "the schema name");
  assertIdentifier(role, "the application's role");
  return { schema, role };
}

function readable(error: unknown, role: string): unknown {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  if (code === "42501") {
    return new GhoulsError("configuration_invalid", "this role may not change the schema", {
      fix: "Give the migrator's connection string: the application's role owns nothing and has no DDL.",
      cause: error,
    });
  }
  if (code === "42704") {
    return new GhoulsError("configuration_invalid", `the application's role "${role}" does not exist`, {
      fix: `Create it (create role ${role} login), or name yours with --app-role.`,
      cause: error,
    });
  }
  return error;
}
