import { SpanStatusCode } from "@opentelemetry/api";
import {
  attentionText,
  describeFailure,
  errorInLog,
  idempotencyKeyOf,
  nameInLog,
  type AttentionText,
  type CallId,
  type Logger,
  type StepContext,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { Effects } from "./effects.ts";
import { onceStep, type OnceEnd } from "./once-step.ts";
import type { ResolvedStepOptions } from "./step-options.ts";
import { runStep } from "./step-run.ts";
import { inSpan } from "../tracing.ts";
import { beginUndoable } from "./undoable-step.ts";

/** The ledger's time, as this process can tell: at the claim, moved on by its monotonic clock. In milliseconds. */
export function ledgerNowMs(
  claim: ClaimedRun,
  deps: Pick<ExecutionDeps, "clock">,
  invocation: Invocation,
): number {
  return claim.claimedAt.getTime() + deps.clock.monotonicMs() - invocation.claimedAtMs;
}

/**
 * Why a step may not start now: the run's deadline has passed, or the step does not fit what is left of the invocation, or a
 * grant has expired, so that the hop yields first. One that fits no invocation of this function was refused at its call.
 */
export function whyNotNow(
  name: string,
  timeoutMs: number,
  claim: ClaimedRun,
  deps: Pick<ExecutionDeps, "clock" | "settings">,
  invocation: Invocation,
): HopEnd | undefined {
  if (claim.deadlineAt !== null && ledgerNowMs(claim, deps, invocation) >= claim.deadlineAt.getTime()) {
    return refusal("deadline", `the run's deadline has passed before step "${name}"`, name);
  }
  if (timeoutMs > invocation.remainingMs() - deps.settings.settleReserveMs)
    return { kind: "yielded", why: "time" };
  if (ledgerNowMs(claim, deps, invocation) < (invocation.holdsUntilMs ?? Infinity)) return undefined;
  return { kind: "yielded", why: "grant" };
}

export interface LiveStep {
  readonly call: CallId;
  readonly claim: ClaimedRun;
  readonly run: (context: StepContext) => unknown;
  readonly options: ResolvedStepOptions;
  readonly hopSignal: AbortSignal;
  readonly log: Logger;
  readonly effects: Effects;
  readonly triesBefore: number;
  readonly invocation: Invocation;
  /** Whether the run goes on in another hop. */
  readonly handsOver: () => boolean;
}

/** Twelve days: nobody stands at a breakpoint for longer, and the timer that follows it still fits one of Node's. */
export const UNTIMED_MS = 2 ** 30;

/** What may have happened once is not called as if that did not matter. */
function notPlain({ name }: CallId): HopEnd {
  return refusal(
    "journal_mismatch",
    `step "${name}" was begun as an effect that happens once, and nobody knows whether it did; the code calls it as a plain step now`,
    name,
  );
}

/** Runs a step for real. Never rejects. */
export function liveStep(step: LiveStep, deps: ExecutionDeps): Promise<OnceEnd> {
  const { call, options, triesBefore } = step;
  const attributes = {
    "ghouls.run_id": step.claim.runId,
    "ghouls.step": call.name,
    "ghouls.once": options.once,
    "ghouls.tries_before": triesBefore,
  };
  return inSpan("ghouls.step", { attributes }, async (span) => {
    const end = await stepped(step, deps);
    span.setAttribute("ghouls.outcome", end.outcome);
    if (end.outcome === "error")
      span.setStatus({ code: SpanStatusCode.ERROR, message: nameInLog(end.failure.name) });
    return end;
  });
}

async function stepped(step: LiveStep, deps: ExecutionDeps): Promise<OnceEnd> {
  const { call, claim, hopSignal, log, effects, invocation } = step;
  const options = deps.settings.leaseHeld ? { ...step.options, timeoutMs: UNTIMED_MS } : step.options;
  const shared = {
    options,
    hopSignal,
    log,
    overdueAfterMs: deps.settings.overdueAfterMs,
    onOverdue: () => askForAPerson(step, deps),
    handsOver: step.handsOver,
    whyNotNow: () => whyNotNow(call.name, step.options.timeoutMs, claim, deps, invocation),
  };
  if (!options.once && effects.of(call).openIntent !== undefined)
    return { outcome: "stops", end: notPlain(call) };
  try {
    const begin = async () => {
      await deps.faults("worker.before-step", call.name);
      return beginUndoable(step, deps);
    };
    const begun = await (options.undo === undefined ? begin() : effects.startInOrder(begin));
    if (begun === null) return { outcome: "stops", end: { kind: "fenced" } };
    const end = options.once
      ? await onceStep(
          {
            ...shared,
            run: begun.run,
            call,
            claim,
            probe: options.probe,
            ...effects.of(call),
            tried: (number, tries) => effects.tried(call, number, tries),
            ledgerNowMs: () => ledgerNowMs(claim, deps, invocation),
          },
          deps,
        )
      : await runStep({
          ...shared,
          run: begun.run,
          name: call.name,
          triesBefore: step.triesBefore,
          idempotencyKey: idempotencyKeyOf(claim.firstRunId, call),
          chance: deps.chance,
          residentDelayMs: deps.settings.residentDelayMs,
        });
    await deps.faults("worker.after-step", call.name);
    if (end.outcome === "error" && !(await begun.failed()))
      return { outcome: "stops", end: { kind: "fenced" } };
    return end;
  } catch (error) {
    // What fails beside the function of an effect is the ledger: nobody knows what was written.
    if (options.once || options.undo !== undefined)
      return { outcome: "stops", end: { kind: "unknown", error } };
    return { outcome: "error", failure: describeFailure(error), tries: 1 };
  }
}

/** A step that does not end holds its hop; its run shows it, and goes on waiting. */
export function askForAPerson(
  { call, claim, log }: Pick<LiveStep, "call" | "claim" | "log">,
  deps: Pick<ExecutionDeps, "ledger">,
): void {
  void raiseAttention(claim, attentionText("step_overdue", call.name), log, deps);
}

/** Asks for a person. That it cannot is told, and fails nothing. A process may be frozen as soon as its hop has ended. */
export async function raiseAttention(
  claim: ClaimedRun,
  reason: AttentionText,
  log: Logger,
  deps: Pick<ExecutionDeps, "ledger">,
): Promise<void> {
  try {
    await deps.ledger.runs.raiseAttention(claim, reason);
  } catch (error) {
    log.warn("attention could not be raised", { reason, error: errorInLog(error) });
  }
}
