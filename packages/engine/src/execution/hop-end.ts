import type { RunFailure } from "@ghouls/core";

/** How a hop ended, before anything of it is committed. */
export type HopEnd =
  | { readonly kind: "returned"; readonly output: unknown }
  | { readonly kind: "failed"; readonly failure: RunFailure }
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
