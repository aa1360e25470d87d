import { createHash } from "node:crypto";
import type { FaultInjector } from "@ghouls/core";
import { noFaults } from "@ghouls/core";
import { Connections, type ConnectionOptions, type Held } from "./connections.ts";
import { LedgerError, classify, isNameRefused, isOfNoUse, isPlanStale } from "./errors.ts";
import { OpenTransaction } from "./open-transaction.ts";
import { Turns } from "./turns.ts";
import { DEFAULT_SCHEMA, bindSchema, type Statement } from "../sql/statement.ts";

export interface DatabaseOptions extends ConnectionOptions {
  /** Name of the schema; "ghouls" by default. */
  readonly schema?: string;
  /**
   * Named statements, parsed once per connection. By default with the driver pg and a host without "-pooler" in its name.
   * Where a pooler turns out not to keep them they are given up.
   */
  readonly preparedStatements?: boolean;
  readonly faults?: FaultInjector;
}

export type Row = Record<string, unknown>;

/** Something that carries out one statement: a pooled connection for each, or one inside a transaction. */
export interface Executor {
  run(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** A statement bound to the schema, under the name that a server may keep it by. */
interface BoundStatement {
  readonly text: string;
  readonly name: string;
}

const TRIES = 4;

/** The pool, the schema's name, and the one place where statements are sent and their failures are typed. */
export class Database implements Executor {
  readonly schema: string;
  /** Of those that hold a connection while other code than ours runs: one is left, where there are two, to what is short. */
  readonly turns: Turns;
  readonly #connections: Connections;
  readonly #prepared: boolean | undefined;
  readonly #faults: FaultInjector;
  readonly #chance: () => number;
  readonly #bound = new Map<string, BoundStatement>();
  /** Set for good when a server did not know a name, or knew it from somebody else: a pooler lies between. */
  #namesGivenUp = false;

  constructor(options: DatabaseOptions) {
    this.schema = options.schema ?? DEFAULT_SCHEMA;
    bindSchema("", this.schema);
    this.#prepared = options.preparedStatements;
    this.#faults = options.faults ?? noFaults;
    this.#chance = options.chance ?? (() => 0.5);
    this.#connections = new Connections(options);
    this.turns = new Turns(Math.max(1, this.#connections.max - 1));
  }

  /**
   * Carries out one statement in a transaction of its own. A statement of ours is guarded, so it is repeated within a
   * bound where it was rolled back or where its outcome is unknown; the caller reads zero rows as "it was there already,
   * or the race is lost" and reads back under its guard. A connection has a patience of its own, which is not repeated.
   * @throws LedgerError
   */
  async run(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const patience = this.#connections.patience();
    let unknown = false;
    let named = true;
    // An earlier try may have been committed, whatever the last one met.
    const asTold = (error: unknown) =>
      unknown && error instanceof LedgerError && error.kind !== "unknown"
        ? new LedgerError("unknown", statement.name, error.sqlState, error)
        : error;
    try {
      for (let attempt = 1; ; attempt += 1) {
        const held = await this.#connections.connect(statement.name, patience).catch((error: unknown) => {
          throw asTold(error);
        });
        try {
          return await this.#once(held, statement, values, named);
        } catch (error) {
          // Another connection may have its plan from before the migration too; a statement without a name has none.
          if (error instanceof LedgerError && isPlanStale(error.cause)) named = false;
          unknown ||= error instanceof LedgerError && error.kind === "unknown";
          if (!(error instanceof LedgerError) || !isRepeatable(error) || attempt >= triesOf(error))
            throw asTold(error);
          await this.#pause(attempt);
        }
      }
    } finally {
      patience.end();
    }
  }

  async #once(held: Held, statement: Statement, values: readonly unknown[], named: boolean): Promise<Row[]> {
    let broken = true;
    try {
      const rows = await this.#send(held, statement, values, named);
      broken = false;
      return rows;
    } catch (error) {
      broken = isOfNoUse(error);
      throw error;
    } finally {
      held.release(broken);
    }
  }

  async #send(
    held: Held,
    statement: Statement,
    values: readonly unknown[],
    mayBeNamed = true,
  ): Promise<Row[]> {
    try {
      await this.#faults("ledger.before-statement", statement.name);
      const { text, name } = this.#bind(statement);
      const named = mayBeNamed && !this.#namesGivenUp && (this.#prepared ?? held.keepsNames);
      const result = await held.query({ text, values: [...values], ...(named ? { name } : {}) });
      await this.#faults("ledger.after-statement", statement.name);
      return result.rows;
    } catch (error) {
      const { kind, sqlState } = classify(error, statement.writes);
      if (isNameRefused(sqlState)) this.#namesGivenUp = true;
      throw new LedgerError(kind, statement.name, sqlState, error);
    }
  }

  /**
   * The name carries a digest of the text: behind a pooler, builds and schemas share a server's connection, and a Bind
   * must never meet another's text.
   */
  #bind(statement: Statement): BoundStatement {
    let bound = this.#bound.get(statement.name);
    if (bound === undefined) {
      const text = bindSchema(statement.text, this.schema);
      const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
      bound = { text, name: `${statement.name}:${digest}` };
      this.#bound.set(statement.name, bound);
    }
    return bound;
  }

  /**
   * Carries out several statements in one READ COMMITTED transaction. Nothing but these statements runs inside it.
   * @throws LedgerError `unknown` where the COMMIT's answer was lost, `defect` where COMMIT answered ROLLBACK
   */
  async transaction<T>(what: string, body: (executor: Executor) => Promise<T>): Promise<T> {
    const open = await this.begin(what);
    try {
      const value = await body({ run: (statement, values) => open.run(statement, values) });
      await open.commit();
      return value;
    } catch (error) {
      await open.rollback();
      throw error;
    }
  }

  /**
   * A transaction whose maker ends it.
   * @param answerWithinMs how long an answer of it is waited for; as long as the driver waits where absent
   * @param ended called once, when its connection has been given back
   */
  async begin(what: string, answerWithinMs?: number, ended?: () => void): Promise<OpenTransaction> {
    return new OpenTransaction({
      held: await this.#begun(what),
      what,
      faults: this.#faults,
      send: (held, statement, values) => this.#send(held, statement, values),
      answerWithinMs,
      ended,
    });
  }

  /**
   * A connection whose transaction has begun. Nothing of the body has been sent, so a BEGIN that meets a connection which
   * was lost while it idled is sent again on another one.
   */
  async #begun(what: string): Promise<Held> {
    const patience = this.#connections.patience();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const held = await this.#connections.connect(what, patience);
        try {
          await held.query("begin isolation level read committed");
          return held;
        } catch (error) {
          held.release(true);
          const { kind, sqlState } = classify(error, false);
          const failed = new LedgerError(kind, `${what}: begin`, sqlState, error);
          if (!isRepeatable(failed) || attempt >= triesOf(failed)) throw failed;
          await this.#pause(attempt);
        }
      }
    } finally {
      patience.end();
    }
  }

  #pause(attempt: number): Promise<void> {
    const milliseconds = 25 * 4 ** (attempt - 1) * (0.5 + this.#chance());
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  async close(): Promise<void> {
    await this.#connections.close();
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
