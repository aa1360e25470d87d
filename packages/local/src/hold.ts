import type { HeldLeases } from "./parts.ts";

export interface HoldOptions {
  readonly ledger: { readonly deliveries: HeldLeases };
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly log: (text: string) => void;
}

/**
 * Holds the leases of a worker whose process lives: a debugger may keep it from beating for as long as somebody looks
 * around. When the process ends, its end is recorded as ever, and nothing is held any more.
 * @returns ends the holding
 */
export function holdLeases(worker: string, { ledger, leaseMs, beatMs, log }: HoldOptions): () => void {
  let underWay = false;
  const beat = async (): Promise<void> => {
    if (underWay) return;
    underWay = true;
    try {
      await ledger.deliveries.beatOfWorker(worker, leaseMs / 1_000);
    } catch (error) {
      log(`the leases of ${worker} were not held: ${error instanceof Error ? error.message : String(error)}`);
    }
    underWay = false;
  };
  const timer = setInterval(() => void beat(), beatMs);
  return () => clearInterval(timer);
}
