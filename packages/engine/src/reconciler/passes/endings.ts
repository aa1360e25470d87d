import { END_ACT_RULES, type DueEndAct, type Ledger } from "@ghouls/ledger";
import type { CloseChannel } from "../../live/closing.ts";
import { LEFT, REPAIRED, type Pass } from "../pass.ts";

export interface EndingsOptions {
  readonly ledger: { readonly evidence: Pick<Ledger["evidence"], "due" | "repair"> };
  /** Tells those who look on that a run has ended; nobody where absent. */
  readonly closeChannel?: CloseChannel | undefined;
}

/**
 * What follows the end of a run, where no worker has done it: ends by an operator or by containment, and what a crash left.
 * Each act has turns of its own.
 */
export function endingsPass({ ledger, closeChannel }: EndingsOptions): Pass<DueEndAct> {
  return {
    name: "endings",
    asks: false,
    find: (look) => ledger.evidence.due(look),
    describe: ({ act, endedAt }) => ({
      rule: END_ACT_RULES[act],
      before: `ended at ${endedAt.toISOString()}`,
    }),
    repair: async (due) => {
      const outcomes = [];
      for (const one of due) {
        const repaired = await ledger.evidence.repair(one);
        if (repaired && one.act === "record") await closeChannel?.(one);
        outcomes.push(repaired ? REPAIRED : LEFT);
      }
      return outcomes;
    },
  };
}
