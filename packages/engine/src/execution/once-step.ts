import {
  NotDoneError,
  idempotencyKeyOf,
  retryDelayMs,
  type CallId,
  type Failure,
  type Logger,
  type ProbeAnswer,
  type ProbeContext,
  type StepContext,
} from "@ghouls/core";
import type { ClaimedRun, OpenIntent } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { ResolvedStepOptions } from "./step-options.ts";
import { callOnce, pause, type StepCall, type StepEnd } from "./step-run.ts";

/** An effect that happens once, as one hop sees it. */
export interface OnceStep {
  readonly call: CallId;
  readonly claim: ClaimedRun;
  readonly run: (context: StepContext) => unknown;
  readonly probe: ((context: ProbeContext) => unknown) | undefined;
  readonly options: ResolvedStepOptions;
  readonly hopSignal: AbortSignal;
  readonly log: Logger;
  /** The intent of an earlier hop that has no outcome. */
  readonly openIntent: OpenIntent | undefined;
  /** Of the last intent of this call; 0 where there is none. */
  readonly lastNumber: number;
  /** Its intents that were tries: a loss of its worker is none. */
  readonly triesUsed: number;
  /** Told when a try has certainly not happened. */
  readonly tried: (number: number, tries: number) => void;
  readonly onOverdue: () => void;
  readonly overdueAfterMs: number;
  /** The ledger's time, as far as this process can tell, in milliseconds. */
  readonly ledgerNowMs: () => number;
  /** Why no further try may start now. */
  readonly whyNotNow: () => HopEnd | undefined;
  /** Whether the run goes on in another hop: between two tries it is let go. */
  readonly handsOver: () => boolean;
}

/** Either an outcome to journal, or how the hop ends because there is none. */
export type OnceEnd = StepEnd | { readonly outcome: "stops"; readonly end: HopEnd };

const stops = (end: HopEnd): OnceEnd => ({ outcome: "stops", end });

/** How long a hop waits before it asks about an effect of its own claim, which is over once it has given back. */
const ASK_AFTER_MS = 1_000;

/** How long a hop waits where only a word can tell that an earlier worker is gone. */
const WORD_AFTER_MS = 300_000;

/**
 * Carries an effect that happens once (design.md §3, Step): commits the intent, then calls. A throw is an unknown outcome,
 * unless it is `notDone`, which alone is tried again. An intent without an outcome is asked about with the probe, only
 * after the claim that wrote it is over; only `cannot_happen` repeats the call, under a new intent.
 */
export async function onceStep(step: OnceStep, deps: ExecutionDeps): Promise<OnceEnd> {
  let number = step.lastNumber;
  let tries = step.triesUsed;
  if (step.openIntent !== undefined) {
    const asked = await askAbout(step, step.openIntent, deps);
    if (asked !== "cannot_happen") return asked;
  }
  if (tries >= step.options.tries) {
    // Every try has certainly not happened; its worker may have been lost before that was journaled.
    return failedForGood(step, tries, { name: "Error", message: "it did not happen" });
  }
  for (;;) {
    // It was asked about; nothing is called for a run that does not go on here.
    if (step.hopSignal.aborted) return { outcome: "abandoned", tries };
    const notNow = step.whyNotNow();
    if (notNow !== undefined) return stops(notNow);
    number += 1;
    tries += 1;
    await deps.faults("worker.before-intent", step.call.name);
    if (!(await deps.ledger.intents.openIfClaimed(step.claim, step.call, number)))
      return stops({ kind: "fenced" });
    await deps.faults("worker.after-intent", step.call.name);
    const end = await callOnce(callOf(step, step.call.name, step.run), tries);
    if (end.outcome === "ok") return { outcome: "ok", value: end.value, tries, closesIntent: true };
    if (!(end.thrown instanceof NotDoneError)) return unknownOutcome(step, tries, end.failure);
    if (!(await deps.ledger.intents.closeIfClaimed(step.claim, step.call, number, "not_done"))) {
      return stops({ kind: "fenced" });
    }
    step.tried(number, tries);
    if (tries >= step.options.tries || step.hopSignal.aborted) return failedForGood(step, tries, end.failure);
    const delayMs = retryDelayMs(step.options.backoff, tries + 1, deps.chance());
    if (delayMs > deps.settings.residentDelayMs || step.handsOver())
      return { outcome: "later", tries, delayMs };
    await pause(delayMs, step.hopSignal);
  }
}

