import { expect, test, vi } from "vitest";
import { Driver, type Goal } from "./driver.ts";

/**
 * A driver at the moment before it moves the clock: `atTheMove` is called there, once, while something is due in an hour.
 * Nothing else is ever due.
 */
function driverBeforeAMove(atTheMove: (driver: Driver) => void) {
  const moves: number[] = [];
  let asked = false;
  const driver: Driver = new Driver({
    scratch: {
      now: () => Promise.resolve(0),
      family: (runIds) => Promise.resolve(runIds),
      nextDue: () => {
        if (!asked) atTheMove(driver);
        asked = true;
        return Promise.resolve({ definite: 3_600_000, repeated: undefined, progress: "" });
      },
      advanceTo: (moment) => {
        moves.push(moment);
        return Promise.resolve();
      },
    },
    queue: { take: () => Promise.resolve(undefined), published: [] },
    workers: { carry: () => Promise.resolve(), isInside: false },
    script: { actIfDue: () => Promise.resolve(false), nextDue: () => Promise.resolve(undefined) },
    reconcileIfDue: () => Promise.resolve(),
    skipTime: true,
  });
  return { driver, moves };
}

const goal = (look: () => unknown): Goal<unknown> => ({
  runIds: ["a"],
  look: () => {
    const value = look();
    return Promise.resolve(value === undefined ? undefined : { value });
  },
  stuck: () => Promise.resolve(new Error("stuck")),
});

test("a call that comes while the clock is about to move is looked at before it moves", async () => {
  let answered: Promise<unknown> = Promise.resolve();
  const { driver, moves } = driverBeforeAMove((under) => {
    answered = under.reach(goal(() => `after ${moves.length} moves`));
  });
  expect(await driver.reach(goal(() => (moves.length > 0 ? "moved" : undefined)))).toBe("moved");
  expect(await answered).toBe("after 0 moves");
});

test("an act that comes while the clock is about to move is done before it moves", async () => {
  const done = Promise.withResolvers<void>();
  let acted: Promise<void> = Promise.resolve();
  const { driver, moves } = driverBeforeAMove((under) => {
    acted = under.act(done.promise);
  });
  const looks = vi.fn(() => (moves.length > 0 ? "moved" : undefined));
  const reached = driver.reach(goal(looks));
  await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(moves).toEqual([]);
  done.resolve();
  await acted;
  expect(await reached).toBe("moved");
  expect(moves).toEqual([3_600_000]);
});
