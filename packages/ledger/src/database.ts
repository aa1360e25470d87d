import pg from "pg";
import type { FaultInjector } from "@ghouls/core";
import { noFaults } from "@ghouls/core";
import { LedgerError, classify } from "./errors.ts";
import { DEFAULT_SCHEMA, bindSchema, type Statement } from "./statement.ts";

export interface DatabaseOptions {
  readonly connectionString: string;
  /** Name of the schema; "ghouls" by default. */
  readonly schema?: string;
  /** Connections of this process; 2 by default. */
  readonly maxConnections?: number;
  /** Milliseconds to wait for a connection; 5,000 by default. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds to wait for an answer, 20,000 by default: longer than the role's statement_timeout, so it means a lost one. */
  readonly answerTimeoutMs?: number;
  /** Named statements, parsed once per connection. Off behind a transaction pooler that does not keep them. */
  readonly preparedStatements?: boolean;
  readonly faults?: FaultInjector;
  /** Chance in [0, 1) for the spread of retries; the middle where absent. */
  readonly chance?: () => number;
  readonly applicationName?: string;
}

export type Row = Record<string, unknown>;

/** Something that carries out one statement: a pooled connection for each, or one inside a transaction. */
export interface Executor {
  run(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

const TRIES = 4;

/** The pool, the schema's name, and the one place where statements are sent and their failures are typed. */
export class Database implements Executor {
  readonly schema: string;
  readonly #pool: pg.Pool;
  readonly #prepared: boolean;
  readonly #faults: FaultInjector;
  readonly #chance: () => number;
  readonly #bound = new Map<string, string>();

  constructor(options: DatabaseOptions) {
    this.schema = options.schema ?? DEFAULT_SCHEMA;
    bindSchema("", this.schema);
    this.#prepared = options.preparedStatements ?? true;
    this.#faults = options.faults ?? noFaults;
    this.#chance = options.chance ?? (() => 0.5);
    this.#pool = new pg.Pool({
      connectionString: options.connectionString,
      max: options.maxConnections ?? 2,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
      query_timeout: options.answerTimeoutMs ?? 20_000,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
      application_name: options.applicationName ?? "ghouls",
    });
    // Without these a backend that is killed while idle or checked out would end this process.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
    this.#pool.on("error", () => undefined);
  }

  /**
   * Carries out one statement in a transaction of its own. A statement of ours is guarded, so it is repeated within a
   * bound where it was rolled back or where its outcome is unknown; the caller reads zero rows as "it was there already,
   * or the race is lost" and reads back under its guard.
   * @throws LedgerError
   */
  async run(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    let unknown = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(statement, values);
      } catch (error) {
        unknown ||= error instanceof LedgerError && error.kind === "unknown";
        if (!(error instanceof LedgerError) || !isRepeatable(error) || attempt >= triesOf(error)) {
          // An earlier try may have been committed, whatever the last one met.
          throw unknown && error instanceof LedgerError && error.kind !== "unknown"
            ? new LedgerError("unknown", statement.name, error.sqlState, error)
            : error;
        }
        await delay(25 * 4 ** (attempt - 1) * (0.5 + this.#chance()));
      }
    }
  }

  async #once(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.#connect(statement.name);
    let broken = true;
    try {
      const rows = await this.#send(client, statement, values);
      broken = false;
      return rows;
    } catch (error) {
      broken = !(error instanceof LedgerError) || error.sqlState === undefined;
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #connect(what: string): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw new LedgerError("unavailable", what, classify(error, false).sqlState, error);
    }
  }

  async #send(client: pg.PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      await this.#faults("ledger.before-statement", statement.name);
      const result = await client.query<Row>({
        text: this.#textOf(statement),
        values: [...values],
        ...(this.#prepared ? { name: statement.name } : {}),
      });
      await this.#faults("ledger.after-statement", statement.name);
      return result.rows;
    } catch (error) {
      const { kind, sqlState } = classify(error, statement.writes);
      throw new LedgerError(kind, statement.name, sqlState, error);
    }
  }

  #textOf(statement: Statement): string {
    let text = this.#bound.get(statement.name);
    if (text === undefined) {
      text = bindSchema(statement.text, this.schema);
      this.#bound.set(statement.name, text);
    }
    return text;
  }

  /**
   * Carries out several statements in one READ COMMITTED transaction. Nothing but these statements runs inside it.
   * @throws LedgerError `unknown` where the COMMIT's answer was lost, `defect` where COMMIT answered ROLLBACK
   */
  async transaction<T>(what: string, body: (executor: Executor) => Promise<T>): Promise<T> {
    const client = await this.#connect(what);
    let broken = true;
    try {
      await this.#begin(client, what);
      const value = await body({ run: (statement, values) => this.#send(client, statement, values) });
      await this.#commit(client, what);
      broken = false;
      return value;
    } catch (error) {
      // A connection that is lost, or whose rollback fails, is thrown away with whatever it held.
      const lost = error instanceof LedgerError && error.sqlState === undefined;
      broken =
        lost ||
        (await client.query("rollback").then(
          () => false,
          () => true,
        ));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #begin(client: pg.PoolClient, what: string): Promise<void> {
    try {
      await client.query("begin isolation level read committed");
    } catch (error) {
      const { kind, sqlState } = classify(error, false);
      throw new LedgerError(kind, `${what}: begin`, sqlState, error);
    }
  }

  async #commit(client: pg.PoolClient, what: string): Promise<void> {
    let tag: string;
    try {
      await this.#faults("ledger.before-commit", what);
      tag = (await client.query("commit")).command;
      await this.#faults("ledger.after-commit", what);
    } catch (error) {
      const { kind, sqlState } = classify(error, true);
      throw new LedgerError(kind, `${what}: commit`, sqlState, error);
    }
    if (tag !== "COMMIT") {
      throw new LedgerError("defect", `${what}: commit answered ${tag}`, undefined, undefined);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function isRepeatable(error: LedgerError): boolean {
  return error.kind !== "defect" && error.kind !== "schema" && error.kind !== "busy";
}

/** A statement that was too slow, or a server that is silent, is asked once more only: its caller has a deadline too. */
function triesOf(error: LedgerError): number {
  const silent = error.cause instanceof Error && /read timeout/i.test(error.cause.message);
  return silent || error.sqlState === "57014" ? 2 : TRIES;
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
