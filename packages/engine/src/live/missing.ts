import { isTold, placeAfter, type EventPlace, type EventRecord, type wire } from "@ghouls/core";

/** Kinds that the live channel does not have; a timeline has them. */
const NOT_LIVE: ReadonlySet<wire.RunEvent["kind"]> = new Set([
  "delivery",
  "skipped",
  "worker_ended",
  "finished",
]);

/** What a reader at a place does with a record. */
export type Step =
  /** All of it was told, or it is of a hop that is known to be over. */
  | { readonly kind: "past" }
  /** It comes next. */
  | { readonly kind: "next" }
  /** Something between the place and it is missing, which the ledger may know. */
  | { readonly kind: "missing"; readonly lost: boolean };

/** How a record stands to a place: the numbers of a hop's events have no holes, and deliveries follow each other. */
export function judge(record: EventRecord, place: EventPlace): Step {
  const { enqueueSeq: seq, first } = record;
  if (seq < place.enqueueSeq) return { kind: "past" };
  const stands = seq === place.enqueueSeq;
  const isNext = seq === place.enqueueSeq + 1 && place.stage === 3;
  if (record.part === "published") {
    if (stands && place.stage > 0) return { kind: "past" };
    return stands || isNext ? { kind: "next" } : { kind: "missing", lost: false };
  }
  if (stands && place.stage === 3) return { kind: "past" };
  if (stands && first + record.events.length - 1 <= place.number) return { kind: "past" };
  const number = stands ? place.number : 0;
  if (first > number + 1) return { kind: "missing", lost: true };
  const step = firstStep(record);
  const isJournaled = step === undefined || step <= place.ordinal + 1;
  // It was published before it was claimed, and says its claim first.
  const isKnown = stands && place.stage > 0;
  return isKnown && isJournaled ? { kind: "next" } : { kind: "missing", lost: false };
}

function firstStep({ events }: EventRecord): number | undefined {
  for (const event of events) if (event.kind === "step") return event.ordinal;
  return undefined;
}

/** Where a record begins, as a bound for what is missing before it. */
export interface Bound {
  readonly enqueueSeq: number;
  readonly stage: EventPlace["stage"];
  /** Behind the last journal entry that may be missing. */
  readonly ordinal: number;
  /** Of the first event of its hop that is not missing. */
  readonly number: number;
}

export function boundOf(record: EventRecord): Bound {
  const { enqueueSeq, part, first } = record;
  const stage = part === "published" ? 0 : first === 1 ? 1 : 2;
  const number = part === "published" ? 0 : first;
  return { enqueueSeq, stage, number, ordinal: firstStep(record) ?? Number.POSITIVE_INFINITY };
}

/** The place right before a record, whatever of what came before was told. */
export function placeBefore(record: EventRecord, place: EventPlace): EventPlace {
  const { enqueueSeq, part, first } = record;
  const stands = enqueueSeq === place.enqueueSeq;
  const stage = boundOf(record).stage;
  if (part === "published") return { ...place, enqueueSeq, stage: 0, number: 0 };
  return {
    enqueueSeq,
    stage: stands && place.stage > stage ? place.stage : stage,
    number: Math.max(first - 1, stands ? place.number : 0),
    ordinal: place.ordinal,
  };
}

/** What of a record was not told yet, and the place behind it. */
export function take(record: EventRecord, place: EventPlace): { events: wire.RunEvent[]; place: EventPlace } {
  const events: wire.RunEvent[] = [];
  let at = placeBefore(record, place);
  const skipped = record.part === "hop" ? Math.max(0, at.number - record.first + 1) : 0;
  for (const event of record.events.slice(skipped)) {
    if (!isTold(event, at)) events.push(event);
    at = placeAfter(event, at);
  }
  const number = record.part === "hop" ? record.first + record.events.length - 1 : 0;
  return { events, place: { ...at, number } };
}

/**
 * What the ledger knows that was not told at a place, in order, up to a bound; all of it without one. `lost` says whether
 * the live channel would have had any of it.
 */
export function missingOf(
  timeline: readonly wire.TimelineEntry[],
  place: EventPlace,
  bound?: Bound,
): { readonly events: wire.TimelineEntry[]; readonly lost: boolean } {
  const events = timeline.filter(
    (entry) => !NOT_LIVE.has(entry.kind) && !isTold(entry, place) && isBefore(entry, bound),
  );
  const lost = events.some(({ kind }) => kind === "claimed" || kind === "step");
  return { events, lost };
}

const sameDelivery = (a: { enqueueSeq: number }, b: { enqueueSeq: number }) => a.enqueueSeq === b.enqueueSeq;

const STAGE: Partial<Record<wire.RunEvent["kind"], number>> = {
  published: 0,
  claimed: 1,
  settled: 3,
  fenced: 3,
};

function isBefore(entry: wire.TimelineEntry, bound: Bound | undefined): boolean {
  if (bound === undefined || entry.kind === "admitted") return true;
  if (entry.kind === "step") {
    const isEarlier = entry.enqueueSeq < bound.enqueueSeq;
    // Of its own hop, what came before it.
    return entry.ordinal < bound.ordinal && (isEarlier || (bound.stage === 2 && sameDelivery(entry, bound)));
  }
  if (!("enqueueSeq" in entry) || entry.enqueueSeq > bound.enqueueSeq) return false;
  if (entry.enqueueSeq < bound.enqueueSeq) return true;
  return (STAGE[entry.kind] ?? 3) < bound.stage;
}
