import { type FaultInjector, type FaultPoint, type Ids, type Logger, errorInLog } from "@ghouls/core";
import type {
  DegradedTurn,
  DueLook,
  FailedOwner,
  Ledger,
  PassNote,
  PassPage,
  StandingPass,
} from "@ghouls/ledger";
import { answerWithin } from "../patience.ts";
import type { Outcome, Owner, Pass } from "./pass.ts";
import { Rounds } from "./rounds.ts";
import { Turns, type TurnsOptions } from "./turns.ts";

/** What a pass did in an invocation. */
export interface PassReport {
  /** 0: its turn did not come. */
  readonly pages: number;
  readonly found: number;
  readonly repaired: number;
  /** Somebody was faster, or it was not time yet. */
  readonly left: number;
  readonly failed: number;
  /** Owners that stand aside after it, with turns of their own. */
  readonly degraded: number;
  /** What interrupted it. */
  readonly error?: string;
}

export interface PassRunOptions extends Omit<TurnsOptions, "pass" | "leftMs"> {
  readonly ledger: Pick<Ledger, "reconciler">;
  readonly faults: FaultInjector;
  readonly ids: Ids;
  readonly log: Logger;
  readonly pageSize: number;
  readonly standing: StandingPass | undefined;
}

/** One pass in one invocation: pages forward, and turns of the owners that stand aside. */
export class PassRun {
  readonly #pass: Pass;
  readonly #options: PassRunOptions;
  /** Of those in front, and of those that stand aside: neither hold a place of the others. */
  readonly #turns: Turns;
  readonly #asides: Turns;
  readonly #rounds: Rounds;
  readonly #counts = { pages: 0, found: 0, repaired: 0, left: 0, failed: 0 };
  /** What is written of owners after their turns. */
  readonly #records: Promise<void>[] = [];
  #leftMs: () => number = () => 0;
  #error: string | undefined;
  #degraded: boolean;
  readonly #began: number;
  #ended: number;

  constructor(pass: Pass, options: PassRunOptions) {
    const { ledger, standing, clock } = options;
    this.#pass = pass;
    this.#options = options;
    this.#turns = new Turns({ ...options, pass, leftMs: () => this.#leftMs() });
    this.#asides = new Turns({ ...options, pass, leftMs: () => this.#leftMs() });
    this.#rounds = new Rounds(pass.name, ledger, standing);
    this.#degraded = standing?.degraded ?? false;
    this.#began = this.#ended = clock.monotonicMs();
  }

