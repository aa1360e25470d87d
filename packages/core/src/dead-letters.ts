import { parseMessage, parseWake, type DeliveryRef } from "./message.ts";
import { decideSkip, type SkipReason, type UnclaimedDelivery } from "./skip.ts";

/** What becomes of a message that was received so often that its queue has given up on it. */
export type DeadLetter =
  /** The ledger looks after what it names, or it is over: the message is of no use. */
  | { readonly kind: "drop"; readonly reason: SkipReason | "timer" }
  /** Its delivery is due and waits for a message: one is published anew. */
  | { readonly kind: "republish"; readonly ref: DeliveryRef }
  /** It names nothing of this ledger: a person has to look. */
  | { readonly kind: "keep"; readonly reason: "poison" | "unknown" };

/**
 * Judges a dead letter by the committed state (faults.md F31): throttling and give-backs burn receives, so that its arrival
 * says nothing about its run.
 */
export function judgeDeadLetter(body: string, row: UnclaimedDelivery | undefined): DeadLetter {
  // A timer is an arm of the ledger, with a time of its own.
  if (parseWake(body) !== undefined) return { kind: "drop", reason: "timer" };
  const ref = parseMessage(body);
  if (ref === undefined) return { kind: "keep", reason: "poison" };
  if (row === undefined) return { kind: "keep", reason: "unknown" };
  const { reason } = decideSkip(row);
  // Whatever else holds a delivery up has its own look at the ledger: a release, a lease, an unpause, its time.
  return reason === "contended" ? { kind: "republish", ref } : { kind: "drop", reason };
}
