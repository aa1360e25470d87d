import type { LiveEvent, LiveStream } from "@ghouls/core";

export interface LiveRingBounds {
  /** Of one run; its oldest events go first. */
  readonly bytesPerRun: number;
  /** Of all runs; the run that has said nothing for the longest goes first, as a whole. */
  readonly bytes: number;
  /** So many runs are remembered whose hop has ended. */
  readonly endedRuns: number;
}

const DEFAULT_LIVE_RING_BOUNDS: LiveRingBounds = {
  bytesPerRun: 262_144,
  bytes: 4_194_304,
  endedRuns: 32,
};

/** What an event takes beside its texts, roughly. */
const EVENT_BYTES = 256;

interface Kept {
  events: LiveEvent[];
  bytes: number;
}

/** Keeps the latest of what runs say in this process, within bounds: until a live channel takes it elsewhere. */
export class LiveRing implements LiveStream {
  readonly #bounds: LiveRingBounds;
  /** By run, the one that spoke last at the end. */
  readonly #runs = new Map<string, Kept>();
  /** Runs without a hop, the one whose hop ended last at the end. */
  readonly #ended = new Set<string>();
  #bytes = 0;

  constructor(bounds = DEFAULT_LIVE_RING_BOUNDS) {
    this.#bounds = bounds;
  }

  write(event: LiveEvent): void {
    const { runId } = event;
    const kept = this.#runs.get(runId) ?? { events: [], bytes: 0 };
    this.#runs.delete(runId);
    this.#runs.set(runId, kept);
    this.#ended.delete(runId);
    kept.events.push(event);
    this.#count(kept, sizeOf(event));
    while (kept.bytes > this.#bounds.bytesPerRun) {
      const oldest = kept.events.shift();
      if (oldest === undefined) break;
      this.#count(kept, -sizeOf(oldest));
    }
    for (const silent of this.#runs.keys()) {
      if (this.#bytes <= this.#bounds.bytes) break;
      this.#forget(silent);
    }
  }

  end({ runId }: Pick<LiveEvent, "runId">): void {
    if (!this.#runs.has(runId)) return;
    this.#ended.delete(runId);
    this.#ended.add(runId);
    const [first] = this.#ended;
    if (this.#ended.size > this.#bounds.endedRuns && first !== undefined) this.#forget(first);
  }

  /** Only what is said is kept here. */
  tell(): undefined {
    // The ledger has what has happened, and whoever reads this asks it.
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  /** What is kept of a run, the oldest first. */
  read(runId: string): readonly LiveEvent[] {
    return [...(this.#runs.get(runId)?.events ?? [])];
  }

  clear(): void {
    for (const runId of this.#runs.keys()) this.#forget(runId);
  }

  #count(kept: Kept, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
  }

  #forget(runId: string): void {
    this.#bytes -= this.#runs.get(runId)?.bytes ?? 0;
    this.#runs.delete(runId);
    this.#ended.delete(runId);
  }
}

/** As this process holds texts: two bytes a unit. */
function sizeOf({ channel, chunk }: LiveEvent): number {
  return EVENT_BYTES + 2 * (channel.length + chunk.length);
}
