import { MAX_DELAY_SECONDS, parseWake, errorInLog } from "@ghouls/core";
import type { ExecutionDeps } from "./deps.ts";

export interface Verdict {
  readonly done: boolean;
  readonly reason: string;
  /** Seconds until the message should come back, where that is known. */
  readonly retryInSeconds?: number;
}

interface Message {
  readonly messageId: string;
  readonly body: string;
}

/** When a timer's message comes back that the ledger could not be asked about, in seconds. */
const RETRY_SECONDS = 10;

/**
 * What becomes of the timers' messages of a batch, by message: each does its owner's guarded resume and nothing else
 * (design.md §3, Resume). Never rejects.
 */
export async function wakeUp(
  messages: readonly Message[],
  deps: Pick<ExecutionDeps, "ledger" | "publisher" | "settings" | "metrics" | "log" | "faults">,
): Promise<ReadonlyMap<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  await Promise.all(
    messages.map(async ({ messageId, body }) => {
      const armId = parseWake(body);
      if (armId !== undefined) verdicts.set(messageId, await wakeArm(armId, deps));
    }),
  );
  return verdicts;
}

async function wakeArm(
  armId: string,
  { ledger, publisher, settings, metrics, log, faults }: Parameters<typeof wakeUp>[1],
): Promise<Verdict> {
  try {
    const arm = await ledger.arms.runOf(armId);
    if (arm === null || !arm.open) return { done: true, reason: "timer_closed" };
    const { tenantId, runId, dueInSeconds } = arm;
    // SQS counts whole seconds, and its clock is not the ledger's.
    if (dueInSeconds !== null && dueInSeconds > 0) {
      const retryInSeconds = Math.min(MAX_DELAY_SECONDS, Math.ceil(dueInSeconds));
      return { done: false, reason: "timer_early", retryInSeconds };
    }
    const resumption = await ledger.runs.resume({ tenantId, runId }, settings.publisherGraceSeconds);
    await faults("worker.after-wake", runId);
    // What the run does just now ends in a park, which finds the timer due.
    if (resumption === null) return { done: true, reason: "timer_kept" };
    metrics.record("TimerLateness", Math.max(0, -(dueInSeconds ?? 0)));
    log.info("a run was brought back by its timer", {
      runId,
      armId,
      lateSeconds: Math.round(-(dueInSeconds ?? 0)),
    });
    await publisher.publish(resumption);
    return { done: true, reason: "timer_woke" };
  } catch (error) {
    log.warn("a timer's message could not be followed; it comes back", {
      armId,
      error: errorInLog(error),
    });
    return { done: false, reason: "timer_unknown", retryInSeconds: RETRY_SECONDS };
  }
}
