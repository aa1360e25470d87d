import {
  errorInLog,
  END_OF_EVENTS,
  type Clock,
  type EventRecord,
  type EventStore,
  type LiveEvent,
  type LiveHop,
  type LiveStream,
  type Logger,
  type wire,
} from "@ghouls/core";
import { endsWithin } from "../patience.ts";

export interface LiveChannelOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What comes together within this is written together, in milliseconds: what is said live soon, facts a little later. */
const GATHER_MS = 60;
const GATHER_FACTS_MS = 250;
/** Of what waits to be written of one hop, in bytes; what comes beyond is lost, and seen as a gap. */
const MOST_WAITING_BYTES = 1_048_576;
/** Of all chunks of one hop, in bytes: a channel is for people who look on, not an archive. */
const MOST_CHUNK_BYTES = 8 * 1_048_576;
/** Of one record, well below DynamoDB's 400 KB for an item, also after a codec. */
const RECORD_BYTES = 131_072;
const RECORD_EVENTS = 1_000;
const TRIES = 2;
/** After a failure nothing is tried for a while, in milliseconds: a store that is down costs no hop its time. */
const SILENCE_MS = 2_000;

interface Numbered {
  readonly number: number;
  readonly event: wire.RunEvent;
  readonly bytes: number;
}

/** What one hop has said and what of it is not written yet. */
interface Said {
  readonly hop: LiveHop;
  last: number;
  waiting: Numbered[];
  waitingBytes: number;
  /** Events of the record that is being written. */
  onItsWay: number;
  chunkBytes: number;
  lost: number;
  why: string | undefined;
  writing: Promise<void> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** After how many milliseconds it fires. */
  timerMs: number;
  /** Nothing more is gathered: what waits is written at once, or not at all. */
  /** The run has ended with this hop, and whether the last record says so. */
  finished: boolean;
  endIsSaid: boolean;
  closing: "no" | "draining" | "given up";
}

/**
 * The live channel as a worker writes it (design.md §3): what a hop says, in its order, under numbers of the hop's own, a record
 * at a time, so that whoever reads sees what is missing. It holds nobody up: what cannot be written is lost, and counted.
 */
export class LiveChannel implements LiveStream {
  readonly #options: LiveChannelOptions;
  readonly #said = new Map<string, Said>();
  #silentUntil = Number.NEGATIVE_INFINITY;

  constructor(options: LiveChannelOptions) {
    this.#options = options;
  }

