import type { WorkflowPin } from "@ghouls/core";
import type { Registry } from "../registry.ts";

/** Code of a release, loaded and verified. */
export interface LoadedRelease {
  /** The workflows that it defines, with the digests that they had in its build. */
  readonly registry: Registry;
}

/** What a look for the code of a pin has come to. */
export type FoundRelease =
  | { readonly kind: "none" }
  | { readonly kind: "loaded"; readonly release: LoadedRelease }
  /** It is there by the ledger, and cannot be read now. */
  | { readonly kind: "unreachable"; readonly why: string }
  /** It is not what was recorded, or cannot be what the pin names. */
  | { readonly kind: "refused"; readonly why: string };

/** Code that this build lacks, from where deploys have left it (design.md §5, Releases). */
export interface Releases {
  /** Rejects where the ledger cannot be asked. */
  find(pin: WorkflowPin): Promise<FoundRelease>;
}

/** There are none. */
export const noReleases: Releases = { find: () => Promise.resolve({ kind: "none" }) };
