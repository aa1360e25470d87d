import type { ClaimedRun, NextDelivery } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps } from "./deps.ts";
import type { HopEnd } from "./hop-end.ts";
import { checkpointOf, type JournalItem } from "./loaded-journal.ts";
import { standingOf } from "./standing.ts";

/** What a hop leaves to the next one. */
export interface LeftOver {
  readonly journal: readonly JournalItem[];
  /** Its steps that wait for their next tries. */
  readonly calls: readonly OpenCall[];
  /** Whether it has come no further than its journal said. */
  readonly idle: boolean;
  /** When the next hop is due, where this one is given back; the ledger's time. */
  readonly dueAt?: Date;
}

/**
 * Ends a hop by a checkpoint and the run's next delivery, and publishes that (design.md §3, Yield). When the next tries of
 * its steps are due, and how many they have had, stands in the same commit: else the next hop would make them at once, and
 * count anew.
 */
export async function handOver(
  claim: ClaimedRun,
  { journal, calls, idle, dueAt }: LeftOver,
  why: string,
  deps: ExecutionDeps,
): Promise<Carried> {
  const { deliveries } = deps.ledger;
  const checkpoint = checkpointOf(claim, journal);
  const settings = {
    idle,
    publisherGraceSeconds: deps.settings.publisherGraceSeconds,
    ...(dueAt === undefined ? {} : { dueAt }),
  };
  const standing = await standingOf(claim, calls, deps);
  await deps.faults("worker.before-handover", claim.runId);
  const next =
    standing.length === 0
      ? await deliveries.yieldIfClaimed(claim, checkpoint, settings)
      : await deliveries.yieldStandingIfClaimed(claim, checkpoint, standing, settings);
  await deps.faults("worker.after-handover", claim.runId);
  if (next === null) return { kind: "fenced" };
  // What is due later is the relay's, as is what waits for the end of a pause.
  if (dueAt === undefined && why !== "pause") await publishNext(claim, next, deps);
  return { kind: "handed_over", outcome: dueAt === undefined ? "continued" : "given_back", why };
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
  return next === null ? { kind: "fenced" } : { kind: "handed_over", outcome: "given_back", why: end.why };
}

/** Publishes the delivery that a hop has made; the relay does it where that fails. */
export async function publishNext(claim: ClaimedRun, next: NextDelivery, deps: ExecutionDeps): Promise<void> {
  const { tenantId, runId } = claim;
  await deps.publisher.publish({ tenantId, runId, enqueueSeq: next.enqueueSeq, queue: next.queue });
}
