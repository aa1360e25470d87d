import { StepFailedError, describeFailure, type RunFailure } from "@ghouls/core";
import type { OpenCall } from "./calls.ts";

/** When a delivery is due again that went back for want of something: a build, a codec, an owner's answer, units. */
export const DUE_AGAIN_MS = 30_000;

/** How a hop ended, before anything of it is committed. */
export type HopEnd =
  | { readonly kind: "returned"; readonly output: unknown }
  | { readonly kind: "failed"; readonly failure: RunFailure }
  /** The invocation, the process or a grant ends before the run does: the next hop goes on from the journal. */
  | { readonly kind: "yielded"; readonly why: "time" | "drain" | "pause" | "grant" | "units" }
  /**
   * It waits for an earlier claim to be over, or for its own to be, before it asks about an effect; for a build that has its
   * workflow; for a codec that is out of order; or for whoever knows its authority, has its grants, or is to be connected to.
   */
  | {
      readonly kind: "given_back";
      readonly dueAt: Date;
      readonly why: string;
      readonly workflowAbsent?: true;
    }
  /** Every branch is finished or stands in a durable wait: these. */
  | { readonly kind: "parked"; readonly standing: readonly OpenCall[] }
  /** Its code continues as new, with this input. */
  | { readonly kind: "restarted"; readonly input: unknown }
  /** The claim is gone: nothing of this hop may be written any more. */
  | { readonly kind: "fenced" }
  /** The ledger could not be reached, or did not say whether it wrote: the claim is left as it is. */
  | { readonly kind: "unknown"; readonly error: unknown };

export function refusal(code: RunFailure["code"], message: string, step?: string): HopEnd {
  return {
    kind: "failed",
    failure: { code, name: "Refused", message, ...(step === undefined ? {} : { step }) },
  };
}

/** Whether the run goes on in another hop without a word of its code. */
export function handsOver(end: HopEnd): boolean {
  return end.kind === "yielded" || end.kind === "given_back";
}

/**
 * Whether a later word about a hop's end takes the place of the first: a fence or an unknown write of any, and code that came
 * to its end, or a refusal, of a hop that was about to be handed over.
 */
export function overrules(end: HopEnd, before: HopEnd): boolean {
  if (end.kind === "fenced" || end.kind === "unknown") return true;
  // A run does not go on as new while nobody knows of an effect of the old one.
  if (before.kind === "restarted" && isOfAnEffect(end)) return true;
  return handsOver(before) && !handsOver(end);
}

/** Whether it is about an effect whose outcome is not known: asked about in a later hop, or never to be known. */
function isOfAnEffect(end: HopEnd): boolean {
  return end.kind === "given_back" || (end.kind === "failed" && end.failure.code === "effect_unknown");
}

/** An error on the way to an end is one of which nobody knows what was written. */
export async function whatStops(ask: () => Promise<HopEnd | undefined>): Promise<HopEnd | undefined> {
  try {
    return await ask();
  } catch (error) {
    return { kind: "unknown", error };
  }
}

/** The end of code that threw. */
export function failureOf(error: unknown): HopEnd {
  const failure = stepFailureIn(error);
  if (failure === undefined)
    return { kind: "failed", failure: { code: "workflow_failed", ...describeFailure(error) } };
  const { name, message } = describeFailure(error);
  return { kind: "failed", failure: { code: "step_failed", name, message, ...failure } };
}

/** The step and stack of a StepFailedError; user code may throw anything, also what throws when it is looked at. */
function stepFailureIn(error: unknown): { step: string; stack?: string } | undefined {
  try {
    if (!(error instanceof StepFailedError)) return undefined;
    const stack = error.failure.stack;
    return { step: String(error.step), ...(typeof stack === "string" ? { stack } : {}) };
  } catch {
    return undefined;
  }
}
