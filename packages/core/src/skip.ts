import type { DeliveryCause, DeliveryStatus, RunStatus } from "./transitions.ts";
import { isTerminalRun } from "./transitions.ts";

/** What the ledger says of a delivery that a message names and that could not be claimed. */
export interface UnclaimedDelivery {
  readonly runStatus: RunStatus;
  readonly deliveryStatus: DeliveryStatus;
  readonly cause: DeliveryCause;
  readonly currentSeq: number;
  readonly seq: number;
  /** By a pause of its run, its workflow, its tenant or of all. */
  readonly paused: boolean;
  readonly quarantined: boolean;
  /** Seconds until it is due; 0 or less where it is due. */
  readonly dueInSeconds: number;
  /** Seconds until the live claim's lease ends; null where nobody holds it. */
  readonly leaseEndsInSeconds: number | null;
}

export const SKIP_REASONS = [
  "unknown",
  "terminal",
  "settled",
  "fenced",
  "superseded",
  "held",
  "early",
  "claimed",
  "paused",
  "quarantined",
  "ending",
  "contended",
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export interface Skip {
  readonly reason: SkipReason;
  /** Whether the committed state proves the message useless (or another act will publish it anew). */
  readonly deleteMessage: boolean;
  /** Otherwise the seconds after which the message should come back. */
  readonly retryInSeconds: number;
}

/** SQS hides a message for at most twelve hours from its receipt. */
const LONGEST_VISIBILITY_SECONDS = 43_000;

const gone = (reason: SkipReason): Skip => ({ reason, deleteMessage: true, retryInSeconds: 0 });
const back = (reason: SkipReason, seconds: number): Skip => ({
  reason,
  deleteMessage: false,
  retryInSeconds: Math.min(LONGEST_VISIBILITY_SECONDS, Math.max(1, Math.ceil(seconds))),
});

/**
 * What becomes of the message of a delivery that was not claimed (design.md §3, Claim). It is deleted only where the
 * committed state proves it useless, or where unpause or clear will publish anew; otherwise it goes back with the time
 * to wait. A run that is not in the ledger may be one whose row is not visible yet.
 */
export function decideSkip(row: UnclaimedDelivery | undefined): Skip {
  if (row === undefined) return back("unknown", 30);
  if (isTerminalRun(row.runStatus)) return gone("terminal");
  if (row.deliveryStatus === "SETTLED") return gone("settled");
  if (row.deliveryStatus === "FENCED") return gone("fenced");
  if (row.seq < row.currentSeq) return gone("superseded");
  if (row.deliveryStatus === "CLAIMED") {
    // A lapsed lease is not yet judged: the claim may still be revived by a beat, so the message stays.
    return back("claimed", Math.max(5, row.leaseEndsInSeconds ?? 30));
  }
  if (row.deliveryStatus === "HELD") return back("held", 30);
  if (row.quarantined) return gone("quarantined");
  if (row.paused && row.cause !== "contain") return gone("paused");
  if (row.runStatus !== "QUEUED" && row.cause !== "contain") return back("ending", 30);
  if (row.dueInSeconds > 0) return back("early", row.dueInSeconds);
  // Claimable by what this read sees: another transaction moved it between the claim and this read.
  return back("contended", 2);
}
