import * as z from "zod";
import { statesOf } from "../transitions.ts";

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
