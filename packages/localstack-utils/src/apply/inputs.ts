import type { Json, JsonObject } from "../record/graph.ts";

/** Reads a resource's inputs by name; what is missing or of another kind is a change in SST that must be looked at. */
export class Inputs {
  readonly #what: string;
  readonly #values: JsonObject;

  constructor(what: string, values: JsonObject) {
    this.#what = what;
    this.#values = values;
  }

  text(name: string): string {
    const value = this.#values[name];
    if (typeof value === "string") return value;
    throw this.#wrong(name, "text");
  }

  /** Undefined where it is not there. */
  textOrNone(name: string): string | undefined {
    return this.#values[name] === undefined ? undefined : this.text(name);
  }

  /** Whether something that may be left out is said. */
  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** A document, which a program gives as text or as the value that the text says. */
  document(name: string): string {
    const value = this.#values[name];
    return typeof value === "object" && value !== null ? JSON.stringify(value) : this.text(name);
  }

  number(name: string): number {
    const value = this.#values[name];
    if (typeof value === "number") return value;
    throw this.#wrong(name, "number");
  }

  texts(name: string): string[] {
    const value = this.#values[name] ?? [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value as string[];
    throw this.#wrong(name, "list of texts");
  }

  objects(name: string): Inputs[] {
    const value = this.#values[name] ?? [];
    if (Array.isArray(value))
      return value.map((one: Json) => new Inputs(`${this.#what}.${name}`, one as JsonObject));
    throw this.#wrong(name, "list");
  }

  object(name: string): Inputs {
    const value = this.#values[name];
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return new Inputs(`${this.#what}.${name}`, value as JsonObject);
    }
    throw this.#wrong(name, "object");
  }

  /** Text by name, such as environment variables. */
  record(name: string): Record<string, string> {
    const value = this.#values[name] ?? {};
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, one]) => [
        key,
        typeof one === "string" ? one : JSON.stringify(one),
      ]),
    );
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined && this.#values[name] !== null;
  }

  #wrong(name: string, kind: string): Error {
    return new Error(`${this.#what}: the graph has no ${kind} "${name}"`);
  }
}