  write({ channel, chunk, ...hop }: LiveEvent): void {
    const said = this.#of(hop);
    const at = new Date(this.#options.clock.wallMs()).toISOString();
    const bytes = Buffer.byteLength(chunk);
    said.chunkBytes += bytes;
    if (said.chunkBytes > MOST_CHUNK_BYTES) {
      said.last += 1;
      return this.#lose(said, 1, "a hop said too much");
    }
    this.#add(said, { kind: "chunk", at, enqueueSeq: hop.enqueueSeq, channel, chunk }, bytes);
  }

  tell(hop: LiveHop, event: wire.RunEvent): number {
    const said = this.#of(hop);
    this.#add(said, event, JSON.stringify(event).length);
    return said.last;
  }

  end(): void {
    // A hop is known by what it says last, and by its drain.
  }

  async drain(hop: LiveHop, withinMs: number, finished: boolean): Promise<void> {
    const said = this.#of(hop);
    said.closing = "draining";
    const drained = async (): Promise<void> => {
      said.finished = finished;
      while (said.waiting.length > 0 || said.writing !== undefined) await this.#write(said);
      if (finished && !said.endIsSaid) await this.#put(said, END_OF_EVENTS);
    };
    const inTime = await endsWithin(drained(), withinMs);
    said.closing = "given up";
    clearTimeout(said.timer);
    this.#said.delete(keyOf(hop));
    if (!inTime) {
      this.#lose(said, said.waiting.length + said.onItsWay, "no answer in time");
      this.#silentUntil = this.#options.clock.monotonicMs() + SILENCE_MS;
    }
    // A process that is frozen and comes back to life must not go on here.
    said.waiting = [];
    if (said.lost === 0) return;
    this.#options.log.warn("the live channel has gaps: whoever looks on gets what the ledger has", {
      runId: hop.runId,
      count: said.lost,
      error: said.why ?? "unknown",
    });
  }

  #of(hop: LiveHop): Said {
    const known = this.#said.get(keyOf(hop));
    if (known !== undefined) return known;
    const { tenantId, runId, enqueueSeq } = hop;
    const made: Said = {
      hop: { tenantId, runId, enqueueSeq },
      last: 0,
      waiting: [],
      waitingBytes: 0,
      onItsWay: 0,
      chunkBytes: 0,
      lost: 0,
      why: undefined,
      writing: undefined,
      timer: undefined,
      timerMs: 0,
      finished: false,
      endIsSaid: false,
      closing: "no",
    };
    this.#said.set(keyOf(hop), made);
    return made;
  }

  #add(said: Said, event: wire.RunEvent, length: number): void {
    said.last += 1;
    const bytes = length + EVENT_BYTES;
    if (said.waitingBytes + bytes > MOST_WAITING_BYTES) return this.#lose(said, 1, "too much waits");
    said.waiting.push({ number: said.last, event, bytes });
    said.waitingBytes += bytes;
    if (said.closing === "no" && said.writing === undefined)
      this.#writeSoon(said, event.kind === "chunk" || event.kind === "emitted" ? GATHER_MS : GATHER_FACTS_MS);
  }

  #writeSoon(said: Said, withinMs: number): void {
    if (said.timer !== undefined && said.timerMs <= withinMs) return;
    clearTimeout(said.timer);
    said.timer = setTimeout(() => void this.#write(said), withinMs);
    said.timerMs = withinMs;
  }

  #lose(said: Said, count: number, why: string): void {
    said.lost += count;
    said.why ??= why;
  }

  /** Writes what waits. Never rejects. */
  #write(said: Said): Promise<void> {
    clearTimeout(said.timer);
    said.timer = undefined;
    said.writing ??= this.#writeNext(said).finally(() => {
      said.writing = undefined;
      if (said.waiting.length > 0 && said.closing === "no") this.#writeSoon(said, GATHER_MS);
    });
    return said.writing;
  }

  async #writeNext(said: Said): Promise<void> {
    do {
      const { record, count } = this.#take(said);
      said.onItsWay = count;
      if (record !== undefined) {
        if (await this.#put(said, record)) said.endIsSaid ||= record.isLast === true;
        else said.lost += count;
      }
      said.onItsWay = 0;
      // Half a record can wait for more; a whole one is overdue.
    } while (said.waitingBytes > RECORD_BYTES && said.closing !== "given up");
  }

  /** The longest row of numbers without a hole, within the bounds of a record. */
  #take(said: Said): { readonly record: EventRecord | undefined; readonly count: number } {
    const [begin] = said.waiting;
    if (begin === undefined) return { record: undefined, count: 0 };
    let bytes = 0;
    let count = 0;
    for (const { number, bytes: more } of said.waiting) {
      const fits = count < RECORD_EVENTS && (count === 0 || bytes + more <= RECORD_BYTES);
      if (!fits || number !== begin.number + count) break;
      bytes += more;
      count += 1;
    }
    const taken = said.waiting.splice(0, count);
    said.waitingBytes -= bytes;
    const { enqueueSeq } = said.hop;
    const events = taken.map(({ event }) => event);
    const isLast = said.finished && said.waiting.length === 0;
    const record = { enqueueSeq, part: "hop", first: begin.number, events } as const;
    return { record: isLast ? { ...record, isLast } : record, count };
  }

  /** False where it was not taken, or nobody knows. */
  async #put(said: Said, record: EventRecord | typeof END_OF_EVENTS): Promise<boolean> {
    const { store, clock } = this.#options;
    if (clock.monotonicMs() < this.#silentUntil) return false;
    for (let count = 1; ; count += 1) {
      try {
        // The same once more under its own place: it may have been taken before.
        await store.put(said.hop, record);
        return true;
      } catch (error) {
        said.why ??= errorInLog(error);
        if (count < TRIES && said.closing !== "given up") continue;
        this.#silentUntil = clock.monotonicMs() + SILENCE_MS;
        return false;
      }
    }
  }
}

/** What an event takes beside its text, roughly. */
const EVENT_BYTES = 120;

const keyOf = ({ runId, enqueueSeq }: LiveHop): string => `${runId}:${enqueueSeq}`;
