import type { OpenCall } from "./calls.ts";
import type { Retries } from "./retries.ts";

/** A timer of Node's that is longer fires at once (F52). A hop is over long before. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Steps of a hop that wait for their next try, in a durable wait; where the hop goes on for that long, it is made here. */
export class NextTries {
  readonly #earlier: Retries;
  readonly #ledgerNowMs: () => number;
  readonly #woken: () => void;
  readonly #tries = new Map<string, number>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #hasTried = false;

  /** @param woken called when a step begins to wait, and when it waits no more */
  constructor(earlier: Retries, ledgerNowMs: () => number, woken: () => void) {
    this.#earlier = earlier;
    this.#ledgerNowMs = ledgerNowMs;
    this.#woken = woken;
  }

  /** How many tries a step has had; undefined where the next one is not due yet: then it waits. */
  before(call: OpenCall): number | undefined {
    const here = this.#tries.get(call.key);
    if (here !== undefined) return here;
    const { triesBefore, dueAt } = this.#earlier.of(call.id);
    if (dueAt === null || dueAt.getTime() <= this.#ledgerNowMs()) return triesBefore;
    this.#wait(call, dueAt, triesBefore);
    return undefined;
  }

  /** After a try of this hop. */
  again(call: OpenCall, dueAt: Date, tries: number): void {
    this.#hasTried = true;
    this.#wait(call, dueAt, tries);
  }

  /** Whether this hop has made a try that is to be made again: it has come further. */
  hasTried(): boolean {
    return this.#hasTried;
  }

  #wait(call: OpenCall, dueAt: Date, tries: number): void {
    call.wait = { owner: "timer", dueAt, tries };
    this.#tries.set(call.key, tries);
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        // Where it is not started, because its hop is about to end, it waits on, and is handed over so.
        call.start();
        this.#woken();
      },
      Math.min(MAX_TIMER_MS, Math.max(0, dueAt.getTime() - this.#ledgerNowMs())),
    );
    this.#timers.add(timer);
    this.#woken();
  }

  /** No step is tried again here. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
