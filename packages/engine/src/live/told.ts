import type { CallId, Clock, LiveStream, wire } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { Carried } from "../execution/carried.ts";

/** What happens to a run, as its worker tells those who look on. Each word comes after the commit that it is about. */
interface TellingDeps {
  readonly live: LiveStream;
  readonly clock: Clock;
}

const hopOf = ({ tenantId, runId, seq }: ClaimedRun) => ({ tenantId, runId, enqueueSeq: seq });

export function tellClaimed(claim: ClaimedRun, worker: string, { live }: TellingDeps): void {
  const { seq: enqueueSeq, cause, claimedAt } = claim;
  live.tell(hopOf(claim), { kind: "claimed", at: claimedAt.toISOString(), enqueueSeq, worker, cause });
}

/** An entry of the journal, with what a timeline says of it. */
export interface ToldEntry extends Pick<CallId, "kind" | "name" | "scope" | "nth"> {
  readonly seq: number;
  readonly ordinal: number;
  readonly outcome: "ok" | "error";
  readonly tries: number;
  readonly startedAt: Date;
  readonly completedAt: Date;
}

export function tellEntry(claim: ClaimedRun, entry: ToldEntry, live: LiveStream): void {
  live.tell(hopOf(claim), stepOf(entry));
}

/** An entry of the journal as timelines and events have it. */
export function stepOf(entry: ToldEntry): Extract<wire.TimelineEntry, { kind: "step" }> {
  return {
    kind: "step",
    at: entry.completedAt.toISOString(),
    enqueueSeq: entry.seq,
    ordinal: entry.ordinal,
    call: entry.kind,
    name: entry.name,
    scope: entry.scope,
    nth: entry.nth,
    outcome: entry.outcome,
    tries: entry.tries,
    startedAt: entry.startedAt.toISOString(),
  };
}

/** How a hop has ended. What nobody knows, or was taken away, the ledger tells later. */
export function tellEnded(claim: ClaimedRun, carried: Carried, { live, clock }: TellingDeps): void {
  const outcome = outcomeOf(carried);
  if (outcome === undefined) return;
  const at = new Date(clock.wallMs()).toISOString();
  live.tell(hopOf(claim), { kind: "settled", at, enqueueSeq: claim.seq, outcome });
}

type Outcome = Extract<wire.TimelineEntry, { kind: "settled" }>["outcome"];

function outcomeOf(carried: Carried): Outcome | undefined {
  switch (carried.kind) {
    case "settled":
      return carried.status === "DONE" || carried.status === "COMPLETING" ? "done" : "failed";
    case "parked":
      return "parked";
    case "handed_over":
    case "contained":
      return carried.outcome;
    case "quarantined":
      return "given_back";
    case "fenced":
    case "unknown":
      return undefined;
  }
}
