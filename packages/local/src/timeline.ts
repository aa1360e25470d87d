import type { wire } from "@ghouls/core";

type Entry = wire.Timeline["entries"][number];

/** What makes an entry the same when it is read again: a delivery's status and a publication's count still move. */
export function entryKey(entry: Entry): string {
  switch (entry.kind) {
    case "admitted":
    case "finished":
      return entry.kind;
    case "step":
      return `step ${entry.ordinal}`;
    case "claimed":
    case "worker_ended":
      return `${entry.kind} ${entry.enqueueSeq} ${entry.worker}`;
    case "skipped":
      return `${entry.kind} ${entry.enqueueSeq} ${entry.reason}`;
    case "delivery":
    case "published":
    case "settled":
    case "fenced":
      return `${entry.kind} ${entry.enqueueSeq}`;
  }
}

/** The words of an entry: what happened, and what to know about it. */
export function describeEntry(entry: Entry): readonly [what: string, detail: string] {
  switch (entry.kind) {
    case "admitted":
      return ["admitted", ""];
    case "delivery":
      return ["delivery", `${entry.enqueueSeq} ${entry.cause}`];
    case "published":
      return ["published", `${entry.enqueueSeq}`];
    case "claimed":
      return ["claimed", `${entry.enqueueSeq} by ${entry.worker}`];
    case "step":
      return [entry.call, `${entry.name}${entry.nth > 1 ? ` #${entry.nth}` : ""}${stepNotes(entry)}`];
    case "worker_ended":
      return ["worker ended", `${entry.worker}: ${entry.how}`];
    case "settled":
      return ["settled", `${entry.enqueueSeq} ${entry.outcome}`];
    case "fenced":
      return ["fenced", `${entry.enqueueSeq} ${entry.why}`];
    case "skipped":
      return ["skipped", `${entry.enqueueSeq} ${entry.reason}${entry.times === 1 ? "" : ` ×${entry.times}`}`];
    case "finished":
      return [entry.status, entry.errorCode ?? ""];
  }
}

function stepNotes(entry: Extract<Entry, { kind: "step" }>): string {
  const notes = [
    ...(entry.outcome === "error" ? ["error"] : []),
    ...(entry.tries > 1 ? [`${entry.tries} tries`] : []),
    `${Math.max(0, Date.parse(entry.at) - Date.parse(entry.startedAt))} ms`,
  ];
  return ` (${notes.join(", ")})`;
}

/**
 * A line for the terminal: workflow, seconds since the run was admitted, what, detail, in columns.
 * @param label padded to `width`
 */
export function formatEntry(label: string, width: number, startMs: number, entry: Entry): string {
  const seconds = ((Date.parse(entry.at) - startMs) / 1_000).toFixed(3);
  const [what, detail] = describeEntry(entry);
  return `${label.padEnd(width)}  ${`+${seconds}s`.padStart(9)}  ${what.padEnd(12)} ${detail}`.trimEnd();
}
