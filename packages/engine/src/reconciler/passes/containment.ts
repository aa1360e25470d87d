import { attentionText, type FaultInjector, type Logger, errorInLog } from "@ghouls/core";
import type { DueContainment, Ledger } from "@ghouls/ledger";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface ContainmentOptions {
  readonly ledger: Pick<Ledger, "items" | "runs" | "children">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly settings: { readonly maxContainDeliveries: number; readonly actsMarginSeconds: number };
}

type Due = DueContainment & Owner;

/**
 * Containment: looks at runs with items that are due, acknowledges workers whose time is over, and ends a run where nothing can
 * act any more.
 */
export function containmentPass(options: ContainmentOptions): Pass<Due> {
  const { ledger, faults, log, settings } = options;
  const pass: Pass<Due> = {
    name: "containment",
    asks: false,
    find: async (look) => ownedBy(await ledger.items.due(look), ({ runId }) => runId),
    describe: ({ runStatus, openItems }) => ({
      rule: openItems === 0 ? "nothing is left to contain: end it" : "its items are due for a look",
      before: `${runStatus}, open items ${openItems}`,
    }),
    repair: async ([due]) => (due === undefined ? [] : [await contain(due)]),
  };

  const contain = async (due: Due): Promise<Outcome> => {
    const { tenantId, runId } = due;
    const key = { tenantId, runId };
    const looked = await ledger.items.contain(key, settings.maxContainDeliveries, noteOf(pass, due));
    await faults("containment.after-look", runId);
    if (looked.ended !== null) {
      log.info("a run has ended, and nothing of it can act any more", { runId, status: looked.ended });
    } else if (looked.needsWord) {
      await ledger.runs.raiseAttention(
        key,
        attentionText("containment", "something of the run waits for a word"),
      );
    }
    const cancelled = looked.children ? await cancelChildren(due) : { any: false, failure: undefined };
    if (cancelled.failure !== undefined) return { kind: "failed", reason: cancelled.failure };
    return looked.moved || cancelled.any ? REPAIRED : LEFT;
  };

  /** Those whose close is "cancel", each in a transaction of its own: its parent is locked by none. */
  const cancelChildren = async (parent: Due) => {
    const word = { actor: `run ${parent.runId}`, reason: "its parent goes on without it" };
    const note = {
      pass: pass.name,
      rule: "its parent is ending: cancel it",
      before: `child of ${parent.runId}`,
    };
    let any = false;
    let failure: string | undefined;
    for (const child of await ledger.children.toCancel(parent)) {
      try {
        const answer = await ledger.children.cancel(child, word, settings.actsMarginSeconds, note);
        any ||= answer?.cancelled === true;
        await faults("containment.after-cancel", child.runId);
      } catch (error) {
        // It takes no other's turn.
        failure = errorInLog(error);
        log.warn("a child could not be cancelled", { runId: child.runId, error: failure });
      }
    }
    return { any, failure };
  };
  return pass;
}
