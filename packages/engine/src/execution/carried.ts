import type { RunStatus } from "@ghouls/core";

/** What became of a claimed delivery. */
export type Carried =
  | {
      readonly kind: "settled";
      readonly status: RunStatus;
      /** Why it failed, if it did. */
      readonly code?: string;
    }
  | {
      readonly kind: "handed_over";
      readonly outcome: "continued" | "given_back";
      readonly why: string;
    }
  | { readonly kind: "parked"; readonly status: RunStatus }
  | {
      readonly kind: "contained";
      readonly outcome: "done" | "failed" | "refused";
      /** Whether its run has ended with it. */
      readonly ended: boolean;
    }
  | { readonly kind: "quarantined"; readonly reason: string }
  | { readonly kind: "fenced" }
  | { readonly kind: "unknown"; readonly error: unknown };
