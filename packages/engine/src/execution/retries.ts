import { callKey, type CallId } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";

/** Steps that were tried in earlier hops, and left for a later one to try again. */
export interface Retries {
  of(call: CallId): {
    readonly triesBefore: number;
    /** When the next try is due, where that is still to come; the ledger's time. */
    readonly dueAt: Date | null;
  };
}

/** Reads it; a run that has left no checkpoint has left no step so. */
export async function loadRetries(claim: ClaimedRun, deps: Pick<ExecutionDeps, "ledger">): Promise<Retries> {
  const found =
    claim.checkpointGeneration === null ? [] : await deps.ledger.arms.retriesOfRun(claim, claim.epoch);
  const byKey = new Map(found.map((one) => [callKey(one.call), one]));
  return {
    of: (call) => {
      const one = byKey.get(callKey(call));
      return { triesBefore: one?.tries ?? 0, dueAt: one?.dueAt ?? null };
    },
  };
}
