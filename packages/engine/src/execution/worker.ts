import { decideSkip, parseMessage, type DeliveryRef, type Skip } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { carry, type Carried } from "./carry.ts";
import type { ExecutionDeps } from "./deps.ts";

/** A message as a worker gets it. */
export interface WorkMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
}

export interface WorkOptions {
  /** Name of the queue that the messages came from. */
  readonly queue: string;
  readonly limitMs: number;
  readonly remainingMs: () => number;
}

/** What becomes of a message, and why. */
export interface MessageOutcome {
  readonly messageId: string;
  /** Whether its delivery is over, so that the message may go. */
  readonly done: boolean;
  readonly reason: string;
}

/**
 * Works through a batch: claims in one statement, carries the claimed runs at the same time, and says of each message
 * whether it may be deleted. A message that goes back gets the time to wait. Never rejects.
 */
export async function work(
  messages: readonly WorkMessage[],
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<MessageOutcome[]> {
  const refs = new Map<string, DeliveryRef>();
  for (const message of messages) {
    const ref = parseMessage(message.body);
    if (ref !== undefined) refs.set(keyOf(ref), ref);
  }
  const verdicts = await carryAll([...refs.values()], deps, options);
  return Promise.all(
    messages.map(async (message): Promise<MessageOutcome> => {
      const ref = parseMessage(message.body);
      if (ref === undefined) {
        deps.log.error("a message is no delivery; it stays until the dead-letter queue takes it", {
          messageId: message.messageId,
          bytes: Buffer.byteLength(message.body),
        });
        return { messageId: message.messageId, done: false, reason: "poison" };
      }
      const verdict = verdicts.get(keyOf(ref)) ?? { done: false, reason: "unknown_outcome" };
      if (verdict.retryInSeconds !== undefined) await putBack(message, verdict.retryInSeconds, deps, options);
      return { messageId: message.messageId, done: verdict.done, reason: verdict.reason };
    }),
  );
}

interface Verdict {
  readonly done: boolean;
  readonly reason: string;
  /** Seconds until the message should come back, where that is known. */
  readonly retryInSeconds?: number;
}

async function carryAll(
  refs: readonly DeliveryRef[],
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<ReadonlyMap<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  if (refs.length === 0) return verdicts;
  const claimedAtMs = deps.clock.monotonicMs();
  let claims: ClaimedRun[];
  try {
    claims = await claim(refs, deps, options);
  } catch (error) {
    deps.log.error("a batch could not be claimed; its messages go back", {
      count: refs.length,
      error: nameOf(error),
    });
    return verdicts;
  }
  const { limitMs, remainingMs } = options;
  const carried = await Promise.all(
    claims.map(async (one) => ({ one, end: await carry(one, deps, { limitMs, remainingMs, claimedAtMs }) })),
  );
  for (const { one, end } of carried) {
    const verdict = verdictOf(one, end, deps);
    if (verdict !== undefined) verdicts.set(keyOf({ runId: one.runId, enqueueSeq: one.seq }), verdict);
  }
  // Not claimed, or fenced on the way: what the ledger says of the delivery decides about its message.
  const open = refs.filter((ref) => !verdicts.has(keyOf(ref)));
  for (const [key, verdict] of await explain(open, deps)) verdicts.set(key, verdict);
  return verdicts;
}

function claim(
  refs: readonly DeliveryRef[],
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<ClaimedRun[]> {
  const remainingSeconds = Math.max(1, options.remainingMs() / 1_000);
  return deps.ledger.deliveries.claimIfDue(
    refs.map((ref) => ({ ...ref, token: deps.ids.next() })),
    {
      worker: deps.worker,
      // Without heartbeats the lease covers what is left of the invocation.
      leaseSeconds: remainingSeconds,
      actsForSeconds: remainingSeconds + deps.settings.actsMarginSeconds,
    },
  );
}

function verdictOf(claimed: ClaimedRun, end: Carried, deps: ExecutionDeps): Verdict | undefined {
  const log = deps.logFor(claimed);
  switch (end.kind) {
    case "settled":
      log.info("run settled", { status: end.status, workflow: claimed.workflow.name });
      return { done: true, reason: end.status };
    case "quarantined":
      log.error("run quarantined", { reason: end.reason });
      return { done: true, reason: "quarantined" };
    case "fenced":
      log.warn("the claim was taken away; nothing more was written");
      return undefined;
    case "unknown":
      log.error("the hop's outcome is unknown; the claim stays as it is", { error: nameOf(end.error) });
      return { done: false, reason: "unknown_outcome" };
  }
}

async function explain(refs: readonly DeliveryRef[], deps: ExecutionDeps): Promise<[string, Verdict][]> {
  if (refs.length === 0) return [];
  try {
    const rows = await deps.ledger.deliveries.unclaimed(refs);
    return refs.map((ref) => {
      const skip: Skip = decideSkip(rows.get(keyOf(ref)));
      deps.log.info("a delivery was skipped", {
        runId: ref.runId,
        enqueueSeq: ref.enqueueSeq,
        reason: skip.reason,
      });
      return [
        keyOf(ref),
        skip.deleteMessage
          ? { done: true, reason: skip.reason }
          : { done: false, reason: skip.reason, retryInSeconds: skip.retryInSeconds },
      ];
    });
  } catch (error) {
    deps.log.error("skipped deliveries could not be read; their messages go back", { error: nameOf(error) });
    return [];
  }
}

async function putBack(
  message: WorkMessage,
  seconds: number,
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<void> {
  try {
    await deps.queue.changeVisibility(options.queue, message.receiptHandle, seconds);
  } catch (error) {
    // It comes back after the queue's own visibility timeout instead.
    deps.log.warn("a message's visibility could not be changed", {
      messageId: message.messageId,
      error: nameOf(error),
    });
  }
}

function keyOf(ref: DeliveryRef): string {
  return `${ref.runId}:${ref.enqueueSeq}`;
}

function nameOf(error: unknown): string {
  return error instanceof Error
    ? `${error.name}: ${error.message}`.slice(0, 300)
    : String(error).slice(0, 300);
}
