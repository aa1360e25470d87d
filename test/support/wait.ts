import type { TestDatabase } from "./database.ts";

/** Polls until the question is answered; what it waits for is a fact, and the time only ends what hangs. */
export async function until<T>(
  what: string,
  question: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 120_000,
  everyMs = 5,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const answer = await question();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`never seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Waits until this many backends of the database stand before a lock; answers their process ids. */
export async function blocked(db: TestDatabase, count = 1): Promise<number[]> {
  return until(`${count} backends that wait for a lock`, async () => {
    const rows = await db.admin<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' order by pid`,
    );
    return rows.length >= count && rows.map((row) => row.pid);
  });
}
