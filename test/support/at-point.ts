import { expect } from "vitest";
import type { FaultInjector } from "@ghouls/core";
import type { TestDatabase } from "./database.ts";

/** Does something beside what passes a point, and lets that go on when the act is done or waits for a lock. */
export interface AtPoint {
  readonly faults: FaultInjector;
  /**
   * Answers what awaits the act; it fails where the point was not passed.
   * @param counts whether this is the passing that is meant; asked of every point
   */
  at(
    point: string,
    act: () => Promise<unknown>,
    counts?: (name: string) => Promise<boolean>,
  ): () => Promise<unknown>;
  /** Hears of each point that is passed, until it is forgotten; what it throws is what the I/O answers. */
  hear(listener: (name: string) => void): void;
  /** The points that something passes, each once, in order. */
  pointsOf(way: () => Promise<unknown>): Promise<string[]>;
  /** Nothing is done any more. */
  forget(): void;
}

/** Points are statements by their names, commits by `ledger.before-commit <name>`, and the others by their own. */
export function atPoint(database: () => TestDatabase): AtPoint {
  let passing: ((name: string) => void | Promise<void>) | undefined;
  const isBlocked = async () =>
    (await database().admin("select from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0"))
      .length > 0;
  return {
    faults: async (point, detail) => {
      if (point === "ledger.before-statement") await passing?.(detail);
      else if (/^ledger\..*-commit$/.test(point)) await passing?.(`${point} ${detail}`);
      else if (/^(?:worker|containment|children|reanimation|delegate)\./.test(point)) await passing?.(point);
    },
    at: (point, act, counts = () => Promise.resolve(true)) => {
      let acted: Promise<unknown> | undefined;
      passing = async (name) => {
        if (!(await counts(name)) || name !== point || acted !== undefined) return;
        let over = false;
        acted = act().finally(() => {
          over = true;
        });
        await expect
          .poll(async () => over || (await isBlocked()), { interval: 5, timeout: 60_000 })
          .toBe(true);
      };
      return async () => {
        passing = undefined;
        expect(acted, point).toBeDefined();
        return acted;
      };
    },
    pointsOf: async (way) => {
      const passed = new Set<string>();
      passing = (name) => void passed.add(name);
      await way();
      passing = undefined;
      return [...passed];
    },
    hear: (listener) => {
      passing = listener;
    },
    forget: () => {
      passing = undefined;
    },
  };
}
