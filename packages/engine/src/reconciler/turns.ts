import { type Clock, type Logger, errorInLog } from "@ghouls/core";
import { answerWithin, endsWithin } from "../patience.ts";
import type { Outcome, Owner, Pass } from "./pass.ts";

export interface TurnsOptions {
  readonly pass: Pass;
  /** Turns at the same time. */
  readonly atOnce: number;
  /** What one turn may take, in milliseconds. */
  readonly deadlineMs: () => number;
  /** What the pass may still wait for its turns, in milliseconds. */
  readonly leftMs: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Turns of a pass's owners, so many at once, each with its deadline. One that hangs holds one place until then, and no other's
 * turn; what it does after its deadline is guarded by the ledger.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #owners = new Set<string>();

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Whether an owner has its turn just now. */
  has(owner: string): boolean {
    return this.#owners.has(owner);
  }

  /**
   * Gives every owner its turn, those of a batch together unless they are to go alone. False where the time was over before
   * each had begun its own: the others have had none.
   */
  async give(
    due: readonly Owner[],
    ended: (owner: Owner, outcome: Outcome) => void,
    alone = false,
  ): Promise<{ readonly all: boolean; readonly ends: Promise<void> }> {
    const size = alone ? 1 : (this.#options.pass.batch ?? 1);
    const given: Promise<void>[] = [];
    let all = true;
    for (let first = 0; first < due.length; first += size) {
      if (!(await this.#hasPlace())) {
        all = false;
        break;
      }
      given.push(this.#begin(due.slice(first, first + size), ended));
    }
    return { all, ends: Promise.all(given).then(() => undefined) };
  }

  /** Waits for a place. How many there are then; none where the time is over. */
  async places(): Promise<number> {
    return (await this.#hasPlace()) ? this.#options.atOnce - this.#underWay.size : 0;
  }

  /** Waits for those that are under way, as long as the pass may. */
  async rest(): Promise<void> {
    while (this.#underWay.size > 0 && this.#options.leftMs() > 0) await this.#oneEnds();
  }

  /** Waits for all of them: each ends at its deadline. */
  async end(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #hasPlace(): Promise<boolean> {
    const { atOnce, leftMs } = this.#options;
    while (this.#underWay.size >= atOnce && leftMs() > 0) await this.#oneEnds();
    return this.#underWay.size < atOnce && leftMs() > 0;
  }

  async #oneEnds(): Promise<void> {
    await endsWithin(Promise.race(this.#underWay), this.#options.leftMs());
  }

  #begin(group: readonly Owner[], ended: (owner: Owner, outcome: Outcome) => void): Promise<void> {
    for (const { owner } of group) this.#owners.add(owner);
    const turn = this.#take(group).then((outcomes) => {
      this.#underWay.delete(turn);
      for (const [index, owner] of group.entries()) {
        this.#owners.delete(owner.owner);
        ended(owner, outcomes[index] ?? { kind: "failed", reason: "its pass says nothing of it" });
      }
    });
    this.#underWay.add(turn);
    return turn;
  }

  async #take(group: readonly Owner[]): Promise<readonly Outcome[]> {
    const { pass, clock, log } = this.#options;
    const deadlineMs = this.#options.deadlineMs();
    const until = clock.monotonicMs() + deadlineMs;
    const abort = new AbortController();
    try {
      return await answerWithin(
        pass.repair(group, { signal: abort.signal, withinMs: () => until - clock.monotonicMs() }),
        deadlineMs,
      );
    } catch (error) {
      // Others than the tenant read it: the names of what went wrong, and no words.
      const reason = errorInLog(error);
      for (const { runId, owner } of group)
        log.warn("an owner of a pass could not be looked after", {
          pass: pass.name,
          runId,
          owner,
          error: reason,
        });
      return group.map(() => ({ kind: "failed", reason }));
    } finally {
      abort.abort();
    }
  }
}
