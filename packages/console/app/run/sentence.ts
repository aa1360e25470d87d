import type { wire } from "@ghouls/core";
import { leftText } from "../parts/spans.ts";

/** What a run waits for, in one sentence. @param now milliseconds; @param entries of its timeline, as far as they are known */
export function sentenceOf(
  run: wire.RunView,
  entries: readonly wire.TimelineEntry[],
  now: number,
): string | undefined {
  if (run.status === "DONE" || run.status === "FAILED" || run.status === "CANCELLED") return undefined;
  const held = run.pauses[0];
  if (run.status === "COMPLETING" || run.status === "FAILING" || run.status === "CANCELLING") {
    return endingOf(run, now);
  }
  if (run.quarantine !== null) {
    return "It stands still until a person has looked at it and cleared the quarantine.";
  }
  if (held !== undefined && run.status !== "RUNNING") return `It is paused by ${held.by}: ${held.reason}`;
  switch (run.status) {
    case "QUEUED":
      return queuedOf(run, entries, now);
    case "RUNNING":
      return runningOf(run, entries);
    case "AWAITING_HARDWARE":
      return reservedOf(run);
    case "AWAITING_CONSENT":
    case "AWAITING_DELEGATE":
    case "AWAITING_CHILD":
    case "AWAITING_SIGNAL":
    case "AWAITING_TIMER":
      return `It waits for ${listOf(run.waits.map((wait) => waitOf(wait, now))) || "what it is parked on"}.`;
  }
}

function endingOf(run: wire.RunView, now: number): string {
  const open = run.containment.filter(({ acknowledgedAt }) => acknowledgedAt === null);
  const end = { COMPLETING: "DONE", FAILING: "FAILED", CANCELLING: "CANCELLED" }[
    run.status as "COMPLETING" | "FAILING" | "CANCELLING"
  ];
  if (open.length === 0) return `It will be ${end} as soon as its end is written.`;
  const things = listOf(open.map(({ kind, subject }) => `${ITEM[kind]} ${quoted(subject)}`));
  const over = open.map(({ overAt }) => overAt).filter((at) => at !== null);
  const latest = over.length === open.length ? over.toSorted().at(-1) : undefined;
  const when =
    latest === undefined || Date.parse(latest) <= now ? "" : `, ${leftText(latest, now)} at the latest`;
  return `It will be ${end} once it is proven that nothing of it can still act: ${things}${when}.`;
}

const ITEM = {
  worker: "the worker",
  effect: "the effect",
  attempt: "the job",
  child: "the child",
  undo: "the undo of",
} as const;

function queuedOf(run: wire.RunView, entries: readonly wire.TimelineEntry[], now: number): string {
  const delivery = deliveriesOf(entries).at(-1);
  if (delivery?.status === "HELD") return "It is held: nothing moves until somebody releases it.";
  if (run.startsAt !== null && Date.parse(run.startsAt) > now)
    return `It starts ${leftText(run.startsAt, now)}.`;
  if (delivery !== undefined && Date.parse(delivery.dueAt) > now) {
    return `A worker takes it up ${leftText(delivery.dueAt, now)}.`;
  }
  return `It waits in the queue ${quoted(run.queue)} for a worker.`;
}

function runningOf(run: wire.RunView, entries: readonly wire.TimelineEntry[]): string {
  const claim = entries.findLast((entry) => entry.kind === "claimed" && entry.enqueueSeq === run.enqueueSeq);
  return claim?.kind === "claimed" ? `The worker ${claim.worker} carries it.` : "A worker carries it.";
}

function reservedOf(run: wire.RunView): string {
  const waiting = run.reservations.filter(({ status }) => status === "WAITING");
  const units = listOf(waiting.map(({ units: count, capacity }) => `${count} of ${quoted(capacity)}`));
  return `Its worker stays and waits for ${units || "units of a capacity"}.`;
}

function waitOf(wait: wire.OpenWait, now: number): string {
  const due = wait.dueAt === null ? "" : `, ${leftText(wait.dueAt, now)} at the latest`;
  switch (wait.kind) {
    case "consent":
      return `a decision about ${quoted(wait.name)}${due}`;
    case "delegate":
      return `the job ${quoted(wait.name)}${due}`;
    case "child":
      return `its child ${quoted(wait.name)}${due}`;
    case "signal":
      return `the signal ${quoted(wait.name)}${due}`;
    case "sleep":
      return wait.dueAt === null ? "a moment" : `time: it wakes ${leftText(wait.dueAt, now)}`;
    case "step":
    case "transaction":
    case "reserve":
    case "release":
      return `another try of ${quoted(wait.name)}${due}`;
  }
}

const deliveriesOf = (entries: readonly wire.TimelineEntry[]) =>
  entries.filter((entry) => entry.kind === "delivery");

const quoted = (name: string): string => `“${name}”`;

function listOf(parts: readonly string[]): string {
  const shown = parts.length > 4 ? [...parts.slice(0, 3), `${parts.length - 3} more`] : parts;
  return shown.length < 2 ? (shown[0] ?? "") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}
