import { END_OF_EVENTS, GhoulsError, isRunId, parseEventId, START_OF_EVENTS } from "@ghouls/core";
import { Follower, type FollowerOptions } from "./follower.ts";

export interface EventService {
  /**
   * Somebody who follows a run of a tenant from its beginning, or from behind the batch with this id.
   * @returns undefined where there is no such run
   * @throws GhoulsError invalid_request for an id that is none of ours
   */
  follow(tenantId: string, runId: string, after: string | undefined): Promise<Follower | undefined>;
}

/** What people and programs follow: the live channel, completed by the ledger (design.md §6). */
export function createEvents(options: FollowerOptions): EventService {
  return {
    follow: async (tenantId, runId, after) => {
      const place = after === undefined || after === "" ? START_OF_EVENTS : placeOf(after);
      if (!isRunId(runId)) return undefined;
      const run = { tenantId, runId };
      if ((await options.ledger.runs.progress(run)) === null) return undefined;
      return new Follower(run, place, options);
    },
  };
}

function placeOf(id: string) {
  if (id === END_OF_EVENTS) return END_OF_EVENTS;
  const place = parseEventId(id);
  if (place !== undefined) return place;
  throw new GhoulsError("invalid_request", "this event id is not one of ours", {
    fix: "Send the id of the last batch unchanged, or none to begin with the first event.",
  });
}
