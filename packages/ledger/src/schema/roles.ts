import pg from "pg";
import { assertIdentifier } from "../sql/statement.ts";

/** The two roles of a deployment. The migrator owns the schema; the application owns nothing and has no DDL. */
export interface RoleOptions {
  readonly schema: string;
  readonly migrator: { readonly name: string; readonly password: string };
  readonly application: { readonly name: string; readonly password: string };
  /** Whether the migrator may create schemas of its own beside it, for tables that workflows write to. */
  readonly mayCreateSchemas?: boolean;
}

/**
 * Time limits of the application's role, set on the role because transaction poolers drop what a session sets: a worker
 * that is frozen in a transaction lets others through after two seconds.
 */
const APPLICATION_LIMITS = {
  statement_timeout: "15s",
  lock_timeout: "5s",
  idle_in_transaction_session_timeout: "2s",
} as const;

/** The statements that an administrator runs once, before the first migration. Passwords are quoted as literals. */
export function rolesSql(options: RoleOptions, database: string): string[] {
  const { schema, migrator, application } = options;
  for (const [what, name] of [
    ["the schema name", schema],
    ["the migrator's role", migrator.name],
    ["the application's role", application.name],
  ] as const) {
    assertIdentifier(name, what);
  }
  const role = ({ name, password }: RoleOptions["migrator"]) => [
    `do $$ begin if not exists (select from pg_roles where rolname = '${name}') then create role ${name} login; end if; end $$`,
    // Only a superuser may so much as name these, and on RDS nobody is one: a new role has none of them anyway.
    `do $$ begin if exists (select from pg_roles where rolname = '${name}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${name} nosuperuser nocreatedb nocreaterole; end if; end $$`,
    `alter role ${name} login password ${pg.escapeLiteral(password)}`,
  ];
  return [
    ...role(migrator),
    ...role(application),
    ...Object.entries(APPLICATION_LIMITS).map(
      ([name, value]) => `alter role ${application.name} set ${name} = '${value}'`,
    ),
    // Whoever gives a schema to a role must be able to become it; CREATEROLE alone is not enough since PostgreSQL 16.
    `do $$ begin if not pg_has_role('${migrator.name}', 'usage') then grant ${migrator.name} to current_user; end if; end $$`,
    `create schema if not exists ${schema} authorization ${migrator.name}`,
    `grant connect on database ${pg.escapeIdentifier(database)} to ${migrator.name}, ${application.name}`,
    ...(options.mayCreateSchemas === true
      ? [`grant create on database ${pg.escapeIdentifier(database)} to ${migrator.name}`]
      : []),
  ];
}

/** Creates roles and schema, or brings their passwords and limits up to date. Needs a superuser or CREATEROLE. */
export async function createRoles(adminConnectionString: string, options: RoleOptions): Promise<void> {
  const client = new pg.Client({ connectionString: adminConnectionString });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const database =
      (await client.query<{ name: string }>("select current_database() as name")).rows[0]?.name ?? "";
    for (const statement of rolesSql(options, database)) await client.query(statement);
  } finally {
    await client.end();
  }
}
