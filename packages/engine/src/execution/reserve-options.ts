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

/** Units of a capacity that the code holds. */
export function heldOf(capacity: string, held: Held | undefined): number {
  if (held === undefined) return 0;
  return (held.capacity === capacity ? held.units : 0) + heldOf(capacity, held.outer);
}

/** A reserve as its hop knows it: what is asked for, and the scope in which the calls of its function stand. */
export interface ReserveCall extends Reserve {
  readonly scope: string;
  /** Units of the same capacity that the code holds where it asks. */
  readonly inside: number;
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

/** Why a capacity cannot be asked for by this build; undefined where it can. */
export function whyNoCapacity(
  capacity: string,
  capacities: Readonly<Record<string, number>>,
): string | undefined {
  if (Object.hasOwn(capacities, capacity)) return undefined;
  return `reserve: there is no capacity "${capacity.slice(0, 100)}"; configured are ${Object.keys(capacities).join(", ") || "none"}`;
}

/**
 * Why units could never be had: neither by what a deploy has said last, nor by this build's configuration; undefined where they could.
 * @param inside units of it that the run holds where it asks
 */
export function whyNeverHad(
  name: string,
  { capacity, units }: Pick<Reserve, "capacity" | "units">,
  all: number,
  inside: number,
): string | undefined {
  const what = `reserve "${name}": it asks for ${units} units`;
  if (units > all) return `${what}, and "${capacity}" has ${all}: it could never have them`;
  if (inside + units > all)
    return `${what} inside a reservation of ${inside}, and "${capacity}" has ${all}: it could never have them. Reserve all at once`;
  return undefined;
}
