import { setImmediate as macrotask } from "node:timers/promises";
import { GhoulsError } from "@ghouls/core";
import type { NextDue, ScratchLedger } from "@ghouls/ledger/scratch";
import { refuseFakedTimers } from "./faked-timers.ts";
import type { Script } from "./script.ts";
import type { TestQueue } from "./queue.ts";
import type { Workers } from "./workers.ts";

export interface DriverOptions {
  readonly scratch: Pick<ScratchLedger, "now" | "nextDue" | "advanceTo" | "family">;
  readonly queue: Pick<TestQueue, "take" | "published">;
  readonly workers: Pick<Workers, "carry" | "isInside">;
  readonly script: Pick<Script, "actIfDue" | "nextDue">;
  /** Runs the reconciler's passes where something is due for them. */
  readonly reconcileIfDue: () => Promise<void>;
  /** Whether the clock moves by itself to what is due next. */
  readonly skipTime: boolean;
}

/** What a call of the test waits for. */
export interface Goal<T> {
  /** Whose code may run meanwhile; that of every run where it is undefined. */
  readonly runIds: readonly string[] | undefined;
  /** Looks whether it is there, after everything that is due was carried on. Rejects where it will never be. */
  look(): Promise<{ readonly value: T } | undefined>;
  /** Why nothing that is due brings it about; absent where the clock moves for it in any case. */
  readonly stuck?: () => Promise<Error>;
  /** How far the clock moves for it, in milliseconds since 1970; where it is absent, as `skipTime` says. */
  readonly untilMs?: number;
}

interface Pending {
  readonly goal: Goal<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** What is due so little after the end of an advance counts as well: the code between two waits takes its time. */
const GRACE_MS = 1_000;
/** Moves in a row that bring no run further, before it is taken for what goes on for ever. */
const MOST_IDLE_MOVES = 25;
/** The same where there is a moment that will bring one further: until then somebody may be asked again and again. */
const MOST_IDLE_MOVES_TO_A_MOMENT = 2_000;

/**
 * Carries runs on, in turns: messages that are due go through a worker, one after the other, and the passes find what else
 * is due. Where all of it waits, the clock moves to the next moment at which something is due, and never further. Runs
 * move only in calls that wait for one of them, and several such calls share the turns: nothing runs behind the test.
 */
export class Driver {
  readonly #options: DriverOptions;
  readonly #pending = new Set<Pending>();
  readonly #acts = new Set<Promise<unknown>>();
  #running: Promise<void> | undefined;
  #progress = "";
  #idleMoves = 0;
  #ended: Error | undefined;

  constructor(options: DriverOptions) {
    this.#options = options;
  }

