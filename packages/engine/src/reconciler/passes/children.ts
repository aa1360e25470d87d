import type { FaultInjector, Logger } from "@ghouls/core";
import type { Ledger, Position } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import type { Page } from "../pages.ts";

export interface ChildrenOptions {
  readonly ledger: Pick<Ledger, "children">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Ends of one page. */
  readonly pageSize: number;
  readonly settings: { readonly publisherGraceSeconds: number };
}

export interface ChildrenCounts {
  readonly due: number;
  readonly resumed: number;
  readonly ended: number;
  readonly failed: number;
}

/**
 * One page of children that have ended, and whose parents may not know: each parent is told in a transaction of its own, as
 * the child's worker does right after the end. One that fails takes no other's turn.
 */
export async function tellParents(options: ChildrenOptions, after?: Position): Promise<Page<ChildrenCounts>> {
  const { ledger, publisher, faults, log, settings } = options;
  const { found: due, next } = await ledger.children.ends(options.pageSize, after);
  if (due.length > 0) await faults("children.after-select", `${due.length} ends`);
  let [resumed, ended, failed] = [0, 0, 0];
  for (const end of due) {
    const { runId, parentRunId } = end;
    try {
      const told = await ledger.children.tellParent(end, settings.publisherGraceSeconds);
      await faults("children.after-tell", runId);
      if (told.ended !== null) ended += 1;
      if (told.resumption === null) continue;
      resumed += 1;
      log.info("a run was brought back by the end of its child", { runId: parentRunId, childRunId: runId });
      await publisher.publish(told.resumption);
    } catch (error) {
      failed += 1;
      log.warn("the end of a child could not be told", { runId, error: String(error).slice(0, 200) });
    }
  }
  return { counts: { due: due.length, resumed, ended, failed }, next };
}
