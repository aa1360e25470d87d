import { describe, expect, test } from "vitest";
import {
  MOVES,
  OPEN_DELIVERY,
  canMove,
  diagram,
  isTerminalRun,
  sourcesOf,
  sqlStates,
  statesOf,
  terminalStatesOf,
  type Noun,
} from "./transitions.ts";

const nouns = Object.keys(MOVES) as Noun[];

describe.each(nouns)("%s", (noun) => {
  const states = statesOf(noun);

  test("every move leads to a state of the table, and none to itself", () => {
    for (const [from, next] of Object.entries(MOVES[noun])) {
      for (const to of next as readonly string[]) {
        expect(states).toContain(to);
        expect(to).not.toBe(from);
      }
    }
  });

  test("every state can be reached from the first one", () => {
    const reached = new Set<string>(states.slice(0, 1));
    for (const state of reached) {
      for (const next of (MOVES[noun] as Record<string, readonly string[]>)[state] ?? []) reached.add(next);
    }
    expect(reached).toEqual(new Set(states));
  });

  test("sources and moves say the same of every pair", () => {
    for (const from of states) {
      for (const to of states) {
        expect((sourcesOf(noun, to) as string[]).includes(from)).toBe(
          canMove(noun, from as never, to as never),
        );
      }
    }
  });

  test("its diagram has one arrow for each move", () => {
    const moves = Object.values(MOVES[noun]).flat().length + terminalStatesOf(noun).length + 1;
    expect(diagram(noun).split("\n")).toHaveLength(moves + 1);
  });
});

test("a run that is decided moves to its one end only", () => {
  expect(MOVES.run.COMPLETING).toEqual(["DONE"]);
  expect(MOVES.run.FAILING).toEqual(["FAILED"]);
  expect(MOVES.run.CANCELLING).toEqual(["CANCELLED"]);
  expect(statesOf("run").filter(isTerminalRun)).toEqual(["DONE", "FAILED", "CANCELLED"]);
  expect(sourcesOf("run", "DONE")).toEqual(["RUNNING", "COMPLETING"]);
});

test("the open states of a delivery are those that can still move", () => {
  expect(OPEN_DELIVERY).toEqual(["HELD", "PENDING", "CLAIMED"]);
});

test("a list of states becomes literals, and nothing else does", () => {
  expect(sqlStates(["HELD", "PENDING"])).toBe("'HELD', 'PENDING'");
  expect(() => sqlStates(["x'; drop table runs"])).toThrow(TypeError);
});
