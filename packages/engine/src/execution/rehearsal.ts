import type { CallId } from "@ghouls/core";
import type { HopEnd } from "./hop-end.ts";
import type { LoadedEntry } from "./loaded-journal.ts";

/** Where code stands after a replay that starts nothing. */
export interface Rehearsal {
  /** The first entry that it did not ask for, and what it asked for instead. */
  readonly missed: { readonly entry: LoadedEntry; readonly asked: readonly string[] } | undefined;
  readonly end: HopEnd | undefined;
  readonly open: readonly CallId[];
}
