import * as z from "zod";

export const MAX_BODY_BYTES = 1_048_576;
export const MAX_BATCH = 100;
export const MAX_PAGE = 200;

/** ISO 8601 in UTC. */
export const time = z.iso.datetime();
