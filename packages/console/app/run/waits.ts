import type { wire } from "@ghouls/core";

type Call = Extract<wire.TimelineEntry, { kind: "step" }>;

/** What waits of a run are waits for. */
export interface Owners {
  readonly consents: readonly wire.ConsentSummary[];
  readonly attempts: readonly wire.AttemptSummary[];
}

/** Whom a call has asked: a page of its own tells more. */
export interface Asked {
  readonly kind: "consent" | "attempt";
  readonly id: string;
  /** What came of it and by whom: "granted by user:ada". */
  readonly told: string;
}

/** The consent or job of a call: the n-th of its name, in the order in which they were made. */
export function askedBy(call: Call, { consents, attempts }: Owners): Asked | undefined {
  if (call.call === "consent") {
    const one = nth(consents, call.nth, ({ title }) => title === call.name);
    return one && { kind: "consent", id: one.consentId, told: endOf(one.status, one.closedBy) };
  }
  if (call.call !== "delegate") return undefined;
  const one = nth(attempts, call.nth, ({ name }) => name === call.name);
  return one && { kind: "attempt", id: one.attemptId, told: endOf(one.status, one.closedBy) };
}

function nth<One extends { readonly createdAt: string }>(
  all: readonly One[],
  count: number,
  is: (one: One) => boolean,
): One | undefined {
  return all.filter(is).toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1))[count - 1];
}

function endOf(status: string, closedBy: string | null): string {
  return closedBy === null ? status.toLowerCase() : `${status.toLowerCase()} by ${closedBy}`;
}
