import { setTimeout as delay } from "node:timers/promises";
import { errorInLog } from "@ghouls/core";
import type { ClaimRequest } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { persist } from "./persist.ts";

/**
 * Says of claims whose answer was lost that nothing of them acts: they may have been made, or may be yet, and where no time ends
 * them their runs would wait for this process to end. Said until the ledger answers, or until the process is told to end, whose end is
 * recorded. Never rejects.
 */
export async function disown(requests: readonly ClaimRequest[], deps: ExecutionDeps): Promise<void> {
  const { ledger, log, draining, chance, settings } = deps;
  const patience = { chance, mayGoOn: () => !draining.aborted, onPause: () => undefined };
  try {
    await delay(settings.lateStatementMs, undefined, { signal: draining });
    const made = await persist(() => ledger.deliveries.taken(requests), patience);
    for (const claim of made) {
      // Twice: it may be judged as lost between the look for its item and the word about itself.
      for (let times = 0; times < 2; times += 1)
        await persist(() => ledger.items.acknowledgeWorker(claim), patience);
      const { runId, seq } = claim;
      log.warn("a claim whose answer was lost had been made; nothing of it acts", { runId, enqueueSeq: seq });
    }
  } catch (error) {
    log.warn("it could not be said that claims without an answer are over", { error: errorInLog(error) });
  }
}
