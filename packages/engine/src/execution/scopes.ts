/** A part of the code in which calls have their names for themselves: the items of a map, and what a reservation is held for. */
export type ScopeKind = "map" | "reserve";

/** What in a name would end it, or begin another part of the path. */
const RESERVED = /[%/[\]{}#]/g;

/** The path of a place in the code: `files[3]`, `files#2[3]` for the second use of the name, `files[3]/parts[0]` inside of it. */
export function itemScope(place: string, index: number): string {
  return `${place}[${index}]`;
}

/** The path of what a reservation is held for: `gpu{}`, `gpu#2{}` for the second one of the name. */
export function reserveScope(place: string): string {
  return `${place}{}`;
}

/** Names the scopes of a run as calls are named: by the scope they stand in, their kind, name and n-th use of it there. */
export class Scopes {
  readonly #uses = new Map<string, number>();
  readonly #open = new Set<string>();

  /** The place of the next scope of this name; undefined where one of the name is open there. */
  enter(scope: string, kind: ScopeKind, name: string): Place | undefined {
    const use = JSON.stringify([scope, kind, name]);
    if (this.#open.has(use)) return undefined;
    this.#open.add(use);
    const nth = (this.#uses.get(use) ?? 0) + 1;
    this.#uses.set(use, nth);
    const own = `${name.replace(RESERVED, encodeURIComponent)}${nth === 1 ? "" : `#${nth}`}`;
    return {
      path: scope === "" ? own : `${scope}/${own}`,
      leave: () => void this.#open.delete(use),
    };
  }
}

export interface Place {
  readonly path: string;
  /** The name may be used again. */
  readonly leave: () => void;
}
