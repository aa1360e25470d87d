import type { wire } from "@ghouls/core";
import { describe, expect, it } from "vitest";
import { placeOf, rowsOf, stretchOf, hopsOf } from "./hops.ts";

const at = (second: number): string => new Date(Date.UTC(2030, 0, 31, 12, 0, second)).toISOString();
const step = (
  ordinal: number,
  enqueueSeq: number,
  from: number,
  to: number,
): Extract<wire.TimelineEntry, { kind: "step" }> => ({
  kind: "step",
  at: at(to),
  enqueueSeq,
  ordinal,
  call: "step",
  name: `step ${ordinal}`,
  scope: "",
  nth: 1,
  outcome: "ok",
  tries: 1,
  startedAt: at(from),
});
const delivery = (enqueueSeq: number, second: number) =>
  ({
    kind: "delivery",
    at: at(second),
    enqueueSeq,
    cause: enqueueSeq === 1 ? "admitted" : "recovered",
    status: "SETTLED",
    dueAt: at(second),
  }) as const;

const ENTRIES: readonly wire.TimelineEntry[] = [
  { kind: "admitted", at: at(0) },
  delivery(1, 0),
  { kind: "claimed", at: at(2), enqueueSeq: 1, worker: "w1", cause: "admitted" },
  step(1, 1, 2, 7),
  { kind: "worker_ended", at: at(9), enqueueSeq: 1, worker: "w1", how: "signal SIGKILL" },
  { kind: "settled", at: at(12), enqueueSeq: 1, outcome: "lost" },
  delivery(2, 12),
  { kind: "claimed", at: at(13), enqueueSeq: 2, worker: "w2", cause: "recovered" },
  step(2, 2, 1, 15),
  { kind: "settled", at: at(16), enqueueSeq: 2, outcome: "done" },
  { kind: "finished", at: at(16), status: "DONE", errorCode: null },
];

describe("the rows of a timeline", () => {
  const shown = (folded: number[] = []): string[] =>
    rowsOf(ENTRIES, new Set(folded)).map((row) =>
      row.kind === "hop"
        ? `hop ${row.hop.seq} ${row.hop.end?.kind === "settled" ? row.hop.end.outcome : ""}`
        : row.kind === "call"
          ? row.call.name
          : row.kind === "fact"
            ? row.entry.kind
            : row.kind,
    );

  it("put each hop's calls and what befell it below it, in order", () => {
    expect(shown()).toEqual([
      "admitted",
      "hop 1 lost",
      "step 1",
      "worker_ended",
      "hop 2 done",
      "step 2",
      "finished",
    ]);
  });

  it("leave out what is folded", () => {
    expect(shown([1])).toEqual(["admitted", "hop 1 lost", "hop 2 done", "step 2", "finished"]);
  });

  it("show an empty run as empty", () => {
    expect(rowsOf([], new Set())).toEqual([]);
  });
});

describe("where a call stands in its hop", () => {
  const [first, second] = hopsOf(ENTRIES);
  const now = Date.parse(at(100));

  it("is a share of the time from claim to end", () => {
    if (first === undefined) throw new Error("no hop");
    expect(stretchOf(first, now)).toEqual({ from: Date.parse(at(2)), to: Date.parse(at(12)) });
    expect(first.calls.map((call) => placeOf(call, stretchOf(first, now)))).toEqual([
      { left: 0, width: 0.5 },
    ]);
  });

  it("begins at the left where a wait is older than the hop", () => {
    if (second === undefined) throw new Error("no hop");
    const [place] = second.calls.map((call) => placeOf(call, stretchOf(second, now)));
    expect(place?.left).toBe(0);
    expect(place?.width).toBeCloseTo(2 / 3);
  });

  it("goes on to now while the hop goes on", () => {
    const open = hopsOf(ENTRIES.slice(0, 4))[0];
    if (open === undefined) throw new Error("no hop");
    expect(stretchOf(open, now).to).toBe(now);
  });
});
