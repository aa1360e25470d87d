import { AsyncLocalStorage } from "node:async_hooks";
import type { Held } from "./reserve-options.ts";

/** Where user code stands: in which hop, in which scope of its code, and inside which step's function, if any. */
export interface Standing {
  readonly hop: { fail(error: unknown): void };
  /** Path of map items and of what reservations are held for, "" at the top. */
  readonly scope: string;
  readonly step: string | undefined;
  /** What is held there. */
  readonly held: Held | undefined;
}

const standing = new AsyncLocalStorage<Standing>();

/** Runs user code so that what it leaves behind (a floating rejection, a timer that throws) is known as its hop's. */
export function standIn<T>(where: Standing, run: () => T): T {
  return standing.run(where, run);
}

/** Where the code that asks stands; undefined outside of every hop. */
export function whereAmI(): Standing | undefined {
  return standing.getStore();
}

/**
 * What user code has left to the process: fails the hop that it belongs to, so that the runs beside it live on.
 * @returns false where it belongs to none
 */
export function blameHop(error: unknown): boolean {
  const where = standing.getStore();
  if (where === undefined) return false;
  where.hop.fail(error);
  return true;
}
