import type { CallId } from "@ghouls/core";
import type { HopEnd } from "./hop-end.ts";
import type { LoadedEntry } from "./loaded-journal.ts";

/** What code had asked for when its hop ended, and had no result of. */
export interface Unanswered {
  readonly calls: readonly CallId[];
  /** Whether it asked for more when its hop was about to be handed over. */
  readonly more: boolean;
}

/** Where code stands after a replay that starts nothing. */
export interface Rehearsal {
  /** The first entry that it did not ask for, and what it asked for instead. */
  readonly missed: { readonly entry: LoadedEntry; readonly asked: readonly string[] } | undefined;
  readonly end: HopEnd | undefined;
  readonly open: readonly CallId[];
}
