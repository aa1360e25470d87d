import {
  END_OF_EVENTS,
  errorInLog,
  eventIdOf,
  isTerminalRun,
  placeAfter,
  START_OF_EVENTS,
  type Clock,
  type Codec,
  type EventPlace,
  type EventRecord,
  type EventStore,
  type Logger,
  type RunOfEvents,
  type wire,
} from "@ghouls/core";
import type { Ledger, Progress } from "@ghouls/ledger";
import { among, emittedBetween, isOver, placeBehind, type Retold } from "./emitted.ts";
import { timelineOf } from "../timeline.ts";
import { boundOf, judge, missingOf, placeBefore, take, type Bound } from "./missing.ts";

export interface FollowerOptions {
  readonly ledger: Pick<Ledger, "runs" | "deliveries" | "journal" | "evidence">;
  readonly codec: Codec;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The pauses between two questions to the store, in milliseconds: short where something has just come. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
/** From one look at the ledger to the next while nothing comes, in milliseconds. */
const FIRST_LOOK_MS = 2_000;
const LONGEST_LOOK_MS = 60_000;
/** So long what a worker has just said may take to come, in milliseconds; after that the ledger tells it. */
const ON_ITS_WAY_MS = 4_000;
/** Entries of one batch that the ledger tells. */
const BATCH = 200;

/**
 * Somebody who follows one run (design.md §6): what the live channel has, in order, each event once, and from the ledger what
 * is missing there. It keeps nothing but the place, which is in the id of each batch: another one goes on behind it.
 */
export class Follower {
  readonly #run: RunOfEvents;
  readonly #options: FollowerOptions;
  #place: EventPlace;
  #done = false;
  #quietSince: number;
  #pauseMs = FIRST_PAUSE_MS;
  #lookMs = FIRST_LOOK_MS;
  #nextLook = Number.NEGATIVE_INFINITY;
  #ended = false;
  #warned = false;
  /** What is missing was told in part, behind its mark: the rest comes next. */
  #isFilling = false;

  constructor(run: RunOfEvents, after: EventPlace | typeof END_OF_EVENTS, options: FollowerOptions) {
    this.#run = run;
    this.#options = options;
    this.#done = after === END_OF_EVENTS;
    this.#place = after === END_OF_EVENTS ? START_OF_EVENTS : after;
    this.#quietSince = options.clock.monotonicMs();
  }

  /** The run has ended and all of it was told. */
  get done(): boolean {
    return this.#done;
  }

  /** Milliseconds until it is worth asking again. */
  get pauseMs(): number {
    return this.#pauseMs;
  }

