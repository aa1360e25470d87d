import { setTimeout as delay } from "node:timers/promises";

/** Waits until all have settled, at most `ms` milliseconds; leaves no timer behind. */
export async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<void> {
  if (promises.length === 0) return;
  const controller = new AbortController();
  const bound = delay(ms, undefined, { signal: controller.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled(promises), bound]);
  controller.abort();
  await bound;
}
