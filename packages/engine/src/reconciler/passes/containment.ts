import { attentionText, type FaultInjector, type Logger } from "@ghouls/core";
import type { Ledger, Position, RunKey } from "@ghouls/ledger";
import type { Page } from "../pages.ts";

export interface ContainmentOptions {
  readonly ledger: Pick<Ledger, "items" | "runs" | "children">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Items of one page. */
  readonly pageSize: number;
  readonly settings: { readonly maxContainDeliveries: number; readonly actsMarginSeconds: number };
}

export interface ContainmentCounts {
  readonly due: number;
  readonly ended: number;
  readonly failed: number;
}

/**
 * One page of containment: looks at runs with items that are due, acknowledges workers whose time is over, and ends a run
 * where nothing can act any more. One run that cannot be looked at takes no other's turn.
 */
export async function contain(
  options: ContainmentOptions,
  after?: Position,
): Promise<Page<ContainmentCounts>> {
  const { ledger, faults, log } = options;
  const { found: due, next } = await ledger.items.due(options.pageSize, after);
  if (due.length > 0) await faults("containment.after-select", `${due.length} runs`);
  let [ended, failed] = [0, 0];
  for (const key of due) {
    try {
      const looked = await ledger.items.contain(key, options.settings.maxContainDeliveries);
      await faults("containment.after-look", key.runId);
      if (looked.ended !== null) {
        ended += 1;
        log.info("a run has ended, and nothing of it can act any more", {
          runId: key.runId,
          status: looked.ended,
        });
      } else if (looked.needsWord) {
        await ledger.runs.raiseAttention(
          key,
          attentionText("containment", "something of the run waits for a word"),
        );
      }
      if (looked.children) await cancelChildren(key, options);
    } catch (error) {
      failed += 1;
      log.warn("a run's items could not be looked at", {
        runId: key.runId,
        error: String(error).slice(0, 200),
      });
    }
  }
  return { counts: { due: due.length, ended, failed }, next };
}

/** Those whose close is "cancel", each in a transaction of its own: its parent is locked by none. */
async function cancelChildren(
  parent: RunKey,
  { ledger, faults, log, settings }: Pick<ContainmentOptions, "ledger" | "faults" | "log" | "settings">,
): Promise<void> {
  const word = { actor: `run ${parent.runId}`, reason: "its parent goes on without it" };
  for (const child of await ledger.children.toCancel(parent)) {
    try {
      await ledger.children.cancel(child, word, settings.actsMarginSeconds);
      await faults("containment.after-cancel", child.runId);
    } catch (error) {
      // It takes no other's turn; the next look tries it again.
      log.warn("a child could not be cancelled", { runId: child.runId, error: String(error).slice(0, 200) });
    }
  }
}
