import { decideSkip, isTerminalRun, parseMessage, type DeliveryRef, errorInLog } from "@ghouls/core";
import type { ClaimRequest, ClaimedRun, SkippedDelivery } from "@ghouls/ledger";
import type { Carried } from "./carried.ts";
import { carry } from "./carry.ts";
import { wakeUp, type Verdict } from "./wake-up.ts";
import { reanimate } from "../reconciler/passes/reanimation.ts";
import type { ExecutionDeps } from "./deps.ts";
import { disown } from "./disown.ts";
import { Heartbeat, type Beating } from "./heartbeat.ts";
import { StepCopies } from "../evidence/step-copies.ts";
import { noteSkips } from "./skips.ts";
import { endsWithin } from "../patience.ts";
import type { Reined } from "./reins.ts";
import { tracedBatch, type CarryTraced } from "./traced.ts";

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
  /** Whether something ends this process by force at the end of its invocation, as Lambda does. */
  readonly endsByForce: boolean;
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
  const woken = wakeUp(messages, deps);
  const skipped: SkippedDelivery[] = [];
  const wanted = new Map<string, Wanted>();
  for (const message of messages) {
    const ref = parseMessage(message.body);
    if (ref === undefined) continue;
    const known = wanted.get(keyOf(ref));
    if (known === undefined) wanted.set(keyOf(ref), { ...ref, receiptHandles: [message.receiptHandle] });
    else known.receiptHandles.push(message.receiptHandle);
  }
  const carried = tracedBatch(
    options.queue,
    messages.length,
    (carryTraced) => carryAll(wanted, skipped, carryTraced, deps, options),
    deps,
  );
  const [verdicts, timers] = await Promise.all([carried, woken]);
  const outcomes = await Promise.all(
    messages.map(async (message): Promise<MessageOutcome> => {
      const timer = timers.get(message.messageId);
      if (timer !== undefined) {
        if (timer.retryInSeconds !== undefined) await putBack(message, timer.retryInSeconds, deps, options);
        return { messageId: message.messageId, done: timer.done, reason: timer.reason };
      }
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
  await noteSkips(skipped, deps);
  return outcomes;
}

interface Wanted extends DeliveryRef {
  readonly receiptHandles: string[];
}

async function carryAll(
  wanted: ReadonlyMap<string, Wanted>,
  skipped: SkippedDelivery[],
  carryTraced: CarryTraced,
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<ReadonlyMap<string, Verdict>> {
  const refs = [...wanted.values()];
  if (refs.length === 0) return new Map();
  if (deps.draining.aborted) {
    return new Map(refs.map((ref) => [keyOf(ref), { done: false, reason: "draining", retryInSeconds: 1 }]));
  }
  const verdicts = new Map<string, Verdict>();
  const sent = { monotonicMs: deps.clock.monotonicMs(), wallMs: deps.clock.wallMs() };
  const requests = refs.map((ref) => ({ ...ref, token: deps.ids.next() }));
  let claims: ClaimedRun[];
  try {
    claims = await claim(requests, deps, options);
  } catch (error) {
    if (!options.endsByForce) void disown(requests, deps);
    deps.log.error("a batch could not be claimed; its messages go back", {
      count: refs.length,
      error: errorInLog(error),
    });
    // The queue would hide them for as long as a function may run.
    const verdict = { done: false, reason: "unclaimed", retryInSeconds: RETRY_CLAIM_SECONDS };
    return new Map(refs.map((ref) => [keyOf(ref), verdict]));
  }
  const carrying = { ...deps, copies: deps.copies ?? new StepCopies(deps) };
  for (const [one, end] of await carryBatch(claims, wanted, sent, carryTraced, carrying, options)) {
    const verdict = verdictOf(one, end, deps);
    if (verdict !== undefined) verdicts.set(keyOf({ runId: one.runId, enqueueSeq: one.seq }), verdict);
  }
  // Not claimed, or fenced on the way: what the ledger says of the delivery decides about its message.
  const open = refs.filter((ref) => !verdicts.has(keyOf(ref)));
  for (const [key, verdict] of await explain(open, skipped, deps)) verdicts.set(key, verdict);
  return verdicts;
}

/** When a batch comes back that the ledger could not be asked about. */
const RETRY_CLAIM_SECONDS = 10;

/** Carries the claimed runs at the same time, under one heartbeat, until all have ended or the invocation does. */
async function carryBatch(
  claims: readonly ClaimedRun[],
  wanted: ReadonlyMap<string, Wanted>,
  sent: { readonly monotonicMs: number; readonly wallMs: number },
  carryTraced: CarryTraced,
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<[ClaimedRun, Carried][]> {
  const { limitMs, remainingMs, endsByForce } = options;
  const { leaseMs, beatMs, leaseHeld } = deps.settings;
  const heartbeat = new Heartbeat({ ...deps, leaseMs, beatMs, leaseHeld, queueName: options.queue }, sent);
  const carried = claims.map((one) =>
    carriedRun(one, wanted.get(keyOf({ runId: one.runId, enqueueSeq: one.seq }))),
  );
  heartbeat.start(carried.map((one) => one.beating));
  const drain = () => carried.forEach((one) => one.drain());
  deps.draining.addEventListener("abort", drain, { once: true });
  // It may have fired while the claim was on its way.
  if (deps.draining.aborted) drain();
  const ended: [ClaimedRun, Carried][] = [];
  const ofClaim = new Map(carried.map((one) => [one.claim, one]));
  const all = carryTraced(claims, async (claimed) => {
    const one = ofClaim.get(claimed);
    if (one === undefined) throw new TypeError("a claim is carried that this batch does not have");
    const invocation = { limitMs, remainingMs, endsByForce, claimedAtMs: sent.monotonicMs };
    const end = await carry(claimed, deps, invocation, { onHop: one.onHop });
    ended.push([claimed, end]);
    heartbeat.remove(one.beating);
    return end;
  });
  // Where nothing ends the process by force, a step may take as long as it takes.
  const inTime = endsByForce
    ? await endsWithin(all, remainingMs() - deps.settings.settleReserveMs / 4)
    : await all.then(() => true);
  deps.draining.removeEventListener("abort", drain);
  await heartbeat.stop();
  if (!inTime) deps.exit(`${claims.length - ended.length} steps are in flight at the end of the invocation`);
  return ended;
}

/** A claim on its way: what fences, drains or pauses it before its hop exists reaches it when it does. */
function carriedRun(claim: ClaimedRun, wanted: Wanted | undefined) {
  let hop: Reined | undefined;
  let said: "fence" | "drain" | "pause" | undefined;
  const tell = (made: Reined, word: "fence" | "drain" | "pause") =>
    word === "fence" ? made.fence() : made.drain(word);
  const say = (word: "fence" | "drain" | "pause") => {
    said = said === "fence" ? said : word;
    if (hop !== undefined) tell(hop, word);
  };
  const beating: Beating = {
    claim,
    receiptHandles: wanted?.receiptHandles ?? [],
    fence: () => say("fence"),
    pause: () => say("pause"),
  };
  return {
    claim,
    beating,
    drain: () => say("drain"),
    onHop: (made: Reined) => {
      hop = made;
      if (said !== undefined) tell(made, said);
    },
  };
}

function claim(
  requests: readonly ClaimRequest[],
  deps: ExecutionDeps,
  options: WorkOptions,
): Promise<ClaimedRun[]> {
  const remainingSeconds = Math.max(1, options.remainingMs() / 1_000);
  return deps.ledger.deliveries.claimIfDue(requests, {
    worker: deps.worker,
    leaseSeconds: deps.settings.leaseMs / 1_000,
    actsForSeconds: options.endsByForce ? remainingSeconds + deps.settings.actsMarginSeconds : null,
  });
}

function verdictOf(claimed: ClaimedRun, end: Carried, deps: ExecutionDeps): Verdict | undefined {
  const log = deps.logFor(claimed);
  switch (end.kind) {
    case "settled":
      if (isTerminalRun(end.status)) deps.metrics.record("RunsSettled", 1, end.status);
      log[end.code === undefined ? "info" : "warn"]("run settled", {
        status: end.status,
        workflow: claimed.workflow.name,
        ...(end.code === undefined ? {} : { code: end.code, fix: "`ghouls show` tells why" }),
      });
      return { done: true, reason: end.status };
    case "handed_over":
      log.info("the run goes on in another hop", { why: end.why });
      return { done: true, reason: "handed_over" };
    case "parked":
      log.info("the run waits", { status: end.status });
      return { done: true, reason: end.status };
    case "contained":
      log.info("a contain delivery has ended", { outcome: end.outcome });
      return { done: true, reason: `contain_${end.outcome}` };
    case "quarantined":
      log.error("run quarantined");
      return { done: true, reason: "quarantined" };
    case "fenced":
      log.warn("the claim was taken away; nothing more was written");
      return undefined;
    case "unknown":
      log.error("the hop's outcome is unknown; the claim stays as it is", { error: errorInLog(end.error) });
      return { done: false, reason: "unknown_outcome" };
  }
}

async function explain(
  refs: readonly DeliveryRef[],
  skipped: SkippedDelivery[],
  deps: ExecutionDeps,
): Promise<[string, Verdict][]> {
  if (refs.length === 0) return [];
  try {
    let rows = await deps.ledger.deliveries.unclaimed(refs);
    // A message that reappears for a lapsed lease is news of a lost worker, and is handled at once.
    const lapsed = [...rows].filter(
      ([, row]) => row.deliveryStatus === "CLAIMED" && (row.leaseEndsInSeconds ?? 1) <= 0,
    );
    if (lapsed.length > 0) {
      await reanimate(
        lapsed.map(([key]) => key.slice(0, key.indexOf(":"))),
        deps,
      );
      rows = await deps.ledger.deliveries.unclaimed(refs);
    }
    const skips = new Map(refs.map((ref) => [ref, decideSkip(rows.get(keyOf(ref)))]));
    const paused = refs.filter((ref) => skips.get(ref)?.reason === "paused");
    if (paused.length > 0) await deps.ledger.deliveries.markSkippedAsPaused(paused);
    return [...skips].map(([ref, skip]) => {
      const { runId, enqueueSeq } = ref;
      deps.metrics.record("DeliveriesSkipped", 1, skip.reason);
      skipped.push({ runId, enqueueSeq, reason: skip.reason });
      deps.log.info("a delivery was skipped", { runId, enqueueSeq, reason: skip.reason });
      return [
        keyOf(ref),
        skip.deleteMessage
          ? { done: true, reason: skip.reason }
          : { done: false, reason: skip.reason, retryInSeconds: skip.retryInSeconds },
      ];
    });
  } catch (error) {
    deps.log.error("skipped deliveries could not be read; their messages go back", {
      error: errorInLog(error),
    });
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
      error: errorInLog(error),
    });
  }
}

function keyOf(ref: DeliveryRef): string {
  return `${ref.runId}:${ref.enqueueSeq}`;
}
