import type { RunEvent } from "./wire/events.ts";

/**
 * How far somebody has followed a run: of one delivery, since at most one of a run is open and their numbers grow. What is
 * behind it has been told, whoever told it.
 */
export interface EventPlace {
  /** 0 before the first delivery. */
  readonly enqueueSeq: number;
  /** What was told of that delivery: nothing, that it was published, that it was claimed, how its hop ended. */
  readonly stage: 0 | 1 | 2 | 3;
  /** Of the last event that its hop said by itself; 0 for none. */
  readonly number: number;
  /** Of the last journal entry. */
  readonly ordinal: number;
}

export const START_OF_EVENTS: EventPlace = { enqueueSeq: 0, stage: 3, number: 0, ordinal: 0 };

const ID = /^(\d{1,10})\.([0-3])\.(\d{1,10})\.(\d{1,10})$/;

/** The id of an event batch whose reader stands at this place. */
export function eventIdOf({ enqueueSeq, stage, number, ordinal }: EventPlace): string {
  return `${enqueueSeq}.${stage}.${number}.${ordinal}`;
}

/** Undefined for an id that is none of ours. */
export function parseEventId(id: string): EventPlace | undefined {
  const match = ID.exec(id);
  if (match === null) return undefined;
  const [enqueueSeq = 0, stage = 0, number = 0, ordinal = 0] = match.slice(1).map(Number);
  return { enqueueSeq, stage: stage as EventPlace["stage"], number, ordinal };
}

const STAGES: Partial<Record<RunEvent["kind"], EventPlace["stage"]>> = {
  published: 1,
  claimed: 2,
  settled: 3,
  fenced: 3,
};

/**
 * Whether an event was told to whoever stands at a place. Only of what the ledger knows of as well; of all else the numbers
 * say it.
 */
export function isTold(event: RunEvent, place: EventPlace): boolean {
  switch (event.kind) {
    case "admitted":
      return place.enqueueSeq > 0;
    case "step":
      return event.ordinal <= place.ordinal;
    case "published":
    case "claimed":
    case "settled":
    case "fenced":
      return (
        event.enqueueSeq < place.enqueueSeq ||
        (event.enqueueSeq === place.enqueueSeq && (STAGES[event.kind] ?? 0) <= place.stage)
      );
    case "delivery":
    case "skipped":
    case "worker_ended":
    case "finished":
    case "chunk":
    case "emitted":
    case "gap":
      return false;
  }
}

/** Where whoever stood at a place stands once this was told too. */
export function placeAfter(event: RunEvent, place: EventPlace): EventPlace {
  if (event.kind === "admitted") return { enqueueSeq: 1, stage: 0, number: 0, ordinal: place.ordinal };
  if (event.kind === "step") return { ...place, ordinal: Math.max(place.ordinal, event.ordinal) };
  const stage = STAGES[event.kind];
  return stage === undefined || !("enqueueSeq" in event)
    ? place
    : withDelivery(place, event.enqueueSeq, stage);
}

function withDelivery(place: EventPlace, enqueueSeq: number, stage: EventPlace["stage"]): EventPlace {
  if (enqueueSeq < place.enqueueSeq) return place;
  if (enqueueSeq > place.enqueueSeq) return { ...place, enqueueSeq, stage, number: 0 };
  return stage > place.stage ? { ...place, stage } : place;
}
