import type { wire } from "@ghouls/core";
import { printable } from "./printable.ts";

/** One line for an entry of a timeline: when, and what happened in words. */
export function timelineLine(entry: wire.TimelineEntry): string {
  return `${entry.at}  ${printable(whatHappened(entry))}\n`;
}

function whatHappened(entry: wire.TimelineEntry): string {
  switch (entry.kind) {
    case "admitted":
      return "admitted";
    case "delivery":
      return `delivery ${entry.enqueueSeq} made (${entry.cause}), now ${entry.status}`;
    case "published":
      return `delivery ${entry.enqueueSeq} published${entry.publications === 1 ? "" : `, ${entry.publications} times by now`}`;
    case "claimed":
      return `delivery ${entry.enqueueSeq} claimed by ${entry.worker}`;
    case "step":
      return stepText(entry);
    case "worker_ended":
      return `worker ${entry.worker} ended: ${entry.how}`;
    case "settled":
      return `delivery ${entry.enqueueSeq} settled: ${entry.outcome}`;
    case "fenced":
      return `delivery ${entry.enqueueSeq} fenced: ${entry.why}`;
    case "skipped":
      return `a message of delivery ${entry.enqueueSeq} skipped: ${entry.reason}${entry.times === 1 ? "" : `, ${entry.times} times, the last at ${entry.lastAt}`}`;
    case "finished":
      return entry.errorCode === null ? `run ${entry.status}` : `run ${entry.status}: ${entry.errorCode}`;
  }
}

function stepText(entry: Extract<wire.TimelineEntry, { kind: "step" }>): string {
  const use = entry.nth === 1 ? "" : ` (use ${entry.nth})`;
  const tries = entry.tries === 1 ? "" : ` after ${entry.tries} tries`;
  const took = Date.parse(entry.at) - Date.parse(entry.startedAt);
  const where = entry.scope === "" ? "" : ` in ${entry.scope}`;
  return `${entry.call} "${entry.name}"${use}${where} ${entry.outcome === "ok" ? "done" : "failed"}${tries}, ${took} ms`;
}
