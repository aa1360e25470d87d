import type { Value } from "./platform.ts";

const REFERENCE = /\$\{([^}]+)\}/g;

/** What the references of a plan stand for, as its resources come into being. */
export class References {
  readonly #known = new Map<string, Value<string>>();

  set(name: string, value: Value<string>): void {
    this.#known.set(name, value);
  }

  /**
   * A text of the plan with its references filled in.
   * @throws Error for a reference that no resource has been made for: a defect of the order in which they are made
   */
  fill(text: string): Value<string> {
    const names = [...text.matchAll(REFERENCE)].map(([, name]) => name ?? "");
    if (names.length === 0) return text;
    return $util.all(names.map((name) => this.#get(name))).apply((values) => {
      const byName = new Map(names.map((name, index) => [name, values[index] ?? ""]));
      return text.replace(REFERENCE, (_all, name: string) => byName.get(name) ?? "");
    });
  }

  fillAll(texts: Readonly<Record<string, string>>): Record<string, Value<string>> {
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, this.fill(text)]));
  }

  #get(name: string): Value<string> {
    const value = this.#known.get(name);
    if (value === undefined) throw new Error(`nothing stands for \${${name}} of the plan`);
    return value;
  }
}
