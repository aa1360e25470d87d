import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HintState } from "@ghouls/core";
import { LONGEST_SLEEP_MS, LOWERING_GRACE_MS, raisedTo, wakeOf } from "./wake.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const old = { version: 1, openedAtMs: NOW - LOWERING_GRACE_MS };
const due = (inMs: number): HintState => ({ ...old, dueAtMs: NOW + inMs });

describe("a reconciler connects", () => {
  test.each<[string, HintState | undefined]>([
    ["where there is no hint", undefined],
    ["at the moment that is due", due(0)],
    ["after it", due(-1)],
    ["where the due moment is further away than anybody writes it", due(LONGEST_SLEEP_MS + 1)],
    ["while what was lowered may still be committing", { ...due(MINUTE), openedAtMs: NOW - MINUTE }],
    ["where a clock that is ahead has lowered it", { ...due(9 * MINUTE), openedAtMs: NOW + 9 * MINUTE }],
  ])("%s", (_, state) => {
    expect(wakeOf(state, NOW)).toEqual({ connect: true });
  });

  test("not before what is due, and says when", () => {
    expect(wakeOf(due(1), NOW)).toEqual({ connect: false, untilMs: NOW + 1 });
    expect(wakeOf({ ...due(MINUTE), openedAtMs: undefined }, NOW)).toEqual({
      connect: false,
      untilMs: NOW + MINUTE,
    });
  });
});

describe("after a look the hint is raised", () => {
  const look = (dueInSeconds: number | null) => ({ atMs: NOW, dueInSeconds });

  test("to the hour where nothing is open, and where what is open is due later", () => {
    expect(raisedTo(due(0), NOW, look(null))).toBe(NOW + LONGEST_SLEEP_MS);
    expect(raisedTo(due(0), NOW, look(3 * 3_600))).toBe(NOW + LONGEST_SLEEP_MS);
    expect(raisedTo(undefined, NOW, look(null))).toBe(NOW + LONGEST_SLEEP_MS);
  });

  test("to what is due within the hour, and never beyond it by a fraction", () => {
    expect(raisedTo(due(0), NOW, look(600.0009))).toBe(NOW + 600_000);
  });

  test("not at all while work is open, or due within two minutes", () => {
    for (const soon of [-5, 0, 1, 120]) expect(raisedTo(due(0), NOW, look(soon))).toBeUndefined();
  });

  test("not at all where a commit may have come after the look: the grace counts from the reading", () => {
    const young = { ...due(0), openedAtMs: NOW - LOWERING_GRACE_MS + 1 };
    expect(raisedTo(young, NOW, { atMs: NOW + MINUTE, dueInSeconds: null })).toBeUndefined();
  });
});

test("whatever the clocks say, a hint that was raised lets nobody sleep for more than the hour", () => {
  fc.assert(
    fc.property(
      fc.option(fc.double({ min: -1e4, max: 1e9, noNaN: true }), { nil: null }),
      fc.option(fc.integer({ min: -600_000, max: 600_000 }), { nil: undefined }),
      (dueInSeconds, openedBefore) => {
        const state: HintState = {
          version: 1,
          dueAtMs: NOW,
          openedAtMs: openedBefore === undefined ? undefined : NOW - openedBefore,
        };
        const dueAtMs = raisedTo(state, NOW, { atMs: NOW, dueInSeconds });
        if (dueAtMs === undefined) return;
        const wake = wakeOf({ ...state, dueAtMs }, NOW);
        expect(wake).toEqual({ connect: false, untilMs: dueAtMs });
        expect(dueAtMs - NOW).toBeLessThanOrEqual(LONGEST_SLEEP_MS);
        if (dueInSeconds !== null) expect(dueAtMs - NOW).toBeLessThanOrEqual(dueInSeconds * 1_000);
        expect(wakeOf({ ...state, dueAtMs }, NOW + LONGEST_SLEEP_MS)).toEqual({ connect: true });
      },
    ),
  );
});
