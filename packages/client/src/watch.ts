import type { wire } from "@ghouls/core";

/**
 * Identity of a timeline entry between two reads. A delivery's status and a count of publications move on in place: the
 * first is no news, since claim, settlement and fence have entries of their own; a further publication is.
 */
function identityOf(entry: wire.TimelineEntry): string {
  switch (entry.kind) {
    case "admitted":
    case "finished":
      return entry.kind;
    case "published":
      return JSON.stringify([entry.kind, entry.enqueueSeq, entry.publications]);
    case "step":
      return JSON.stringify([entry.kind, entry.ordinal]);
    case "delivery":
    case "claimed":
    case "worker_ended":
    case "settled":
    case "fenced":
      return JSON.stringify([entry.kind, entry.enqueueSeq]);
  }
}

/** The entries of a timeline that were not in `seen`, which then has them. */
export function takeNew(timeline: wire.Timeline, seen: Set<string>): wire.TimelineEntry[] {
  return timeline.entries.filter((entry) => {
    const identity = identityOf(entry);
    if (seen.has(identity)) return false;
    seen.add(identity);
    return true;
  });
}
