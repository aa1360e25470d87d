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
 * What a `ctx.reserve` can be, or why it cannot: a sentence with the fix.
 * @param held what the code holds where it asks
 */
export function understandReserve(
  capacity: unknown,
  options: ReserveOptions,
  run: unknown,
  capacities: Readonly<Record<string, number>>,
  held: Held | undefined,
): (Reserve & { readonly name: string }) | string {
  const all =
    typeof capacity === "string" && Object.hasOwn(capacities, capacity) ? capacities[capacity] : undefined;
  if (typeof capacity !== "string" || all === undefined)
    return `reserve: there is no capacity "${String(capacity).slice(0, 100)}"; configured are ${Object.keys(capacities).join(", ") || "none"}`;
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
  if (units > all)
    return `${what}: it asks for ${units} units, and "${capacity}" has ${all}: it could never have them`;
  let inside = 0;
  for (let outer = held; outer !== undefined; outer = outer.outer)
    if (outer.capacity === capacity) inside += outer.units;
  if (inside + units > all)
    return `${what}: it asks for ${units} units inside a reservation of ${inside}, and "${capacity}" has ${all}: it could never have them. Reserve all at once`;
  try {
    return { name, capacity, units, waitMs: wait === undefined ? DEFAULT_WAIT_MS : durationMs(wait) };
  } catch (error) {
    if (!(error instanceof GhoulsError)) throw error;
    return `${what}: ${error.message}${error.fix === undefined ? "" : `. ${error.fix}`}`;
  }
}
