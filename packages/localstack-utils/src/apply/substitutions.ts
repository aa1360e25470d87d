import type { Json, JsonObject } from "../record/graph.ts";

/**
 * What the graph calls a thing, and what the endpoint calls it. Names, and the ARNs made of them, are the same in both; ids
 * that the endpoint chooses (of an API, an integration, a mapping) are not.
 */
export class Substitutions {
  readonly #real = new Map<string, string>();

  /** @param recorded as the graph says it @param real as the endpoint does */
  add(recorded: Json | undefined, real: string | undefined): void {
    if (typeof recorded !== "string" || real === undefined || recorded === real) return;
    this.#real.set(recorded, real);
  }

  /** A value of the graph in the endpoint's words. A longer recorded text goes before one that it contains. */
  apply<T extends Json>(value: T): T {
    const pairs = [...this.#real].toSorted(([a], [b]) => b.length - a.length);
    return replaced(value, (text) =>
      pairs.reduce((said, [recorded, real]) => said.replaceAll(recorded, real), text),
    ) as T;
  }
}

function replaced(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one: Json) => replaced(one, change));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, one]) => [key, replaced(one, change)]),
  );
}
