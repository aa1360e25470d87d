import type { FaultInjector } from "@ghouls/core";
import type { Statement } from "../sql/statement.ts";
import type { Held } from "./connections.ts";
import type { Answer } from "./drivers/driver.ts";
import { LedgerError, classify, isOfNoUse } from "./errors.ts";

export interface TransactionParts {
  /** Its transaction has begun. */
  readonly held: Held;
  /** What it is for, in errors and at fault points. */
  readonly what: string;
  readonly faults: FaultInjector;
  readonly send: (held: Held, statement: Statement, values: readonly unknown[]) => Promise<Answer["rows"]>;
  /** How long an answer is waited for, in milliseconds; as long as the driver waits where absent. */
  readonly answerWithinMs: number | undefined;
  /** Called once, when the connection has been given back. */
  readonly ended: (() => void) | undefined;
}

/** A READ COMMITTED transaction on a connection of its own. Whoever has begun it commits it or rolls it back, once. */
export class OpenTransaction {
  readonly #parts: TransactionParts;
  #isOver = false;
  #isLost = false;

  constructor(parts: TransactionParts) {
    this.#parts = parts;
  }

  /** A statement of ours. @throws LedgerError */
  async run(statement: Statement, values: readonly unknown[]): Promise<Answer["rows"]> {
    return this.#asked(this.#parts.send(this.#open(), statement, values));
  }

  /**
   * One statement that is not ours, without a name and by the protocol that takes one at a time.
   * @throws what the driver throws
   */
  async ask(text: string, values: readonly unknown[]): Promise<Answer> {
    const held = this.#open();
    const { faults, what } = this.#parts;
    const asking = async () => {
      await faults("ledger.before-statement", `${what}.ask`);
      const answer = await held.query({ text, values: [...values], queryMode: "extended" });
      await faults("ledger.after-statement", `${what}.ask`);
      return answer;
    };
    return this.#asked(asking());
  }

  /** @throws LedgerError `unknown` where the COMMIT's answer was lost, `defect` where COMMIT answered ROLLBACK */
  async commit(): Promise<void> {
    const held = this.#open();
    try {
      await this.#commit(held);
    } catch (error) {
      if (isOfNoUse(error)) this.#isLost = true;
      throw error;
    }
    this.#end(false);
  }

  async #commit(held: Held): Promise<void> {
    const { faults, what } = this.#parts;
    let tag: string;
    try {
      await faults("ledger.before-commit", what);
      tag = (await this.#inTime(held.query("commit"))).command;
      await faults("ledger.after-commit", what);
    } catch (error) {
      const { kind, sqlState } = classify(error, true);
      throw new LedgerError(kind, `${what}: commit`, sqlState, error);
    }
    if (tag !== "COMMIT") {
      throw new LedgerError("defect", `${what}: commit answered ${tag}`, undefined, undefined);
    }
  }

  /**
   * Gives the connection back; one that is lost, or does not answer in time, is thrown away with whatever it held. Does
   * nothing where the transaction has ended.
   */
  async rollback(withinMs = this.#parts.answerWithinMs): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const rolledBack = this.#isLost
      ? false
      : await inTime(this.#parts.held.query("rollback"), withinMs).then(
          () => true,
          () => false,
        );
    this.#end(!rolledBack);
  }

  #open(): Held {
    if (this.#isOver) throw new Error(`${this.#parts.what}: the transaction is over`);
    return this.#parts.held;
  }

  async #asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await this.#inTime(answer);
    } catch (error) {
      if (isOfNoUse(error)) this.#isLost = true;
      throw error;
    }
  }

  #inTime<T>(answer: Promise<T>): Promise<T> {
    return inTime(answer, this.#parts.answerWithinMs);
  }

  #end(broken: boolean): void {
    this.#isOver = true;
    this.#parts.held.release(broken);
    this.#parts.ended?.();
  }
}

/** @throws Error without a SQLSTATE, as of a lost connection, where there is no answer in time */
async function inTime<T>(answer: Promise<T>, withinMs: number | undefined): Promise<T> {
  if (withinMs === undefined) return answer;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${withinMs} ms`)), withinMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
