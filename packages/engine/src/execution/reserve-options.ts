import { GhoulsError, durationMs, type ReserveOptions } from "@ghouls/core";
import { isCallName, notAName } from "./call-name.ts";

/** Units of a capacity as the code asks for them. */
export interface Reserve {
  readonly capacity: string;
  readonly units: number;
  readonly waitMs: number;
}

/** What the code holds where it stands: the innermost reservation, and what that stands in. */
export interface Held extends Pick<Reserve, "capacity" | "units"> {
  /** The call's. */
  readonly name: string;
  readonly outer: Held | undefined;
}

/** A reserve as its hop knows it: what is asked for, and the scope in which the calls of its function stand. */
export interface ReserveCall extends Reserve {
  readonly scope: string;
}

/** What the ledger is to be asked next for a call: for its units, or to take them back. */
export type Turn = { readonly outcome: "asks" } | { readonly outcome: "releases" };

const DEFAULT_WAIT_MS = 10 * 60_000;
const KNOWN = new Set(["units", "wait", "name"]);

/**
 * What a `ctx.reserve` can be, or why it cannot: a sentence with the fix. What there is of the capacity is asked when it is
 * taken: a configuration that has less of it now must not end a run that had its units long ago.
 */
export function understandReserve(
  capacity: unknown,
  options: ReserveOptions,
  run: unknown,
): (Reserve & { readonly name: string }) | string {
  if (typeof capacity !== "string") return "reserve: its first argument is the name of a capacity";
  if (typeof options !== "object" || options === null)
    return `reserve "${capacity}": its options are an object, such as {}`;
  const { name = capacity, units = 1, wait } = options;
  if (!isCallName(name)) return notAName("reserve");
  const what = `reserve "${name}"`;
  if (typeof run !== "function") return `${what} has no function`;
  const unknown = Object.keys(options).find((key) => !KNOWN.has(key));
  if (unknown !== undefined)
    return `${what}: option "${unknown}" is not known in this version (known: ${[...KNOWN].join(", ")})`;
  if (!Number.isInteger(units) || units < 1) return `${what}: units is a whole number from 1`;
  try {
    return { name, capacity, units, waitMs: wait === undefined ? DEFAULT_WAIT_MS : durationMs(wait) };
  } catch (error) {
    if (!(error instanceof GhoulsError)) throw error;
    return `${what}: ${error.message}${error.fix === undefined ? "" : `. ${error.fix}`}`;
  }
}

/**
 * Why units could never be had by this build's configuration; undefined where they could.
 * @param held what the code holds where it asks
 */
export function whyNeverHad(
  { capacity, units, name }: Reserve & { readonly name: string },
  capacities: Readonly<Record<string, number>>,
  held: Held | undefined,
): string | undefined {
  const all = Object.hasOwn(capacities, capacity) ? capacities[capacity] : undefined;
  if (all === undefined)
    return `reserve: there is no capacity "${capacity.slice(0, 100)}"; configured are ${Object.keys(capacities).join(", ") || "none"}`;
  const what = `reserve "${name}": it asks for ${units} units`;
  if (units > all) return `${what}, and "${capacity}" has ${all}: it could never have them`;
  let inside = 0;
  for (let outer = held; outer !== undefined; outer = outer.outer)
    if (outer.capacity === capacity) inside += outer.units;
  if (inside + units > all)
    return `${what} inside a reservation of ${inside}, and "${capacity}" has ${all}: it could never have them. Reserve all at once`;
  return undefined;
}
