import { attentionText, errorInLog } from "@ghouls/core";
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
      await askForAPerson(claim, withheld.why, deps);
      return { kind: "given_back", dueAt: due(DUE_AGAIN_MS), why: "it is not known what it may hold" };
  }
}

/** Once this has lasted: every delivery of the last few, for whatever reason, went back, so that the run came no further. */
async function askForAPerson(
  claim: ClaimedRun,
  why: string,
  { ledger, logFor, settings }: Pick<ExecutionDeps, "ledger" | "logFor" | "settings">,
): Promise<void> {
  const times = settings.giveBacksBeforeAttention;
  try {
    if (await ledger.deliveries.wereGivenBack(claim, times))
      await ledger.runs.raiseAttention(
        claim,
        attentionText("holdings_unknown", `${why} (given back ${times} times before)`),
      );
  } catch (error) {
    // The hop after this one says it.
    logFor(claim).warn("attention could not be raised", { error: errorInLog(error) });
  }
}
