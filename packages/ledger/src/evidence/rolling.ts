import type { Database } from "../connection/database.ts";
import { noteFaults, type FoundFault } from "../integrity/faults.ts";
import { noteBadRecord } from "./doubts.ts";
import { moveCheck, readCheckPosition, readSealAfter, verifySeal, type SealKey } from "./seal-checks.ts";
import { faultsOf, goodAgain } from "./verification.ts";

/** One step of the rolling check. */
export interface RolledOn {
  /** The seal that was checked; null where the check has come round, or it was not time for it. */
  readonly seal: SealKey | null;
  readonly faults: readonly FoundFault[];
}

/**
 * Checks the next seal with its records, and moves on. What is wrong is noted, and the run quarantined where that is news;
 * one that cannot be looked at does not keep the check from the next time.
 */
export async function checkNextSeal(database: Database): Promise<RolledOn> {
  const from = await readCheckPosition(database);
  if (from === undefined) return { seal: null, faults: [] };
  const seal = await readSealAfter(database, from);
  const verified = seal === null ? null : await verifySeal(database, seal);
  const faults = verified === null ? [] : faultsOf(verified, "evidence");
  for (const fault of faults) {
    const { tenantId, runId, detail } = fault;
    if (runId !== null && tenantId !== null)
      await noteBadRecord(database, { tenantId, runId }, detail, fault.foundBy);
    else await noteFaults(database, [fault]);
  }
  if (verified !== null) await goodAgain(database, verified);
  await moveCheck(database, from, seal);
  return { seal, faults };
}