function callOf(step: Probed, name: string, run: (context: StepContext) => unknown): StepCall {
  const { options, hopSignal, log, onOverdue, overdueAfterMs } = step;
  const idempotencyKey = idempotencyKeyOf(step.claim.firstRunId, step.call);
  return { name, run, options, hopSignal, log, onOverdue, overdueAfterMs, idempotencyKey };
}

function failedForGood(step: OnceStep, tries: number, failure: Failure): OnceEnd {
  step.log.warn("an effect has certainly not happened", { step: step.call.name, tries });
  return { outcome: "error", failure, tries };
}

/** The probe may be asked once this claim is over: the delivery goes back, and the next hop asks. */
function unknownOutcome(step: OnceStep, tries: number, failure: Failure): OnceEnd {
  if (step.probe === undefined) return stops(effectUnknown(step, failure.message));
  step.log.warn("the outcome of an effect is unknown; its probe is asked next", {
    step: step.call.name,
    try: tries,
  });
  return stops({
    kind: "given_back",
    dueAt: new Date(step.ledgerNowMs() + ASK_AFTER_MS),
    why: `the outcome of "${step.call.name}" is unknown`,
  });
}

function effectUnknown(step: OnceStep, what: string): HopEnd {
  const { name } = step.call;
  return refusal(
    "effect_unknown",
    `effect "${name}" may or may not have happened: ${what.slice(0, 500)}`,
    name,
  );
}

async function askAbout(
  step: OnceStep,
  intent: OpenIntent,
  deps: ExecutionDeps,
): Promise<OnceEnd | "cannot_happen"> {
  if (!intent.over) {
    const dueAt = intent.overAt ?? new Date(step.ledgerNowMs() + WORD_AFTER_MS);
    return stops({
      kind: "given_back",
      dueAt,
      why: `an earlier worker may still carry out "${step.call.name}"`,
    });
  }
  if (step.probe === undefined) return stops(effectUnknown(step, "its worker was lost, and it has no probe"));
  const answer = await probe(step.probe, step);
  if (typeof answer === "string") return stops(effectUnknown(step, answer));
  if (answer.outcome === "happened") {
    return { outcome: "ok", value: answer.result, tries: intent.number, closesIntent: true };
  }
  if (answer.outcome === "unknown") return stops(effectUnknown(step, "its probe does not know"));
  const closed = await deps.ledger.intents.closeIfClaimed(
    step.claim,
    step.call,
    intent.number,
    "cannot_happen",
  );
  return closed ? "cannot_happen" : stops({ kind: "fenced" });
}

/** What asking a probe needs. */
export type Probed = Pick<
  OnceStep,
  "call" | "claim" | "options" | "hopSignal" | "log" | "onOverdue" | "overdueAfterMs"
>;

/** Asks a probe, within its step's timeout. Words instead of an answer where it cannot tell. */
export async function probe(
  ask: (context: ProbeContext) => unknown,
  step: Probed,
): Promise<ProbeAnswer | string> {
  const end = await callOnce(callOf(step, `probe of ${step.call.name}`, ask), 1);
  if (end.outcome === "error") return `its probe failed: ${end.failure.message.slice(0, 300)}`;
  return isAnswer(end.value) ? end.value : "its probe answered nothing that a probe answers";
}

function isAnswer(value: unknown): value is ProbeAnswer {
  if (typeof value !== "object" || value === null || !("outcome" in value)) return false;
  return value.outcome === "happened" || value.outcome === "cannot_happen" || value.outcome === "unknown";
}
