import type { OpenCall } from "./calls.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { ReserveCall } from "./reserve-options.ts";

/** A reserve whose function has been called. */
export interface Body {
  readonly call: OpenCall;
  readonly reserve: ReserveCall;
  /** What its journal entry says was had. */
  readonly had: { readonly capacity?: unknown; readonly units?: unknown };
  state: "to retake" | "retaking" | "held" | "ended";
  /** What may not start before it is held. */
  readonly heldBack: OpenCall[];
}

/** The functions of a hop that are called while units are held. */
export class Bodies {
  readonly #open = new Map<string, Body>();
  /** Names of those that are over, by their scopes. */
  readonly #over = new Map<string, string>();

  /** A reserve, or the end of its function, has its result. */
  resolved(call: OpenCall, value: unknown, live: boolean): void {
    const { reserve, releases } = call;
    if (releases !== undefined) {
      this.#open.delete(call.id.scope);
      this.#over.set(call.id.scope, call.id.name);
    }
    const had = (value ?? {}) as Body["had"] & { readonly outcome?: unknown };
    if (reserve === undefined || had.outcome !== "RESERVED") return;
    const state = live ? "held" : "to retake";
    this.#open.set(reserve.scope, { call, reserve, had, state, heldBack: [] });
  }

  open(): readonly Body[] {
    return [...this.#open.values()];
  }

  of(scope: string): Body | undefined {
    return this.#open.get(scope);
  }

  /** Those around a scope, the outermost first. */
  around(scope: string): Body[] {
    if (this.#open.size === 0) return [];
    return pathTo(scope).flatMap((outer) => this.#open.get(outer) ?? []);
  }

  /** The name of a reservation whose function has come to its end, where a call of this scope would come too late. */
  endedAround(scope: string): string | undefined {
    const ending = this.around(scope).find(({ state }) => state === "ended");
    if (ending !== undefined) return ending.call.id.name;
    if (this.#over.size === 0) return undefined;
    const over = pathTo(scope).find((outer) => this.#over.has(outer));
    return over === undefined ? undefined : this.#over.get(over);
  }

  /** How the hop ends where the code asks for something else than what its open functions had. */
  mismatch(): HopEnd | undefined {
    for (const { call, reserve, had } of this.#open.values()) {
      if (had.capacity === reserve.capacity && had.units === reserve.units) continue;
      const name = call.id.name;
      return refusal(
        "journal_mismatch",
        `reserve "${name}" had ${String(had.units)} of "${String(had.capacity)}", and the code asks for ${reserve.units} of "${reserve.capacity}" now: its function is not over`,
        name,
      );
    }
    return undefined;
  }
}

/** The scopes that a place in the code lies in, the outermost first, and itself: their names have no slash. */
export function pathTo(scope: string): string[] {
  const parts = scope.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Whether a place in the code is a scope, or lies in it. */
export function isWithin(scope: string, outer: string): boolean {
  return scope === outer || scope.startsWith(`${outer}/`);
}
