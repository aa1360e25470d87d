import { GhoulsError } from "@ghouls/core";
import { LedgerError, type Ledger } from "@ghouls/ledger";
import type { Registry } from "./registry.ts";

export interface AnnouncementOptions {
  readonly ledger: Pick<Ledger, "workflows" | "capacities">;
  readonly registry: Registry;
  /** Units of each capacity of its configuration. */
  readonly capacities: Readonly<Record<string, number>>;
  /** Name of this build, for people. */
  readonly build: string;
}

/**
 * Says in the ledger, once for a process, which workflows this build has, so that another build that meets a run of one of
 * them gives it back instead of failing it (design.md §3, Claim), and what it knows of capacities that no
 * deploy has spoken of. One that failed is tried again by the next call.
 */
export function createAnnouncement({
  ledger,
  registry,
  capacities,
  build,
}: AnnouncementOptions): () => Promise<void> {
  let announced: Promise<void> | undefined;
  const announce = async () => {
    await ledger.workflows.record(registry.carried(), build);
    await ledger.capacities.add(capacities);
  };
  return () => {
    announced ??= announce().catch((error: unknown) => {
      announced = undefined;
      throw error;
    });
    return announced;
  };
}

/**
 * Announces before an admission: a run whose build nobody knows would be failed by any other. The words of a lost answer or
 * of a lock are about the announcement; of the run it is certain that nothing was committed.
 * @throws GhoulsError where the ledger is out of reach or its schema too old: nothing is admitted then
 */
export async function announceOrRefuse(announce: () => Promise<void>): Promise<void> {
  try {
    await announce();
  } catch (error) {
    if (!(error instanceof LedgerError) || (error.kind !== "unknown" && error.kind !== "busy")) throw error;
    throw new GhoulsError(
      "ledger_unavailable",
      "nothing was admitted: this build could not say in the ledger which workflows it has",
      { fix: "Send the request again.", retryAfterSeconds: 2, cause: error },
    );
  }
}
