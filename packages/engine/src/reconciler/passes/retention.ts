import type { DueRetention, Ledger, RetentionAges } from "@ghouls/ledger";
import { LEFT, REPAIRED, type Outcome, type Pass, type Turn } from "../pass.ts";

export interface RetentionOptions {
  readonly ledger: Pick<Ledger, "retention">;
  /** Nothing is emptied, and nothing forgotten, where it is absent. */
  readonly retention?: RetentionAges | undefined;
}

const FOR_EVER: RetentionAges = { bodiesMs: null, stepsMs: null, repairsMs: null };

/** Bodies that one commit empties, and repairs that one forgets. */
const BATCH = 1_000;

const RULES = {
  bodies: "bodies of a run older than they are kept: empty them",
  steps: "copies of steps older than they are kept: empty them",
  repairs: "repairs older than they are kept: forget them",
} as const;

/** Empties bodies of runs that ended longer ago than they are kept, never digests, and forgets old repairs. */
export function retentionPass({ ledger, retention: ages = FOR_EVER }: RetentionOptions): Pass<DueRetention> {
  const empty = async (due: DueRetention, turn: Turn): Promise<Outcome> => {
    for (;;) {
      const emptied = await ledger.retention.empty(due, BATCH, ages);
      if (emptied === null) return LEFT;
      if (emptied < BATCH) return REPAIRED;
      // What is left has its turn in the next round.
      if (turn.signal.aborted || turn.withinMs() < 1_000) return LEFT;
    }
  };
  return {
    name: "retention",
    asks: false,
    find: (look) => ledger.retention.due(ages, look),
    describe: ({ kind, runId, tenantId }) => ({
      rule: RULES[kind],
      before: runId === null ? `tenant ${tenantId}` : `run ${runId}`,
    }),
    repair: async (due, turn) => {
      const outcomes: Outcome[] = [];
      for (const one of due) outcomes.push(await empty(one, turn));
      return outcomes;
    },
  };
}
