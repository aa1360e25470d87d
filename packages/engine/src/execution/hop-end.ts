import type { RunFailure } from "@ghouls/core";

/** How a hop ended, before anything of it is committed. */
export type HopEnd =
  | { readonly kind: "returned"; readonly output: unknown }
  | { readonly kind: "failed"; readonly failure: RunFailure }
  /** The invocation or the process ends before the run does: the next hop goes on from the journal. */
  | { readonly kind: "yielded"; readonly why: "time" | "drain" }
  /**
   * It waits for an earlier claim to be over, or for its own to be, before it asks about an effect; or for a build that has
   * its workflow.
   */
  | {
      readonly kind: "given_back";
      readonly dueAt: Date;
      readonly why: string;
      readonly workflowAbsent?: true;
    }
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