  /** @throws GhoulsError invalid_request inside of a step, which would wait for itself */
  async reach<T>(goal: Goal<T>): Promise<T> {
    this.#refuseInside();
    refuseFakedTimers();
    if (this.#ended !== undefined) throw this.#ended;
    const done = Promise.withResolvers<unknown>();
    this.#pending.add({ goal, resolve: done.resolve, reject: done.reject });
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return done.promise as Promise<T>;
  }

  /** Moves the clock forward by so many milliseconds, and carries every run on at each thing that is due on the way. */
  async advance(milliseconds: number): Promise<void> {
    const { scratch } = this.#options;
    const untilMs = (await scratch.now()) + milliseconds;
    await this.reach({
      runIds: undefined,
      untilMs,
      look: async () => {
        if ((await scratch.now()) < untilMs) return undefined;
        const { definite } = await this.#due(undefined);
        return definite !== undefined && definite <= untilMs + GRACE_MS ? undefined : { value: undefined };
      },
    });
  }

  /** What a test does to a run by itself: while it is under way the clock stands. */
  act<T>(act: Promise<T>): Promise<T> {
    const settled = act.then(
      () => undefined,
      () => undefined,
    );
    this.#acts.add(settled);
    void settled.then(() => this.#acts.delete(settled));
    return act;
  }

  /**
   * Ends every call that waits, and comes to rest; those that come later as well, where it is for good.
   * @throws GhoulsError invalid_request inside of a step
   */
  async end(why: Error, forGood: boolean): Promise<void> {
    this.#refuseInside();
    if (forGood) this.#ended = why;
    for (const one of this.#pending) this.#settle(one, () => one.reject(why));
    await this.#running;
    await Promise.all(this.#acts);
  }

  #refuseInside(): void {
    if (!this.#options.workers.isInside) return;
    throw new GhoulsError(
      "invalid_request",
      "a step cannot wait for runs, because its own run waits for it",
      {
        fix: "Send a signal or decide a consent from a step, and wait for runs in the test.",
      },
    );
  }

  async #run(): Promise<void> {
    while (this.#pending.size > 0) {
      try {
        await this.#turn();
      } catch (error) {
        for (const one of this.#pending) this.#settle(one, () => one.reject(error));
      }
      // Whoever got what it waited for goes on first: it may act, or wait for something else.
      await macrotask();
    }
  }

  async #turn(): Promise<void> {
    await Promise.all(this.#acts);
    const looking = [...this.#pending];
    await this.#carryOn();
    if (await this.#lookAll()) return;
    const runIds = await this.#runIds();
    const next = await this.#next(runIds);
    // What was called, or done, meanwhile has a turn of its own before the clock moves.
    if (this.#acts.size > 0 || [...this.#pending].some((one) => !looking.includes(one))) return;
    if (next !== undefined) return this.#options.scratch.advanceTo(next);
    await Promise.all(
      looking.map(async (one) => {
        const why = await one.goal.stuck?.();
        this.#settle(one, () => one.reject(why));
      }),
    );
  }

  /** Everything that is due now, until nothing is. */
  async #carryOn(): Promise<void> {
    const { queue, workers, script, reconcileIfDue } = this.#options;
    for (let worked = true; worked && this.#pending.size > 0;) {
      // A run may have started others.
      const runIds = await this.#runIds();
      const isWanted = ({ runId }: { runId: string | undefined }) =>
        runId === undefined || runIds === undefined || runIds.includes(runId);
      worked = await script.actIfDue(runIds);
      for (
        let message = await queue.take(isWanted);
        message !== undefined && this.#pending.size > 0;
        message = await queue.take(isWanted)
      ) {
        await workers.carry(message);
        worked = true;
      }
      const before = queue.published.length;
      await reconcileIfDue();
      worked ||= queue.published.length > before;
    }
  }

  /** Whether one of those that wait has got an answer. */
  async #lookAll(): Promise<boolean> {
    let any = false;
    for (const one of this.#pending) {
      try {
        const found = await one.goal.look();
        if (found === undefined) continue;
        this.#settle(one, () => one.resolve(found.value));
      } catch (error) {
        this.#settle(one, () => one.reject(error));
      }
      any = true;
    }
    if (any) this.#idleMoves = 0;
    return any;
  }

  /** The moment to which the clock may move now. */
  async #next(runIds: readonly string[] | undefined): Promise<number | undefined> {
    const limits = [...this.#pending].flatMap(({ goal }) => goal.untilMs ?? []);
    if (!this.#options.skipTime && limits.length === 0) return undefined;
    const { definite, repeated, progress } = await this.#due(runIds);
    const due = earliest(definite, repeated);
    if (limits.length > 0) {
      return earliest(...limits.map((limit) => (due !== undefined && due <= limit + GRACE_MS ? due : limit)));
    }
    this.#idleMoves = progress === this.#progress ? this.#idleMoves + 1 : 0;
    this.#progress = progress;
    const most = definite === undefined ? MOST_IDLE_MOVES : MOST_IDLE_MOVES_TO_A_MOMENT;
    return this.#idleMoves > most ? undefined : due;
  }

  async #due(runIds: readonly string[] | undefined): Promise<NextDue> {
    const { scratch, script } = this.#options;
    const scripted = await script.nextDue(runIds);
    // Who has a moment in the script need not be asked again and again until then.
    const next = await scratch.nextDue(runIds, { polls: scripted === undefined });
    return { ...next, definite: earliest(next.definite, scripted) };
  }

  /** Whose code may run: of those that are waited for, and of what they have started. */
  async #runIds(): Promise<readonly string[] | undefined> {
    const all = [...this.#pending].map(({ goal }) => goal.runIds);
    if (all.includes(undefined)) return undefined;
    return this.#options.scratch.family([...new Set(all.flatMap((ids) => ids ?? []))]);
  }

  #settle(one: Pending, settle: () => void): void {
    if (this.#pending.delete(one)) settle();
  }
}

function earliest(...moments: (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
