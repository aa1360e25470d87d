import * as z from "zod";
import { time } from "./frame.ts";
import { TimelineEntry } from "./runs.ts";

/** What a run says while it is carried, by `ctx.stream`: live only, never journaled. */
const Chunk = z.object({
  kind: z.literal("chunk"),
  at: time,
  enqueueSeq: z.int(),
  channel: z.string(),
  chunk: z.string(),
});

/** What a run tells those who look on, by `ctx.emit`. Said again where it is done again. */
const Emitted = z.object({
  kind: z.literal("emitted"),
  at: time,
  enqueueSeq: z.int(),
  name: z.string(),
  /** Any JSON; null for nothing. */
  data: z.unknown(),
});

/**
 * Something of the live channel is missing here: it was not kept, has expired, or could not be written. What the ledger knows
 * of that time follows, and what was emitted, of which it has copies; chunks do not come again.
 */
const Gap = z.object({ kind: z.literal("gap"), at: time });

export const RunEvent = z.discriminatedUnion("kind", [...TimelineEntry.options, Chunk, Emitted, Gap]);
export type RunEvent = z.infer<typeof RunEvent>;
export type ChunkEvent = z.infer<typeof Chunk>;

/** Events that come together. Whoever has them goes on behind `id`. */
export const EventBatch = z.object({ id: z.string(), events: z.array(RunEvent) });
export type EventBatch = z.infer<typeof EventBatch>;

/** The answer of a long poll. */
export const EventPage = z.object({
  batches: z.array(EventBatch),
  /** The run has ended and all of it was told. */
  done: z.boolean(),
  /** Where the next poll goes on: its `after`. */
  nextAfter: z.string().nullable(),
});
export type EventPage = z.infer<typeof EventPage>;
