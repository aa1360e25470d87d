import {
  PUBLICATIONS_BEFORE_ATTENTION,
  attentionText,
  type FaultInjector,
  type Logger,
  type QueuePort,
} from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";

export interface RelayOptions {
  readonly ledger: Pick<Ledger, "deliveries" | "runs">;
  readonly queue: Pick<QueuePort, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Deliveries of one page. */
  readonly pageSize: number;
}

export interface RelayCounts {
  readonly due: number;
  readonly published: number;
  readonly failed: number;
}

/**
 * One page of the delivery relay: publishes deliveries whose publication is due, highest priority first. The same pair is
 * published again with growing delays; a duplicate finds its delivery claimed or settled.
 */
export async function relay(options: RelayOptions): Promise<RelayCounts> {
  const { ledger, queue, faults, log } = options;
  const due = await ledger.deliveries.duePublications(options.pageSize);
  if (due.length === 0) return { due: 0, published: 0, failed: 0 };
  await faults("relay.after-select", `${due.length} due`);
  const { confirmed, failed } = await queue.publish(due);
  await faults("relay.after-publish", `${confirmed.length} confirmed`);
  await ledger.deliveries.markPublished(confirmed);
  await ledger.deliveries.markPublicationFailed(failed);
  for (const { publication, reason } of failed) {
    log.warn("the relay could not publish a delivery", { runId: publication.runId, reason });
  }
  const published = new Set(confirmed.map((one) => `${one.runId}:${one.enqueueSeq}`));
  for (const one of due) {
    if (
      one.publications + 1 < PUBLICATIONS_BEFORE_ATTENTION ||
      !published.has(`${one.runId}:${one.enqueueSeq}`)
    )
      continue;
    await ledger.runs.raiseAttention(
      one,
      attentionText("unclaimed", "published again and again, and claimed by no worker"),
    );
  }
  return { due: due.length, published: confirmed.length, failed: failed.length };
}
