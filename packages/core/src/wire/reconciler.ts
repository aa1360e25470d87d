import * as z from "zod";
import { PASSES } from "../passes.ts";
import { time } from "./frame.ts";

const pass = z.enum(PASSES);
const count = z.int();

/** How far a pass has come, and what its last turn did. */
export const PassState = z.object({
  pass,
  /** A round goes once over all that was due when it began. */
  round: count,
  /** What becomes due later belongs to the next round; null: none is under way. */
  roundUntil: time.nullable(),
  /** The owner behind which its next page begins; null: at the first. */
  cursor: z.string().nullable(),
  reconciler: z.string().nullable(),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  pages: count,
  found: count,
  repaired: count,
  failed: count,
  error: z.string().nullable(),
});
export type PassState = z.infer<typeof PassState>;

/** A page of which an owner could not be looked after. */
export const DegradedPage = z.object({
  pass,
  pageId: z.string(),
  degradedAt: time,
  owners: count,
  tries: count,
  nextTurnAt: time,
});

/** An owner that stands aside, with turns of its own. */
export const DegradedOwner = z.object({
  pass,
  owner: z.string(),
  tenantId: z.string(),
  runId: z.string().nullable(),
  pageId: z.string(),
  degradedAt: time,
  tries: count,
  nextTurnAt: time,
  reason: z.string(),
});

export const RepairView = z.object({
  repairId: z.string(),
  tenantId: z.string(),
  runId: z.string(),
  pass,
  rule: z.string(),
  before: z.string(),
  after: z.string(),
  at: time,
});

export const ReconcilerState = z.object({
  passes: z.array(PassState),
  /** The longest first; no more than the page has room for. */
  degradedPages: z.array(DegradedPage),
  /** By pass and name. */
  degradedOwners: z.array(DegradedOwner),
  nextDegradedCursor: z.string().nullable(),
  /** The newest first. */
  repairs: z.array(RepairView),
  nextCursor: z.string().nullable(),
});
export type ReconcilerState = z.infer<typeof ReconcilerState>;

export const PassesRequest = z.strictObject({
  /** All of them where absent. */
  passes: z.array(pass).min(1).max(PASSES.length).optional(),
  /** Says what would be done, and does nothing. */
  dryRun: z.boolean().optional(),
});
export type PassesRequest = z.infer<typeof PassesRequest>;

/** What a pass would do for an owner. */
const Finding = z.object({
  tenantId: z.string(),
  runId: z.string().nullable(),
  owner: z.string(),
  rule: z.string(),
  before: z.string(),
});

export const PassAnswer = z.object({
  pass,
  /** "later": it asks somebody else, so that the reconciler's next invocation takes it; its owners that stand aside are due. */
  did: z.enum(["ran", "looked", "later"]),
  found: count,
  repaired: count,
  left: count,
  failed: count,
  /** Owners that stand aside after it. */
  degraded: count,
  error: z.string().nullable(),
  /** Of a dry run. */
  findings: z.array(Finding),
  /** Whether more is due than a dry run has looked at, or than there was time for. */
  more: z.boolean(),
});
export type PassAnswer = z.infer<typeof PassAnswer>;

export const PassesRun = z.object({ dryRun: z.boolean(), passes: z.array(PassAnswer) });
export type PassesRun = z.infer<typeof PassesRun>;
