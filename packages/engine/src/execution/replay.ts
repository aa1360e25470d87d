import { describeCall } from "@ghouls/core";
import type { OpenCall } from "./calls.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { LoadedEntry } from "./loaded-journal.ts";
import { comeToRest } from "./rest.ts";

/** The hop whose journal is replayed. */
export interface Replayed {
  find(entry: LoadedEntry): OpenCall | undefined;
  openCalls(): readonly OpenCall[];
  /** How the hop is about to end, if it is. */
  end(): HopEnd | undefined;
  /** Whether a call was refused, so that nothing more is asked for. */
  refused(): boolean;
  resolve(call: OpenCall, entry: LoadedEntry): void;
  /** Told of the first entry that the code does not ask for, and of what it asks for instead. */
  missed(entry: LoadedEntry, asked: readonly string[]): void;
  /** Milliseconds for which code that asks late is waited for, on a monotonic clock. */
  readonly patienceMs: number;
  nowMs(): number;
}

/**
 * Resolves the entries of a journal one at a time, in their order of completion, and lets the code come to rest after each
 * (design.md §3, Step). Answers how the hop ends where an entry is not asked for.
 */
export async function replay(journal: readonly LoadedEntry[], hop: Replayed): Promise<HopEnd | undefined> {
  await comeToRest();
  for (const entry of journal) {
    if (stops(hop)) return undefined;
    const call = await askedFor(entry, hop);
    if (call === undefined) {
      const asked = hop.openCalls().map((open) => describeCall(open.id));
      if (stops(hop)) return undefined;
      hop.missed(entry, asked);
      return refusal(
        "journal_mismatch",
        `journal entry ${entry.ordinal} is ${describeCall(entry)}, but the code ${
          asked.length === 0 ? "does not ask for it" : `asks for ${asked.join(", ").slice(0, 1_000)}`
        }: the workflow's code has changed or is not deterministic`,
      );
    }
    hop.resolve(call, entry);
    await comeToRest();
  }
  return undefined;
}

/** A refusal, a handover and a fence end a replay; code that has come to its end may still be asked for more. */
function stops(hop: Replayed): boolean {
  const end = hop.end();
  return hop.refused() || (end !== undefined && end.kind !== "returned" && end.kind !== "failed");
}

/**
 * The open call that an entry answers. Code that waits for something outside of steps (an import, say) may ask a little
 * later than others; that is waited for within a bound.
 */
async function askedFor(entry: LoadedEntry, hop: Replayed): Promise<OpenCall | undefined> {
  const started = hop.nowMs();
  for (;;) {
    const call = hop.find(entry);
    if (call !== undefined) return call;
    if (hop.end() !== undefined || hop.nowMs() - started > hop.patienceMs) return undefined;
    await comeToRest();
  }
}
