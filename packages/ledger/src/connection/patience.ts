/**
 * How long a call waits for a connection in all, over its pauses and tries. Ending it takes its timer away. Time is a
 * timer's here, because nothing reads a clock below floor 4.
 */
export class Patience {
  readonly #chance: () => number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #ended = new AbortController();

  constructor(milliseconds: number, chance: () => number) {
    this.#chance = chance;
    this.#timer = setTimeout(() => this.#ended.abort(), milliseconds);
  }

  get over(): boolean {
    return this.#ended.signal.aborted;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Whether another try is allowed, after a pause that doubles with each failed one, spread over half of it to both sides.
   * It stays well below a heartbeat's interval, which a server that comes back must not lose to it.
   */
  async allows(failed: number, longestMs = 400): Promise<boolean> {
    if (this.over) return false;
    const pause = Math.min(longestMs, 50 * 2 ** (failed - 1)) * (0.5 + this.#chance());
    await this.bound(new Promise<void>((resolve) => setTimeout(resolve, pause)));
    return !this.over;
  }

  /** The work's answer, or undefined where the patience ends before it. Work that begins after its end is not bound. */
  async bound<T>(work: Promise<T>): Promise<T | undefined> {
    if (this.over) return work;
    const { signal } = this.#ended;
    let stop: (() => void) | undefined;
    const ended = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined);
      signal.addEventListener("abort", stop, { once: true });
    });
    try {
      return await Promise.race([work, ended]);
    } finally {
      if (stop !== undefined) signal.removeEventListener("abort", stop);
    }
  }
}