  /**
   * What has come since the last question; nothing is waited for.
   * @throws LedgerError where something is missing and the ledger cannot be asked: the place stays
   */
  async next(): Promise<wire.EventBatch[]> {
    if (this.#done) return [];
    const begun = this.#place.enqueueSeq === 0 ? await this.#begin() : [];
    const batches: wire.EventBatch[] = [];
    const read = await this.#read();
    for (const record of read?.records ?? []) {
      batches.push(...(await this.#takeIn(record)));
      if (this.#isFilling) return this.#goOnSoon([...begun, ...batches]);
    }
    this.#ended ||= read?.ended === true;
    const now = this.#options.clock.monotonicMs();
    if (batches.length > 0) this.#stir(now);
    else this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 1.5);
    if (read?.more === true) this.#pauseMs = 0;
    // Whoever reads at once all that there is looks at the ledger behind it.
    else if (this.#ended || now >= this.#nextLook) batches.push(...(await this.#look(read === undefined)));
    return [...begun, ...batches];
  }

  /** The first event is the ledger's alone. */
  async #begin(): Promise<wire.EventBatch[]> {
    const progress = await this.#progress();
    if (progress === undefined) return [];
    const admitted = { kind: "admitted", at: progress.createdAt.toISOString() } as const;
    this.#place = placeAfter(admitted, this.#place);
    return [{ id: eventIdOf(this.#place), events: [admitted] }];
  }

  #stir(now: number): void {
    this.#quietSince = now;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#lookMs = FIRST_LOOK_MS;
    this.#nextLook = now + FIRST_LOOK_MS;
  }

  /** Undefined where the store is out of reach. */
  async #read() {
    try {
      return await this.#options.store.read(this.#run, this.#place);
    } catch (error) {
      if (!this.#warned) {
        const fields = { runId: this.#run.runId, error: errorInLog(error) };
        this.#options.log.warn("the live channel is out of reach; the ledger tells what it has", fields);
      }
      this.#warned = true;
      return undefined;
    }
  }

  async #takeIn(record: EventRecord): Promise<wire.EventBatch[]> {
    const step = judge(record, this.#place);
    if (step.kind === "past") return [];
    const batches = step.kind === "next" ? [] : await this.#fill(boundOf(record), step.lost, false);
    if (this.#isFilling) return batches;
    if (step.kind === "missing") this.#place = placeBefore(record, this.#place);
    const { events, place } = take(record, this.#place);
    this.#place = place;
    if (events.length > 0) batches.push({ id: eventIdOf(place), events });
    return batches;
  }

  #goOnSoon(batches: wire.EventBatch[]): wire.EventBatch[] {
    this.#pauseMs = 0;
    this.#nextLook = Number.NEGATIVE_INFINITY;
    return batches;
  }

  /**
   * What the ledger has of what is missing, with the copies of what was emitted, marked where the live channel should have had it.
   * @param isDown whether the live channel could not be asked
   */
  async #fill(bound: Bound | undefined, isLost: boolean, isDown: boolean): Promise<wire.EventBatch[]> {
    const place = this.#place;
    const [timeline, said] = await Promise.all([
      this.#timeline(),
      emittedBetween(this.#run, place, bound, this.#options),
    ]);
    const { events, lost } = missingOf(timeline, place, bound);
    const now = this.#options.clock.wallMs();
    // What is still on its way there comes from there, with all that was said before it.
    const mayCome = isDown ? Number.NEGATIVE_INFINITY : now - ON_ITS_WAY_MS;
    const emitted = said.emitted.filter(
      (one) => bound !== undefined || isOver(one, timeline) || Date.parse(one.event.at) <= mayCome,
    );
    const retold = among(events, emitted);
    // Behind the last of a full page there may be more of them, which come first.
    const isPart = said.more && emitted.length > 0 && emitted.length === said.emitted.length;
    const part = isPart
      ? retold.slice(0, retold.findLastIndex(({ number }) => number !== undefined) + 1)
      : retold;
    const isMarked = !this.#isFilling && (isLost || lost || emitted.length > 0);
    const gap: Retold[] = isMarked ? [{ event: { kind: "gap", at: new Date(now).toISOString() } }] : [];
    this.#isFilling = isPart;
    return this.#batchesOf([...gap, ...part]);
  }

  #batchesOf(retold: readonly Retold[]): wire.EventBatch[] {
    const batches: wire.EventBatch[] = [];
    for (let from = 0; from < retold.length; from += BATCH) {
      const some = retold.slice(from, from + BATCH);
      this.#place = some.reduce((place, one) => placeBehind(one, place), this.#place);
      batches.push({ id: eventIdOf(this.#place), events: some.map(({ event }) => event) });
    }
    return batches;
  }

  async #timeline(): Promise<wire.TimelineEntry[]> {
    const { ledger } = this.#options;
    const [run, deliveries, journal] = await Promise.all([
      this.#progress(),
      ledger.deliveries.ofRun(this.#run),
      ledger.journal.outline(this.#run, this.#place.ordinal),
    ]);
    return run === undefined ? [] : timelineOf(run, deliveries, journal);
  }

  async #progress(): Promise<Progress | undefined> {
    return (await this.#options.ledger.runs.progress(this.#run)) ?? undefined;
  }

  async #look(isDown: boolean): Promise<wire.EventBatch[]> {
    const now = this.#options.clock.monotonicMs();
    this.#nextLook = now + this.#lookMs;
    if (!isDown) this.#lookMs = Math.min(LONGEST_LOOK_MS, this.#lookMs * 2);
    const progress = await this.#progress();
    if (progress === undefined) return [];
    const finishedAt = isTerminalRun(progress.status) ? progress.finishedAt : null;
    if (finishedAt !== null) return this.#finish(progress, finishedAt, isDown);
    const isStart = this.#place.enqueueSeq <= 1 && this.#place.stage === 0;
    const isQuiet = now - this.#quietSince >= ON_ITS_WAY_MS;
    if (!isDown && !isStart && !isQuiet) return [];
    const batches = await this.#fill(undefined, false, isDown);
    if (batches.length > 0) this.#stir(now);
    return this.#isFilling ? this.#goOnSoon(batches) : batches;
  }

  /** The end comes last: after what its worker may still be writing, and after all that the ledger has. */
  async #finish(progress: Progress, finishedAt: Date, isDown: boolean): Promise<wire.EventBatch[]> {
    const age = progress.now.getTime() - finishedAt.getTime();
    const { enqueueSeq, stage, ordinal } = this.#place;
    const { enqueueSeq: lastSeq, journalLength } = progress;
    const isWhole = stage === 3 && enqueueSeq === lastSeq && ordinal >= journalLength;
    if (!isWhole && !this.#ended && !isDown && age < ON_ITS_WAY_MS) {
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#nextLook = Number.NEGATIVE_INFINITY;
      return [];
    }
    const batches: wire.EventBatch[] = [];
    const last = isDown ? undefined : await this.#read();
    for (const record of last?.records ?? []) {
      batches.push(...(await this.#takeIn(record)));
      if (this.#isFilling) return this.#goOnSoon(batches);
    }
    if (last?.more === true) {
      this.#nextLook = Number.NEGATIVE_INFINITY;
      return batches;
    }
    batches.push(...(await this.#fill(undefined, false, isDown)));
    if (this.#isFilling) return this.#goOnSoon(batches);
    const { status, errorCode } = progress;
    const finished = { kind: "finished", at: finishedAt.toISOString(), status, errorCode } as const;
    batches.push({ id: END_OF_EVENTS, events: [finished] });
    this.#done = true;
    return batches;
  }
}
