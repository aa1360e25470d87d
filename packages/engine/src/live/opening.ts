import { errorInLog, type Clock, type EventStore, type Logger, type Publication } from "@ghouls/core";
import { endsWithin } from "../patience.ts";

/** What a publication waits for its channel, in milliseconds. */
const PATIENCE_MS = 300;
/** After a failure nothing is tried for a while, in milliseconds. */
const SILENCE_MS = 2_000;

export interface OpeningOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Opens the live channel of deliveries before they are published, so that whoever looks on learns of them first from there
 * (design.md §3, Admit). Never rejects: where it cannot be opened in time the ledger tells of it later.
 */
export function createOpening({ store, clock, log }: OpeningOptions) {
  let silentUntil = Number.NEGATIVE_INFINITY;
  const fail = (count: number, error: string): void => {
    silentUntil = clock.monotonicMs() + SILENCE_MS;
    log.warn("the live channel could not be opened; whoever looks on gets what the ledger has", {
      count,
      error,
    });
  };
  return async (publications: readonly Publication[]): Promise<void> => {
    if (clock.monotonicMs() < silentUntil) return;
    const at = new Date(clock.wallMs()).toISOString();
    const records = publications.map(({ tenantId, runId, enqueueSeq }) => {
      const event = { kind: "published", at, enqueueSeq, publications: 1 } as const;
      return {
        tenantId,
        runId,
        record: { enqueueSeq, part: "published", first: 1, events: [event] } as const,
      };
    });
    const putting = store.putMany(records).then(
      (left) => left > 0 && fail(left, "they were not taken"),
      (error: unknown) => fail(records.length, errorInLog(error)),
    );
    if (!(await endsWithin(putting, PATIENCE_MS))) fail(records.length, "no answer in time");
  };
}
