import type { Duration } from "./duration.ts";
import type { RunLogger } from "./logging.ts";
import type { Backoff } from "./retry.ts";

/** What a statement has come to. */
export interface QueryAnswer<Row> {
  readonly rows: Row[];
  /** Rows that were found or changed; null where the command counts none. */
  readonly rowCount: number | null;
}

/** What the function of `ctx.transaction` gets. It ends with the function, or with its time, and says so from then on. */
export interface Transaction {
  /**
   * Sends one statement, with placeholders `$1`, `$2`, …, as the application's role. Statements that are asked for at the
   * same time run one after the other.
   * @throws NonRetryableError for a statement that would begin, end or leave the transaction; nothing of it was sent
   * @throws what the driver throws, with PostgreSQL's `code`; after it PostgreSQL refuses what follows, up to a savepoint
   */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<QueryAnswer<Row>>;
  /** The same for every try, hop and loss of this call. */
  readonly idempotencyKey: string;
  /** Fires when its time is over and when the run is taken away from this worker. It has been rolled back then. */
  readonly signal: AbortSignal;
  readonly log: RunLogger;
}

export interface TransactionOptions {
  /**
   * How often a function that throws may be called at most; 1 by default. A deadlock, a serialization failure or a lost
   * connection is no try of its own: nothing of it has happened, and the function is called again.
   */
  readonly tries?: number;
  /** A delay of at most 10 s: the retries of a transaction do not park the run. */
  readonly backoff?: Backoff;
  /** From BEGIN to the last statement; "5s" by default and at most. After it all is rolled back. */
  readonly timeout?: Duration;
}
