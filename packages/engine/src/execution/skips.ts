import { errorInLog } from "@ghouls/core";
import type { SkippedDelivery } from "@ghouls/ledger";
import { answerWithin } from "../patience.ts";
import type { ExecutionDeps } from "./deps.ts";

/** What keeping them may take of an invocation, in milliseconds. */
const PATIENCE_MS = 500;

/**
 * Keeps for people what was skipped, and why, when the messages have their verdicts (design.md §3, Claim). Best effort: what
 * fails is warned of, and never rejects.
 */
export async function noteSkips(
  skipped: readonly SkippedDelivery[],
  { ledger, log }: Pick<ExecutionDeps, "ledger" | "log">,
): Promise<void> {
  if (skipped.length === 0) return;
  try {
    await answerWithin(ledger.skips.note(skipped), PATIENCE_MS);
  } catch (error) {
    log.warn("what was skipped could not be kept for people", {
      count: skipped.length,
      error: errorInLog(error),
    });
  }
}
