import type { MapOptions } from "@ghouls/core";
import { isCallName, notAName } from "./call-name.ts";

/** Items of one map that are carried at the same time where it does not say. */
const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 1_000;
const MAX_ITEMS = 10_000;
const KNOWN = new Set(["concurrency"]);

export interface Mapped {
  readonly name: string;
  readonly items: readonly unknown[];
  readonly concurrency: number;
}

/** What a `ctx.map` can be, or why it cannot: a sentence with the fix. */
export function understandMap(
  name: unknown,
  items: unknown,
  run: unknown,
  options: MapOptions | undefined,
): Mapped | string {
  if (!isCallName(name)) return notAName("map");
  const what = `map "${name}"`;
  if (!Array.isArray(items)) return `${what}: its items are an array`;
  if (items.length > MAX_ITEMS)
    return `${what}: it has ${items.length} items, ${MAX_ITEMS} is the most. Let children or ctx.restart carry a part each`;
  if (typeof run !== "function") return `${what} has no function`;
  if (options !== undefined && (typeof options !== "object" || options === null))
    return `${what}: its options are an object`;
  const unknown = Object.keys(options ?? {}).find((key) => !KNOWN.has(key));
  if (unknown !== undefined)
    return `${what}: option "${unknown}" is not known in this version (known: ${[...KNOWN].join(", ")})`;
  const concurrency = options?.concurrency ?? DEFAULT_CONCURRENCY;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    return `${what}: concurrency is a whole number from 1 to ${MAX_CONCURRENCY}`;
  // What the code does to its array meanwhile changes nothing.
  return { name, items: [...(items as unknown[])], concurrency };
}

/**
 * Runs a function for each item, so many at the same time, in the order of the items: the next begins when one has ended.
 * Calls end in the same order in every replay, so items begin in the same order too. The first that throws is what it throws,
 * at once; no further item begins, and those that have begun go on, as with Promise.all.
 */
export function eachItem(
  { items, concurrency }: Mapped,
  run: (item: unknown, index: number) => Promise<unknown>,
): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const results: unknown[] = Array.from({ length: items.length });
    let [next, ended, failed] = [0, 0, false];
    if (items.length === 0) resolve(results);
    const begin = () => {
      if (failed || next >= items.length) return;
      const index = next;
      next += 1;
      run(items[index], index).then(
        (value) => {
          results[index] = value;
          ended += 1;
          if (ended === items.length) resolve(results);
          else begin();
        },
        (error: unknown) => {
          failed = true;
          reject(error as Error);
        },
      );
    };
    for (let one = 0; one < concurrency; one += 1) begin();
  });
}
