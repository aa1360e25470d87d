import type pg from "pg";
import { expect } from "vitest";
import type { TestDatabase } from "./database.ts";

/**
 * Starts `move` while `holder` has a transaction open, waits until the move is seen waiting for that lock, lets the holder
 * do its part and commit, and answers what the move answered.
 */
export async function heldInTheMiddle<T>(
  db: TestDatabase,
  hold: (holder: pg.Client) => Promise<unknown>,
  move: () => Promise<T>,
  meanwhile: (holder: pg.Client) => Promise<unknown>,
): Promise<T> {
  const holder = await db.client("admin");
  await holder.query("begin");
  await hold(holder);
  const moving = move();
  try {
    await waiting(db, await pidOf(holder));
    await meanwhile(holder);
    await holder.query("commit");
  } catch (error) {
    await holder.query("rollback");
    await moving.catch(() => undefined);
    throw error;
  }
  return moving;
}

async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid ?? 0;
}

/** Waits for the fact that some backend is blocked by this one. */
export async function waiting(db: TestDatabase, holder: number): Promise<void> {
  await expect
    .poll(
      async () =>
        (
          await db.admin<{ n: number }>(
            "select count(*)::integer as n from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
            [holder],
          )
        )[0]?.n,
      { interval: 5, timeout: 5_000 },
    )
    .toBeGreaterThan(0);
}
