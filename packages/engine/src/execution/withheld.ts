import { attentionText, errorInLog, type AttentionReason } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Withheld } from "./holdings.ts";
import { DUE_AGAIN_MS, refusal, type HopEnd } from "./hop-end.ts";
import { ledgerNowMs } from "./live-step.ts";

/**
 * How a hop ends that cannot have what its workflow wants. Only an owner's own word fails the run; where nobody knows, the
 * delivery goes back, and no loss and no yield is counted.
 */
export async function endOf(
  withheld: Withheld,
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<HopEnd> {
  const due = (inMs: number) => new Date(ledgerNowMs(claim, deps, invocation) + inMs);
  switch (withheld.kind) {
    case "refused":
      return refusal(withheld.code, withheld.why);
    case "fenced":
      return { kind: "fenced" };
    case "drained":
      return { kind: "given_back", dueAt: due(0), why: "drain" };
    case "unknown":
      deps.logFor(claim).warn("a hop cannot have what it is to hold; its delivery goes back", {
        why: withheld.inLog ?? withheld.why,
      });
      await askForAPerson(claim, "holdings_unknown", withheld.why, deps);
      return { kind: "given_back", dueAt: due(DUE_AGAIN_MS), why: "it is not known what it may hold" };
  }
}

/** How a hop ends whose code is in a release that cannot be read now: nothing says that it is not there. */
export async function endWithoutRelease(
  claim: ClaimedRun,
  why: string,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<HopEnd> {
  deps.logFor(claim).warn("the release of a run cannot be read; its delivery goes back", { why });
  await askForAPerson(claim, "release_unreachable", why, deps);
  const dueAt = new Date(ledgerNowMs(claim, deps, invocation) + DUE_AGAIN_MS);
  return { kind: "given_back", dueAt, why: "its release cannot be read" };
}

/** Once this has lasted: every delivery of the last few, for whatever reason, went back, so that the run came no further. */
async function askForAPerson(
  claim: ClaimedRun,
  reason: AttentionReason,
  why: string,
  { ledger, logFor, settings }: Pick<ExecutionDeps, "ledger" | "logFor" | "settings">,
): Promise<void> {
  const times = settings.giveBacksBeforeAttention;
  try {
    if (await ledger.deliveries.wereGivenBack(claim, times))
      await ledger.runs.raiseAttention(
        claim,
        attentionText(reason, `${why} (given back ${times} times before)`),
      );
  } catch (error) {
    // The hop after this one says it.
    logFor(claim).warn("attention could not be raised", { error: errorInLog(error) });
  }
}