  /** @param shareMs what the pass may still take, in milliseconds; where owners stand aside, half of it goes forward first */
  async go(shareMs: () => number): Promise<void> {
    const halfMs = shareMs() / 2;
    try {
      const aside = this.#options.standing?.degradedDue === true;
      this.#leftMs = aside ? () => shareMs() - halfMs : shareMs;
      await this.#forward();
      this.#leftMs = shareMs;
      if (aside) await this.#aside();
      if (!this.#rounds.whole) await this.#forward();
      await this.#turns.rest();
      await this.#asides.rest();
    } catch (error) {
      this.#fail(error);
      await this.#rounds.forget().catch((again: unknown) => this.#fail(again));
    }
    this.#ended = this.#options.clock.monotonicMs();
  }

  /** What still hangs ends at its deadline, and what came of it is written. */
  async end(): Promise<void> {
    await Promise.all([this.#turns.end(), this.#asides.end()]);
    for (const record of this.#records) await record.catch((error: unknown) => this.#fail(error));
  }

  note(nowMs: number): PassNote {
    return {
      pass: this.#pass.name,
      rounds: this.#rounds.short,
      startedBefore: (nowMs - this.#began) / 1_000,
      endedBefore: (nowMs - this.#ended) / 1_000,
      ...this.#counts,
      error: this.#error ?? null,
    };
  }

  report(degraded: number): PassReport {
    const error = this.#error;
    return { ...this.#counts, degraded, ...(error === undefined ? {} : { error }) };
  }

  async #forward(): Promise<void> {
    while (!this.#rounds.whole && (this.#counts.pages === 0 || this.#leftMs() > 0)) {
      const { found, next } = await this.#find({ limit: this.#options.pageSize, ...this.#rounds.look });
      this.#counts.pages += 1;
      const due = distinct(found).filter(({ owner }) => !this.#turns.has(owner));
      const front = await this.#inFront(due);
      this.#counts.found += front.length;
      if (front.length > 0) {
        await this.#options.faults(`${this.#pass.name}.after-select` as FaultPoint, `${front.length} due`);
        if (!(await this.#page(front))) return;
      }
      await this.#rounds.advance(next);
    }
  }

  /** Without those that stand aside. */
  async #inFront(due: readonly Owner[]): Promise<readonly Owner[]> {
    if (!this.#degraded || due.length === 0) return due;
    const names = due.map(({ owner }) => owner);
    const aside = await this.#options.ledger.reconciler.degradedAmong(this.#pass.name, names);
    return due.filter(({ owner }) => !aside.has(owner));
  }

  /** The turns of a page; those that fail stand aside from then on. Whether each has had its own. */
  async #page(due: readonly Owner[]): Promise<boolean> {
    const failed: FailedOwner[] = [];
    const { all, ends } = await this.#turns.give(due, (owner, outcome) => {
      this.#count(outcome);
      if (outcome.kind === "failed" && outcome.ownTime !== true)
        failed.push({ ...ownerOf(owner), reason: outcome.reason });
    });
    this.#record(
      ends.then(async () => {
        if (failed.length === 0) return;
        this.#degraded = true;
        const { ledger, ids, faults } = this.#options;
        await ledger.reconciler.degrade(this.#pass.name, ids.next(), failed);
        await faults("reconciler.after-degrade", this.#pass.name);
      }),
    );
    return all;
  }

  /** Turns of those that stand aside: each alone, so that it fails for itself. */
  async #aside(): Promise<void> {
    const { ledger, faults } = this.#options;
    for (let places = await this.#asides.places(); places > 0; places = await this.#asides.places()) {
      const turns = await ledger.reconciler.takeTurns(this.#pass.name, places);
      if (turns.length === 0) return;
      await faults("reconciler.after-turns", this.#pass.name);
      const byName = new Map(turns.map((turn) => [turn.owner, turn]));
      const { found } = await this.#find({ limit: turns.length, owners: [...byName.keys()] });
      const due = distinct(found);
      const still = new Set(due.map(({ owner }) => owner));
      // Somebody else has looked after it, or it is not time any more.
      await ledger.reconciler.clean(
        this.#pass.name,
        turns.filter(({ owner }) => !still.has(owner)),
      );
      this.#counts.found += due.length;
      await this.#asides.give(
        due,
        (owner, outcome) => {
          this.#count(outcome);
          this.#record(this.#afterTurn(byName.get(owner.owner), outcome));
        },
        true,
      );
    }
  }

  async #afterTurn(turn: DegradedTurn | undefined, outcome: Outcome): Promise<void> {
    const { ledger } = this.#options;
    if (turn === undefined) return;
    if (outcome.kind === "failed" && outcome.ownTime !== true)
      await ledger.reconciler.noteReason(this.#pass.name, turn, outcome.reason);
    else await ledger.reconciler.clean(this.#pass.name, [turn]);
  }

  #find(look: DueLook): Promise<PassPage<Owner>> {
    return answerWithin(this.#pass.find(look), this.#options.deadlineMs());
  }

  #count({ kind }: Outcome): void {
    this.#counts[kind] += 1;
  }

  /** Kept for the end; a rejection until then is not nobody's. */
  #record(writing: Promise<void>): void {
    writing.catch(() => undefined);
    this.#records.push(writing);
  }

  #fail(error: unknown): void {
    const said = errorInLog(error);
    this.#error ??= said;
    this.#options.log.error("a pass was interrupted", { pass: this.#pass.name, error: said });
  }
}

function distinct(found: readonly Owner[]): Owner[] {
  return [...new Map(found.toReversed().map((one) => [one.owner, one])).values()].toReversed();
}

function ownerOf({ owner, tenantId, runId }: Owner): Omit<FailedOwner, "reason"> {
  return { owner, tenantId, runId };
}
