import { callKey, type CallId } from "@ghouls/core";
import type { ClaimedRun, OpenIntent } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";

/** What earlier hops left of the effects of a run. */
export interface Effects {
  of(call: CallId): {
    readonly openIntent: OpenIntent | undefined;
    /** Of the last intent of this call; 0 where there is none. */
    readonly lastNumber: number;
    /** Its intents that were tries: not those that lost workers left behind. */
    readonly triesUsed: number;
  };
}

/** Reads it; a first hop has none, and asks nothing. */
export async function loadEffects(claim: ClaimedRun, deps: Pick<ExecutionDeps, "ledger">): Promise<Effects> {
  if (claim.seq === 1) return { of: () => ({ openIntent: undefined, lastNumber: 0, triesUsed: 0 }) };
  const [open, last] = await Promise.all([
    deps.ledger.intents.openOfRun(claim),
    deps.ledger.intents.lastOfRun(claim),
  ]);
  const openByKey = new Map(open.map((intent) => [callKey(intent), intent]));
  const lastByKey = new Map(last.map((intent) => [callKey(intent), intent]));
  return {
    of: (call) => ({
      openIntent: openByKey.get(callKey(call)),
      lastNumber: lastByKey.get(callKey(call))?.number ?? 0,
      triesUsed: lastByKey.get(callKey(call))?.tries ?? 0,
    }),
  };
}
