import {
  PUBLICATIONS_BEFORE_ATTENTION,
  attentionText,
  type FaultInjector,
  type Logger,
  type QueuePort,
} from "@ghouls/core";
import type { DuePublication, Ledger } from "@ghouls/ledger";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface RelayOptions {
  readonly ledger: Pick<Ledger, "deliveries" | "runs">;
  readonly queue: Pick<QueuePort, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly pageSize: number;
}

type Due = DuePublication & Owner;

/**
 * The delivery relay: publishes deliveries whose publication is due, highest priority first. The same pair is published again
 * with growing delays, also where that failed; a duplicate finds its delivery claimed or settled.
 */
export function relayPass(options: RelayOptions): Pass<Due> {
  const { ledger, pageSize } = options;
  const pass: Pass<Due> = {
    name: "relay",
    asks: false,
    batch: pageSize,
    find: async (look) => ownedBy(await ledger.deliveries.duePublications(look), ({ runId }) => runId),
    describe: ({ enqueueSeq, publications }) => ({
      rule: "its publication is due: publish",
      before: `delivery ${enqueueSeq} PENDING published ${publications} times`,
    }),
    repair: (due) => publish(due),
  };

  const publish = async (due: readonly Due[]): Promise<Outcome[]> => {
    const { queue, faults, log } = options;
    const { confirmed, failed } = await queue.publish(due);
    await faults("relay.after-publish", `${confirmed.length} confirmed`);
    const published = new Set(confirmed.map(({ runId }) => runId));
    const marked = await ledger.deliveries.markRelayed(
      due.filter(({ runId }) => published.has(runId)).map((one) => ({ ...one, repair: noteOf(pass, one) })),
    );
    await ledger.deliveries.markPublicationFailed(failed);
    const reasons = new Map(failed.map(({ publication, reason }) => [publication.runId, reason]));
    for (const [runId, reason] of reasons)
      log.warn("the relay could not publish a delivery", { runId, reason });
    for (const one of due) {
      if (one.publications + 1 < PUBLICATIONS_BEFORE_ATTENTION || !published.has(one.runId)) continue;
      await ledger.runs.raiseAttention(
        one,
        attentionText("unclaimed", "published again and again, and claimed by no worker"),
      );
    }
    return due.map(({ runId }) => {
      if (published.has(runId)) return marked.has(runId) ? REPAIRED : LEFT;
      return { kind: "failed", reason: reasons.get(runId) ?? "the queue did not say", ownTime: true };
    });
  };
  return pass;
}
