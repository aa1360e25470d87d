import * as z from "zod";
import { time } from "./frame.ts";

/** Something that a judgement of the ledger has found. It is open as long as it stands and nobody has acknowledged it. */
export const FaultView = z.object({
  faultId: z.string(),
  /** What does not hold. */
  check: z.string(),
  /** Null: it belongs to the deployment. */
  tenantId: z.string().nullable(),
  runId: z.string().nullable(),
  subject: z.string(),
  detail: z.string(),
  open: z.boolean(),
  foundAt: time,
  foundBy: z.string(),
  /** When a judgement has last seen it. */
  seenAt: time,
  goneAt: time.nullable(),
  /** What became of its run: quarantined for it, in quarantine before, ended, or absent; null: not yet looked at, or it has none. */
  quarantine: z.enum(["made", "standing", "ended", "absent"]).nullable(),
  acknowledged: z.object({ by: z.string(), reason: z.string(), at: time }).nullable(),
});
export type FaultView = z.infer<typeof FaultView>;

export const FaultPage = z.object({
  faults: z.array(FaultView),
  /** Null on the last page. */
  nextCursor: z.string().nullable(),
});
export type FaultPage = z.infer<typeof FaultPage>;

export const FaultAcknowledged = z.object({
  /** False where somebody was first, or it is gone: the fault says which. */
  acknowledged: z.boolean(),
  fault: FaultView,
});
export type FaultAcknowledged = z.infer<typeof FaultAcknowledged>;
