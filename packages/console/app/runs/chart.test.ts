import { describe, expect, it } from "vitest";
import { columnsOf } from "./chart.ts";

const at = "2030-01-31T12:00:00Z";

describe("the chart of runs over time", () => {
  it("stacks what ended well below what did not and what goes on, the highest column full", () => {
    const [busy, calm, idle] = columnsOf([
      { at, statuses: { RUNNING: 1, DONE: 2, FAILED: 1 } },
      { at, statuses: { AWAITING_TIMER: 1, AWAITING_SIGNAL: 1 } },
      { at, statuses: {} },
    ]);
    expect(busy?.pieces).toEqual([
      { tone: "good", count: 2, from: 0, to: 0.5 },
      { tone: "bad", count: 1, from: 0.5, to: 0.75 },
      { tone: "live", count: 1, from: 0.75, to: 1 },
    ]);
    expect(calm).toEqual({ at, total: 2, pieces: [{ tone: "wait", count: 2, from: 0, to: 0.5 }] });
    expect(idle).toEqual({ at, total: 0, pieces: [] });
  });

  it("has no column that divides by nothing", () => {
    expect(columnsOf([])).toEqual([]);
    expect(columnsOf([{ at, statuses: {} }])).toEqual([{ at, total: 0, pieces: [] }]);
  });
});
