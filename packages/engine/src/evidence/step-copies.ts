import { errorInLog, type Claim, type Logger } from "@ghouls/core";
import type { Ledger, StepCopy } from "@ghouls/ledger";
import { endsWithin } from "../patience.ts";

/** A longer stored text is copied by its digest alone. */
export const MAX_COPY_BYTES = 65_536;

/** Copies that wait, in number and in bytes: what comes beyond is lost, and counted. */
const MOST_COPIES = 2_000;
const MOST_BYTES = 8 * 1_048_576;
/** Copies of one statement. */
const BATCH_COPIES = 100;
const BATCH_BYTES = 1_048_576;
/** A few that wait are written after a while, so that most hops take one statement for all of theirs. */
const PATIENCE_MS = 5_000;
/** An emitted event: before a live channel that has failed is tried again, and what it has lost is looked for here. */
const EVENT_PATIENCE_MS = 1_000;

export interface StepCopiesOptions {
  readonly ledger: { readonly evidence: Pick<Ledger["evidence"], "copySteps"> };
  readonly log: Logger;
  readonly bounds?: { readonly copies: number; readonly bytes: number };
}

/**
 * Writes copies of journal entries for people, beside the work that they are of (design.md §3, Evidence): in their order,
 * several a statement and one statement at a time over all runs of the process, so that they hold one connection at most.
 * They are best effort: what fails is counted and warned of, and nothing waits for it but {@link drain}, which has a bound.
 */
export class StepCopies {
  readonly #options: StepCopiesOptions;
  readonly #bounds: { readonly copies: number; readonly bytes: number };
  #waiting: StepCopy[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** After how many milliseconds it fires. */
  #timerMs = 0;
  /** By run: copies that are neither written nor lost yet. */
  readonly #open = new Map<string, number>();
  readonly #lost = new Map<string, { copies: number; why: string }>();

  constructor(options: StepCopiesOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? { copies: MOST_COPIES, bytes: MOST_BYTES };
  }

  /** Never throws, and never waits. */
  add(copy: StepCopy): void {
    const bytes = bytesOf(copy);
    if (this.#waiting.length >= this.#bounds.copies || this.#bytes + bytes > this.#bounds.bytes) {
      return this.#lose(copy, "too many wait to be written");
    }
    this.#waiting.push(copy);
    this.#bytes += bytes;
    this.#count(this.#open, copy, 1);
    if (this.#waiting.length >= BATCH_COPIES || this.#bytes >= BATCH_BYTES) void this.#write();
    else this.#writeWithin(copy.number === undefined ? PATIENCE_MS : EVENT_PATIENCE_MS);
  }

  #writeWithin(ms: number): void {
    if (this.#timer !== undefined && this.#timerMs <= ms) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#write(), ms);
    this.#timerMs = ms;
  }

  /** Waits until the copies of a run are written, or lost, or this many milliseconds are over. Never rejects. */
  async drain({ runId }: Pick<Claim, "runId">, withinMs: number, log: Logger): Promise<void> {
    const drained = async () => {
      while ((this.#open.get(runId) ?? 0) > 0) await this.#write();
    };
    if (!(await endsWithin(drained(), withinMs))) this.#giveUp(runId);
    const lost = this.#lost.get(runId);
    this.#lost.delete(runId);
    this.#open.delete(runId);
    if (lost === undefined) return;
    log.warn("copies of steps were lost: the journal has what they are of", {
      count: lost.copies,
      error: lost.why,
    });
  }

  /** What waits is lost; what is on its way may still be written, and is counted as lost all the same. */
  #giveUp(runId: string): void {
    const [gone, kept] = [
      this.#waiting.filter(({ claim }) => claim.runId === runId),
      this.#waiting.filter(({ claim }) => claim.runId !== runId),
    ];
    this.#waiting = kept;
    this.#bytes = kept.reduce((sum, copy) => sum + bytesOf(copy), 0);
    const [first] = gone;
    const open = this.#open.get(runId) ?? 0;
    this.#open.delete(runId);
    const lost = this.#lost.get(runId);
    const why = lost?.why ?? (first === undefined ? "no answer in time" : "they were not written in time");
    this.#lost.set(runId, { copies: (lost?.copies ?? 0) + open, why });
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      try {
        await this.#options.ledger.evidence.copySteps(batch);
        for (const copy of batch) this.#count(this.#open, copy, -1);
      } catch (error) {
        const why = errorInLog(error);
        for (const copy of batch) {
          // One that was given up meanwhile is counted already.
          if (this.#open.has(copy.claim.runId)) this.#lose(copy, why);
          this.#count(this.#open, copy, -1);
        }
      }
    }
  }

  #take(): StepCopy[] {
    let [count, bytes] = [0, 0];
    for (const copy of this.#waiting) {
      if (count >= BATCH_COPIES || (count > 0 && bytes + bytesOf(copy) > BATCH_BYTES)) break;
      count += 1;
      bytes += bytesOf(copy);
    }
    this.#bytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  #lose({ claim: { runId } }: StepCopy, why: string): void {
    const lost = this.#lost.get(runId);
    this.#lost.set(runId, { copies: (lost?.copies ?? 0) + 1, why: lost?.why ?? why });
  }

  #count(counts: Map<string, number>, { claim: { runId } }: StepCopy, by: number): void {
    const now = counts.get(runId);
    if (now === undefined && by < 0) return;
    counts.set(runId, (now ?? 0) + by);
  }
}

function bytesOf({ bodyText }: StepCopy): number {
  return 200 + (bodyText === null ? 0 : Buffer.byteLength(bodyText));
}
