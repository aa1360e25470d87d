import type { PassName } from "@ghouls/core";
import type { Ledger, Position, StandingPass } from "@ghouls/ledger";

/**
 * How far one invocation has come in a pass. It goes on where the last one ended, and then once over all that is due by then:
 * what became due behind a position is found by that second round. Its row is advisory.
 */
export class Rounds {
  readonly #pass: PassName;
  readonly #ledger: Pick<Ledger, "reconciler">;
  #number: string | undefined;
  #until: Date | undefined;
  #after: Position | undefined;
  /** Whether it was begun by an earlier invocation, so that more may be due before its position. */
  #joined: boolean;
  #short = 0;
  #whole = false;

  constructor(pass: PassName, ledger: Pick<Ledger, "reconciler">, standing: StandingPass | undefined) {
    this.#pass = pass;
    this.#ledger = ledger;
    this.#number = standing?.round?.number;
    this.#until = standing?.round?.until;
    this.#after = standing?.round?.after;
    this.#joined = this.#number !== undefined;
  }

  /** Where the next page begins, and what belongs to its round. */
  get look(): { readonly after: Position | undefined; readonly until: Date | undefined } {
    return { after: this.#after, until: this.#until };
  }

  /** Whether a round has gone over all that was due, from the first row on. */
  get whole(): boolean {
    return this.#whole;
  }

  /** Rounds that came to their end in one page, of which no row was written. */
  get short(): number {
    return this.#short;
  }

  /** A page has had its turns. */
  async advance(next: Position | undefined): Promise<void> {
    if (next === undefined) return this.#end();
    if (this.#number === undefined) {
      const begun = await this.#ledger.reconciler.beginRound(this.#pass);
      [this.#number, this.#until] = [begun.number, begun.until];
    }
    this.#after = next;
    await this.#ledger.reconciler.advance(this.#pass, this.#number, next);
  }

  /** What a row says of its position cannot be read: the next round begins at the first row. */
  async forget(): Promise<void> {
    if (this.#joined && this.#number !== undefined)
      await this.#ledger.reconciler.endRound(this.#pass, this.#number);
  }

  async #end(): Promise<void> {
    if (this.#number === undefined) this.#short += 1;
    else await this.#ledger.reconciler.endRound(this.#pass, this.#number);
    this.#whole = !this.#joined;
    this.#joined = false;
    this.#number = this.#until = this.#after = undefined;
  }
}
