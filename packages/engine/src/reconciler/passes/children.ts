import type { FaultInjector, Logger } from "@ghouls/core";
import type { ChildEnd, Ledger } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface ChildrenOptions {
  readonly ledger: Pick<Ledger, "children">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly settings: { readonly publisherGraceSeconds: number };
}

type Due = ChildEnd & Owner;

/**
 * Children that have ended, and whose parents may not know: each parent is told in a transaction of its own, as the child's
 * worker does right after the end.
 */
export function childrenPass(options: ChildrenOptions): Pass<Due> {
  const { ledger } = options;
  const pass: Pass<Due> = {
    name: "children",
    asks: false,
    find: async (look) => ownedBy(await ledger.children.ends(look), ({ runId }) => runId),
    describe: ({ runId }) => ({
      rule: "a child has ended: tell its parent",
      before: `child ${runId} has ended, and its parent may not know`,
    }),
    repair: async ([due]) => (due === undefined ? [] : [await tell(due)]),
  };

  const tell = async (due: Due): Promise<Outcome> => {
    const { runId, parentRunId } = due;
    const { publisher, faults, log, settings } = options;
    const answer = await ledger.children.tellParent(due, settings.publisherGraceSeconds, noteOf(pass, due));
    await faults("children.after-tell", runId);
    if (answer.resumption !== null) {
      log.info("a run was brought back by the end of its child", { runId: parentRunId, childRunId: runId });
      await publisher.publish(answer.resumption);
    }
    return answer.told ? REPAIRED : LEFT;
  };
  return pass;
}
