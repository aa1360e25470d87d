import { END_OF_EVENTS, type EventStore, type Logger, type RunOfEvents, errorInLog } from "@ghouls/core";
import { endsWithin } from "../patience.ts";

/** What the word of an end may take, in milliseconds. */
const PATIENCE_MS = 300;

/** Says to those who look on that a run has ended. Never rejects, and takes a moment at most. */
export type CloseChannel = (run: RunOfEvents) => Promise<void>;

/**
 * Closes the live channel of runs that end without a worker. Where the word is lost, whoever looks on learns of the end from
 * the ledger, a little later.
 */
export function createClosing(options: { readonly store: EventStore; readonly log: Logger }): CloseChannel {
  const { store, log } = options;
  return async (run) => {
    const { tenantId, runId } = run;
    const closing = store.put({ tenantId, runId }, END_OF_EVENTS).catch((error: unknown) => {
      log.warn("the live channel of a run that has ended could not be closed", {
        runId,
        error: errorInLog(error),
      });
    });
    await endsWithin(closing, PATIENCE_MS);
  };
}
