import type { wire } from "@ghouls/core";
import { describe, expect, it } from "vitest";
import { sentenceOf } from "./sentence.ts";

const NOW = Date.parse("2030-01-31T12:00:00Z");
const wait = (kind: wire.OpenWait["kind"], name: string, dueAt: string | null = null): wire.OpenWait => ({
  kind,
  name,
  scope: "",
  dueAt,
  consentId: null,
  attemptId: null,
  childRunId: null,
});
const run = (given: Partial<wire.RunView>): wire.RunView =>
  ({
    status: "QUEUED",
    queue: "runs",
    enqueueSeq: 1,
    pauses: [],
    quarantine: null,
    startsAt: null,
    waits: [],
    reservations: [],
    containment: [],
    ...given,
  }) as wire.RunView;
const item = (given: Partial<wire.ContainmentItem>) =>
  ({ kind: "worker", subject: "w1", overAt: null, acknowledgedAt: null, ...given }) as wire.ContainmentItem;
const delivery = (status: "HELD" | "PENDING", dueAt: string) =>
  ({ kind: "delivery", at: dueAt, enqueueSeq: 1, cause: "admitted", status, dueAt }) as const;

const EARLIER = "2030-01-31T11:00:00Z";
const CASES: [string, Partial<wire.RunView>, readonly wire.TimelineEntry[], string | undefined][] = [
  ["ended", { status: "DONE" }, [], undefined],
  ["queued", {}, [delivery("PENDING", EARLIER)], "It waits in the queue “runs” for a worker."],
  ["held", {}, [delivery("HELD", EARLIER)], "It is held: nothing moves until somebody releases it."],
  ["delayed", { startsAt: "2030-01-31T14:00:00Z" }, [], "It starts in 2 h."],
  ["given back", {}, [delivery("PENDING", "2030-01-31T12:00:30Z")], "A worker takes it up in 30 s."],
  [
    "running",
    { status: "RUNNING" },
    [{ kind: "claimed", at: EARLIER, enqueueSeq: 1, worker: "w1", cause: "admitted" }],
    "The worker w1 carries it.",
  ],
  [
    "parked on a consent",
    { status: "AWAITING_CONSENT", waits: [wait("consent", "ship", "2030-02-03T11:00:00Z")] },
    [],
    "It waits for a decision about “ship”, in 2 d 23 h at the latest.",
  ],
  [
    "parked on several",
    {
      status: "AWAITING_SIGNAL",
      waits: [wait("signal", "paid"), wait("sleep", "late", "2030-01-31T13:00:00Z")],
    },
    [],
    "It waits for the signal “paid” and time: it wakes in 1 h.",
  ],
  [
    "waiting for units",
    {
      status: "AWAITING_HARDWARE",
      reservations: [
        { capacity: "gpu", units: 2, status: "WAITING" } as wire.RunView["reservations"][number],
      ],
    },
    [],
    "Its worker stays and waits for 2 of “gpu”.",
  ],
  [
    "ending",
    { status: "CANCELLING", containment: [item({ overAt: "2030-01-31T12:02:00Z" })] },
    [],
    "It will be CANCELLED once it is proven that nothing of it can still act: the worker “w1”, in 2 min at the latest.",
  ],
  [
    "ending, and only a word can tell",
    { status: "FAILING", containment: [item({ kind: "effect", subject: "pay" })] },
    [],
    "It will be FAILED once it is proven that nothing of it can still act: the effect “pay”.",
  ],
  [
    "quarantined",
    { quarantine: { reason: "x", at: EARLIER } },
    [],
    "It stands still until a person has looked at it and cleared the quarantine.",
  ],
  [
    "paused",
    { pauses: [{ scope: "run", pauseId: null, by: "user:ada", reason: "lunch", at: EARLIER }] },
    [],
    "It is paused by user:ada: lunch",
  ],
];

describe("what a run waits for, in one sentence", () => {
  it.each(CASES)("is told of a run that is %s", (_, given, entries, sentence) => {
    expect(sentenceOf(run(given), entries, NOW)).toBe(sentence);
  });
});
