import {
  errorInLog,
  placeAfter,
  type Codec,
  type EventPlace,
  type Logger,
  type RunOfEvents,
  type wire,
} from "@ghouls/core";
import { END_OF_SAID, type EmittedCopy, type Ledger, type SaidPlace } from "@ghouls/ledger";
import type { Bound } from "./missing.ts";

/** Emitted events that are told of a gap at a time: each may have 16 KiB. */
const EMITTED_AT_A_TIME = 100;

/** An event that a hop has emitted, with the number that the hop gave it. */
export interface Emitted {
  readonly number: number;
  readonly event: Extract<wire.RunEvent, { kind: "emitted" }>;
}

/** An event of what is told again: the number of an emitted one tells how far a reader has come in its hop. */
export interface Retold {
  readonly event: wire.RunEvent;
  readonly number?: number;
}

export interface EmittedReading {
  readonly ledger: { readonly evidence: Pick<Ledger["evidence"], "emitted"> };
  readonly codec: Codec;
  readonly log: Logger;
}

/**
 * What the copies have of the events that were emitted behind a place and before a bound, and whether there is more. One whose
 * copy cannot be read is lost, as a chunk is.
 */
export async function emittedBetween(
  run: RunOfEvents,
  place: EventPlace,
  bound: Bound | undefined,
  { ledger, codec, log }: EmittedReading,
): Promise<{ readonly emitted: readonly Emitted[]; readonly more: boolean }> {
  const number = place.stage === 3 ? END_OF_SAID.number : place.number;
  const before = bound === undefined ? END_OF_SAID : { seq: bound.enqueueSeq, number: bound.number };
  const after: SaidPlace = { seq: place.enqueueSeq, number };
  const found = await ledger.evidence.emitted(run, after, before, EMITTED_AT_A_TIME);
  const read = async (copy: EmittedCopy): Promise<Emitted[]> => {
    try {
      return [await emittedOf(run, copy, codec)];
    } catch (error) {
      const { runId } = run;
      log.warn("the copy of an emitted event cannot be read", { runId, error: errorInLog(error) });
      return [];
    }
  };
  return { emitted: (await Promise.all(found.map(read))).flat(), more: found.length === EMITTED_AT_A_TIME };
}

async function emittedOf(
  { tenantId, runId }: RunOfEvents,
  { seq: enqueueSeq, number, call, at, bodyText }: EmittedCopy,
  codec: Codec,
): Promise<Emitted> {
  const [, name = ""] = JSON.parse(call) as string[];
  const data: unknown = JSON.parse(await codec.decode(bodyText, { tenantId, runId, kind: "event" }));
  return { number, event: { kind: "emitted", at: at.toISOString(), enqueueSeq, name, data } };
}

/**
 * Emitted events among what the ledger tells: those of a hop after its claim, before its end, and by their time among what it
 * has journaled. Both keep their own order.
 */
export function among(entries: readonly wire.TimelineEntry[], emitted: readonly Emitted[]): Retold[] {
  const retold: Retold[] = [];
  let next = 0;
  for (const entry of entries) {
    for (let one = emitted[next]; one !== undefined && isBefore(one, entry); one = emitted[next]) {
      retold.push(one);
      next += 1;
    }
    retold.push({ event: entry });
  }
  return [...retold, ...emitted.slice(next)];
}

function isBefore({ event }: Emitted, entry: wire.TimelineEntry): boolean {
  if (!("enqueueSeq" in entry)) return false;
  if (event.enqueueSeq !== entry.enqueueSeq) return event.enqueueSeq < entry.enqueueSeq;
  return isEnd(entry) || (entry.kind === "step" && event.at < entry.at);
}

const isEnd = ({ kind }: wire.RunEvent): boolean => kind === "settled" || kind === "fenced";

/** Whether the hop that said it is over, by what is told. */
export function isOver({ event }: Emitted, entries: readonly wire.TimelineEntry[]): boolean {
  return entries.some(
    (entry) =>
      "enqueueSeq" in entry &&
      (entry.enqueueSeq > event.enqueueSeq || (entry.enqueueSeq === event.enqueueSeq && isEnd(entry))),
  );
}

/** Where whoever stood at a place stands once this was told too. */
export function placeBehind({ event, number }: Retold, place: EventPlace): EventPlace {
  const moved = placeAfter(event, place);
  const isOfIt = number !== undefined && "enqueueSeq" in event && event.enqueueSeq === moved.enqueueSeq;
  return isOfIt ? { ...moved, number: Math.max(moved.number, number) } : moved;
}
