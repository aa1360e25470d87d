import * as z from "zod";
import { OPEN_RUN, statesOf } from "../transitions.ts";
import { Labels, WORKFLOW_NAME } from "./admission.ts";
import { time } from "./frame.ts";

/** The word of whoever cancels a run or settles an item; it is kept. */
export const ReasonRequest = z.strictObject({ reason: z.string().trim().min(1).max(1_000) });
export type ReasonRequest = z.infer<typeof ReasonRequest>;

export const Cancelled = z.object({
  runId: z.string(),
  /** False where the run had been decided before: `status` says how. */
  cancelled: z.boolean(),
  status: z.enum(statesOf("run")),
});
export type Cancelled = z.infer<typeof Cancelled>;

export const Resolved = z.object({
  runId: z.string(),
  item: z.string(),
  /** What is left to acknowledge. */
  openItems: z.int(),
  status: z.enum(statesOf("run")),
});
export type Resolved = z.infer<typeof Resolved>;

export const Cleared = z.object({
  runId: z.string(),
  /** False where the run was not quarantined. */
  cleared: z.boolean(),
  status: z.enum(statesOf("run")),
});
export type Cleared = z.infer<typeof Cleared>;

/** Most runs that one request cancels. */
export const MAX_CANCEL = 100;

/** Which runs are meant that have not ended; what is given must all hold. */
export const CancelFilter = z
  .strictObject({
    status: z.array(z.enum(OPEN_RUN)).min(1).max(OPEN_RUN.length).optional(),
    workflow: z.string().regex(WORKFLOW_NAME).optional(),
    /** At that moment or later. */
    admittedAfter: time.optional(),
    admittedBefore: time.optional(),
    /** Runs that this one has started. */
    parentRunId: z.uuid().optional(),
    /** Only those that ask for a person. */
    attention: z.literal(true).optional(),
    /** Only those that have all of these. */
    labels: Labels.optional(),
  })
  .refine((filter) => Object.keys(filter).length > 0, "names no run: give at least one of its members");
export type CancelFilter = z.infer<typeof CancelFilter>;

export const CancelMatchingRequest = z.strictObject({
  filter: CancelFilter,
  reason: z.string().trim().min(1).max(1_000),
  /** Tells what would be cancelled, and cancels nothing. */
  dryRun: z.boolean().optional(),
  limit: z.int().min(1).max(MAX_CANCEL).optional(),
  cursor: z.string().min(1).max(500).optional(),
});
export type CancelMatchingRequest = z.infer<typeof CancelMatchingRequest>;

export const CancelledMatching = z.object({
  dryRun: z.boolean(),
  /** By this request; of a dry run, what it would have been. */
  cancelled: z.int(),
  /** Decided before, and not at their end yet. */
  ending: z.int(),
  /** Had ended when their turn came. */
  ended: z.int(),
  runs: z.array(
    z.object({
      runId: z.string(),
      workflow: z.string(),
      outcome: z.enum(["cancelled", "ending", "ended"]),
      status: z.enum(statesOf("run")),
    }),
  ),
  nextCursor: z.string().nullable(),
});
export type CancelledMatching = z.infer<typeof CancelledMatching>;
