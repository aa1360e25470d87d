import type { ClaimedRun, NextDelivery } from "@ghouls/ledger";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps } from "./deps.ts";
import type { HopEnd } from "./hop-end.ts";
import { journalDigest, type JournalItem } from "./loaded-journal.ts";

/** Ends a hop by a checkpoint and the run's next delivery, and publishes that (design.md §3, Yield). */
export async function handOver(
  claim: ClaimedRun,
  journal: readonly JournalItem[],
  yielding: { readonly why: "time" | "drain"; readonly idle: boolean },
  deps: ExecutionDeps,
): Promise<Carried> {
  await deps.faults("worker.before-handover", claim.runId);
  const next = await deps.ledger.deliveries.yieldIfClaimed(
    claim,
    {
      workflowDigest: claim.workflow.digest,
      journalLength: claim.journalStart + journal.length,
      journalDigest: journalDigest(journal),
    },
    { idle: yielding.idle, publisherGraceSeconds: deps.settings.publisherGraceSeconds },
  );
  await deps.faults("worker.after-handover", claim.runId);
  if (next === null) return { kind: "fenced" };
  await publishNext(claim, next, deps);
  return { kind: "handed_over", why: yielding.why };
}

/** Gives a delivery back that cannot go on yet; the relay publishes it when it is due. */
export async function giveBack(
  claim: ClaimedRun,
  end: Extract<HopEnd, { kind: "given_back" }>,
  deps: ExecutionDeps,
): Promise<Carried> {
  await deps.faults("worker.before-handover", claim.runId);
  const next = await deps.ledger.deliveries.giveBackIfClaimed(claim, end.dueAt, end.workflowAbsent);
  await deps.faults("worker.after-handover", claim.runId);
  return next === null ? { kind: "fenced" } : { kind: "handed_over", why: end.why };
}

/** Publishes the delivery that a hop has made; the relay does it where that fails. */
export async function publishNext(claim: ClaimedRun, next: NextDelivery, deps: ExecutionDeps): Promise<void> {
  const { tenantId, runId } = claim;
  await deps.publisher.publish({ tenantId, runId, enqueueSeq: next.enqueueSeq, queue: next.queue });
}
