import {
  NonRetryableError,
  describeFailure,
  nameInLog,
  retryDelayMs,
  runLogger,
  type Failure,
  type Logger,
  type StepContext,
} from "@ghouls/core";
import type { HopEnd } from "./hop-end.ts";
import type { ResolvedStepOptions } from "./step-options.ts";

/** One call of a function of the user's. */
export interface StepCall {
  readonly name: string;
  readonly idempotencyKey: string;
  readonly options: Pick<ResolvedStepOptions, "timeoutMs">;
  readonly run: (context: StepContext) => unknown;
  /** Fires when nothing of this hop is wanted any more. */
  readonly hopSignal: AbortSignal;
  readonly log: Logger;
  /** Called once when the function has not ended this many milliseconds after its timeout. */
  readonly overdueAfterMs: number;
  readonly onOverdue: () => void;
}

export interface StepRun extends StepCall {
  readonly options: ResolvedStepOptions;
  /** Chance in [0, 1), for the spread of retries. */
  readonly chance: () => number;
  /** A longer delay before the next try parks the run, in milliseconds. */
  readonly residentDelayMs: number;
  /** Tries of earlier hops, after which the run was parked, handed over or given back. */
  readonly triesBefore: number;
  /** Why no further try may start now: the hop ends instead, and the next one goes on with the tries that are left. */
  readonly whyNotNow: () => HopEnd | undefined;
  /** Whether the run goes on in another hop: between two tries it is let go. */
  readonly handsOver: () => boolean;
}

export type StepEnd =
  | {
      readonly outcome: "ok";
      readonly value: unknown;
      readonly tries: number;
      readonly closesIntent?: boolean;
    }
  | { readonly outcome: "error"; readonly failure: Failure; readonly tries: number }
  /** The hop ended between two tries: no outcome, and nothing in flight. */
  | { readonly outcome: "abandoned"; readonly tries: number }
  /** The next try is far enough away to park the run until then. */
  | { readonly outcome: "later"; readonly tries: number; readonly delayMs: number };

/** An end that is kept: what the function returned, or how it failed for good. */
export type StepOutcome = Extract<StepEnd, { outcome: "ok" | "error" }>;

/**
 * Calls a step's function until it succeeds or its tries are used up. A function is in flight until it has returned or
 * thrown: a timeout only fires its signal, and no second call starts beside the first (design.md §3, Step).
 */
export async function runStep(step: StepRun): Promise<StepEnd> {
  const { options } = step;
  for (let tryNumber = step.triesBefore + 1; ; tryNumber += 1) {
    const end = await callOnce(step, tryNumber);
    if (end.outcome === "ok") return { outcome: "ok", value: end.value, tries: tryNumber };
    const final = isNonRetryable(end.thrown) || tryNumber >= options.tries;
    if (final) return { outcome: "error", failure: end.failure, tries: tryNumber };
    if (step.hopSignal.aborted) return { outcome: "abandoned", tries: tryNumber };
    step.log.warn("a try of a step failed", {
      step: step.name,
      try: tryNumber,
      error: nameInLog(end.failure.name),
    });
    const delayMs = retryDelayMs(options.backoff, tryNumber + 1, step.chance());
    if (delayMs > step.residentDelayMs || step.handsOver())
      return { outcome: "later", tries: tryNumber, delayMs };
    await pause(delayMs, step.hopSignal);
    if (step.hopSignal.aborted) return { outcome: "abandoned", tries: tryNumber };
    const notNow = step.whyNotNow();
    // What was tried is kept: another invocation has the next one.
    if (notNow !== undefined) return { outcome: "later", tries: tryNumber, delayMs: 0 };
  }
}

export type CallEnd =
  | { readonly outcome: "ok"; readonly value: unknown }
  | { readonly outcome: "error"; readonly failure: Failure; readonly thrown: unknown };

/** Calls a function and waits until it has returned or thrown, however long that takes. Leaves no timer. */
export async function callOnce(step: StepCall, tryNumber: number): Promise<CallEnd> {
  const { timeoutMs } = step.options;
  const controller = new AbortController();
  const stop = () => controller.abort(step.hopSignal.reason);
  step.hopSignal.addEventListener("abort", stop, { once: true });
  if (step.hopSignal.aborted) stop();
  let timedOut = false;
  const timeout = setTimeout(() => {
    timedOut = true;
    controller.abort(
      new DOMException(`step "${step.name}" did not end within ${timeoutMs} ms`, "TimeoutError"),
    );
  }, timeoutMs);
  const overdue = setTimeout(step.onOverdue, timeoutMs + step.overdueAfterMs);
  try {
    const { idempotencyKey } = step;
    const value = await step.run({
      idempotencyKey,
      tryNumber,
      signal: controller.signal,
      log: runLogger(step.log),
    });
    // A value that came after the timeout is a value: to throw it away would repeat what has happened.
    return { outcome: "ok", value };
  } catch (error) {
    const failure = describeFailure(error);
    return {
      outcome: "error",
      thrown: error,
      failure: timedOut
        ? {
            name: "TimeoutError",
            message: `it did not end within ${timeoutMs} ms (then: ${failure.message.slice(0, 500)})`,
          }
        : failure,
    };
  } finally {
    clearTimeout(timeout);
    clearTimeout(overdue);
    step.hopSignal.removeEventListener("abort", stop);
  }
}

export function isNonRetryable(error: unknown): boolean {
  if (error instanceof NonRetryableError) return true;
  return error instanceof Error && error.name === "NonRetryableError";
}

/** Waits, or ends early when the signal fires; leaves no timer behind. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end, { once: true });
  });
}
