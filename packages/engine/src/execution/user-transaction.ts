import { NonRetryableError, type QueryAnswer, type StepContext, type Transaction } from "@ghouls/core";
import { LedgerError, sqlStateOf, type Ledger, type UserTransaction } from "@ghouls/ledger";
import { whyNotSent } from "./statement-wall.ts";

/** How long a connection may take to roll back before it is thrown away, in milliseconds. */
export const ROLLBACK_MS = 1_000;
/** What a statement may have of the next one's time before it is told how much is left, in milliseconds. */
const SLACK_MS = 250;

export interface HandedOutOptions {
  readonly name: string;
  readonly ledger: Pick<Ledger, "transactions">;
  readonly begun: UserTransaction;
  readonly limitMs: number;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
}

/** A transaction that was handed out to a function of the user's, until one of its ends. */
export class HandedOut {
  readonly #options: HandedOutOptions;
  readonly #startedMs: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #stopped = Promise.withResolvers<never>();
  /** Why nothing is sent any more. */
  #over: Error | undefined;
  #rollback: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #limitSetMs: number;

  constructor(options: HandedOutOptions) {
    this.#options = options;
    this.#startedMs = options.nowMs();
    this.#limitSetMs = options.limitMs;
    this.#stopped.promise.catch(() => undefined);
    this.#timer = setTimeout(() => this.stop(this.#tooLate()), options.limitMs);
  }

  context({ idempotencyKey, signal, log }: StepContext): Transaction {
    return {
      idempotencyKey,
      signal,
      log,
      query: <Row>(text: string, values?: readonly unknown[]) =>
        this.#query(text, values) as Promise<QueryAnswer<Row>>,
    };
  }

  /** Why it was rolled back while its function ran; undefined where it was not. */
  get stoppedBy(): Error | undefined {
    return this.#rollback === undefined ? undefined : this.#over;
  }

  /** What the first statement has failed with after which none has succeeded: PostgreSQL refuses to commit then. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Rolls back at once, whatever its function does. */
  stop(why: Error): void {
    if (this.#rollback !== undefined) return;
    this.#over = why;
    this.#stopped.reject(why);
    this.#rollback = this.#options.begun.rollback(ROLLBACK_MS);
  }

  /** Its function has ended: takes no statement any more, and waits for those that it has been asked for. */
  async close(): Promise<void> {
    const { name } = this.#options;
    this.#over ??= new Error(
      `transaction "${name}" is over, because its function has ended: await what it sends inside of it`,
    );
    await Promise.race([this.#last, this.#stopped.promise.catch(() => undefined)]);
    if (this.#rollback !== undefined) await this.#rollback;
  }

  /** Its end is about to be sent: nothing stops it from now on. Answers the milliseconds that it has, 0 where it was stopped. */
  settle(): number {
    clearTimeout(this.#timer);
    return this.#rollback === undefined ? Math.max(1, this.#remainingMs()) : 0;
  }

  /** Without a trace of it. */
  async rollBack(): Promise<void> {
    clearTimeout(this.#timer);
    await (this.#rollback ?? this.#options.begun.rollback(ROLLBACK_MS));
  }

  #query(text: string, values: readonly unknown[] = []): Promise<QueryAnswer<unknown>> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    const refused = whyNotSent(text);
    if (refused !== undefined)
      return Promise.reject(new NonRetryableError(`transaction "${this.#options.name}": ${refused}`));
    const answer = this.#last.then(() => this.#send(text, values));
    this.#last = answer.catch(() => undefined);
    return Promise.race([answer, this.#stopped.promise]);
  }

  async #send(text: string, values: readonly unknown[]): Promise<QueryAnswer<unknown>> {
    const { ledger, begun } = this.#options;
    try {
      if (this.#rollback !== undefined) throw this.#over;
      await this.#limit();
      const { rows, rowCount } = await ledger.transactions.ask(begun, text, values);
      this.#failure = undefined;
      return { rows, rowCount };
    } catch (error) {
      const thrown: unknown = error instanceof LedgerError ? (error.cause ?? error) : error;
      this.#failure ??= { error: thrown };
      throw thrown;
    }
  }

  /** The server ends a statement when its transaction's time is over, and not that much later. */
  async #limit(): Promise<void> {
    const remainingMs = this.#remainingMs();
    if (this.#limitSetMs - remainingMs <= SLACK_MS) return;
    await this.#options.ledger.transactions.limit(this.#options.begun, remainingMs);
    this.#limitSetMs = remainingMs;
  }

  #remainingMs(): number {
    return this.#startedMs + this.#options.limitMs - this.#options.nowMs();
  }

  #tooLate(): Error {
    const { name, limitMs } = this.#options;
    return new DOMException(
      `transaction "${name}" did not end within ${limitMs} ms, and was rolled back`,
      "TimeoutError",
    );
  }
}

/** Rolled back by PostgreSQL, because others were in the way: the same again may pass. */
export function isInTheWay(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return sqlState === "40001" || sqlState === "40P01";
}

/** Whether a failed statement means that its connection is lost, and with it, certainly, the transaction. */
export function isConnectionLost(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined) return /^(?:57P|08)/.test(sqlState) || sqlState === "25P03";
  // What the driver says of values that it cannot send.
  return !(error instanceof TypeError || error instanceof RangeError);
}
