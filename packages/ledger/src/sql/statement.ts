/**
 * A statement of the ledger. Its text names the schema as `ghouls.` everywhere; {@link bindSchema} puts the configured
 * name in its place, so that nothing relies on search_path and two applications share a database.
 */
export interface Statement {
  /** Such as "deliveries.claim": the tag in the text's first line, and the name of the prepared statement. */
  readonly name: string;
  readonly text: string;
  /** Whether a lost answer leaves the outcome unknown. */
  readonly writes: boolean;
}

/** Every statement of the ledger by name; a test has the server describe each of them. */
export const STATEMENTS = new Map<string, Statement>();

export const DEFAULT_SCHEMA = "ghouls";
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,39}$/;

export function readStatement(name: string, text: string): Statement {
  return listed({ name, text: tagged(name, text), writes: false });
}

export function writeStatement(name: string, text: string): Statement {
  return listed({ name, text: tagged(name, text), writes: true });
}

function listed(statement: Statement): Statement {
  // The name is also the name of the prepared statement: two of one name would be mistaken for each other.
  if (STATEMENTS.has(statement.name)) throw new TypeError(`two statements are called ${statement.name}`);
  STATEMENTS.set(statement.name, statement);
  return statement;
}

function tagged(name: string, text: string): string {
  return `/* ${name} */\n${text.trim()}`;
}

/** @throws TypeError for a name that would have to be quoted */
export function assertIdentifier(name: string, what: string): void {
  if (!SCHEMA_NAME.test(name)) {
    throw new TypeError(
      `${what} "${name.slice(0, 60)}" is not taken: use lower-case letters, digits and "_", at most 40`,
    );
  }
}

/** Replaces every `ghouls.` of a text by the schema's name. */
export function bindSchema(text: string, schema: string): string {
  assertIdentifier(schema, "the schema name");
  return text.replace(/\bghouls\./g, `${schema}.`);
}
