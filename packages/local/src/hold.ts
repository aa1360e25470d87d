import type { HeldLeases } from "./parts.ts";

export interface HoldOptions {
  readonly ledger: { readonly deliveries: HeldLeases };
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly log: (text: string) => void;
}

/** A worker whose leases are held while it works. */
export interface HeldWorker {
  readonly worker: string;
  /** Whether an invocation is under way. */
  busy(): boolean;
}

/**
 * Holds the leases of a worker whose process lives and works: a debugger may keep it from beating for as long as somebody
 * looks around. What it has left unsettled at the end of its invocation lapses, and is judged. When the process ends, its end is recorded as ever, and nothing is held any more.
 * @returns ends the holding
 */
export function holdLeases(held: HeldWorker, { ledger, leaseMs, beatMs, log }: HoldOptions): () => void {
  let underWay = false;
  const beat = async (): Promise<void> => {
    if (underWay || !held.busy()) return;
    underWay = true;
    try {
      await ledger.deliveries.beatOfWorker(held.worker, leaseMs / 1_000);
    } catch (error) {
      log(
        `the leases of ${held.worker} were not held: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    underWay = false;
  };
  const timer = setInterval(() => void beat(), beatMs);
  return () => clearInterval(timer);
}
