import type { Run, wire } from "@ghouls/core";
import type { DeliveryRow, OutlinedEntry, SkipRow } from "@ghouls/ledger";
import { stepOf } from "./live/told.ts";

/** One list in the order of time; what happened at one moment keeps the order of the protocol. */
export function timelineOf(
  run: Pick<Run, "createdAt" | "finishedAt" | "status" | "errorCode">,
  deliveries: readonly DeliveryRow[],
  journal: readonly OutlinedEntry[],
  skips: readonly SkipRow[] = [],
): wire.TimelineEntry[] {
  const entries: wire.TimelineEntry[] = [{ kind: "admitted", at: run.createdAt.toISOString() }];
  for (const delivery of deliveries) entries.push(...ofDelivery(delivery));
  for (const entry of journal) {
    entries.push(stepOf(entry));
  }
  for (const { seq: enqueueSeq, reason, times, firstAt, lastAt } of skips) {
    const [at, last] = [firstAt.toISOString(), lastAt.toISOString()];
    entries.push({ kind: "skipped", at, lastAt: last, enqueueSeq, reason, times });
  }
  if (run.finishedAt !== null) {
    entries.push({
      kind: "finished",
      at: run.finishedAt.toISOString(),
      status: run.status,
      errorCode: run.errorCode,
    });
  }
  const rank = (entry: wire.TimelineEntry) => ORDER.indexOf(entry.kind);
  return entries.toSorted((a, b) => (a.at === b.at ? rank(a) - rank(b) : a.at < b.at ? -1 : 1));
}

const ORDER = [
  "admitted",
  "delivery",
  "published",
  "skipped",
  "claimed",
  "step",
  "worker_ended",
  "fenced",
  "settled",
  "finished",
];

function ofDelivery(delivery: DeliveryRow): wire.TimelineEntry[] {
  const { seq: enqueueSeq, cause, status, publications } = delivery;
  const entries: wire.TimelineEntry[] = [
    {
      kind: "delivery",
      at: delivery.createdAt.toISOString(),
      enqueueSeq,
      cause,
      status,
      dueAt: delivery.dueAt.toISOString(),
    } as const,
  ];
  if (delivery.publishedAt !== null) {
    entries.push({ kind: "published", at: delivery.publishedAt.toISOString(), enqueueSeq, publications });
  }
  const worker = delivery.claimedBy ?? "unknown";
  if (delivery.claimedAt !== null) {
    entries.push({ kind: "claimed", at: delivery.claimedAt.toISOString(), enqueueSeq, worker, cause });
  }
  if (delivery.workerEndedAt !== null) {
    const how = delivery.workerEnd ?? "unknown";
    entries.push({ kind: "worker_ended", at: delivery.workerEndedAt.toISOString(), enqueueSeq, worker, how });
  }
  if (delivery.settledAt !== null && delivery.outcome !== null) {
    entries.push({
      kind: "settled",
      at: delivery.settledAt.toISOString(),
      enqueueSeq,
      outcome: delivery.outcome,
    });
  }
  if (delivery.fencedAt !== null) {
    const why = delivery.fencedWhy ?? "ended";
    entries.push({ kind: "fenced", at: delivery.fencedAt.toISOString(), enqueueSeq, why });
  }
  return entries;
}
