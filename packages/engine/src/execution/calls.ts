import { callKey, type CallId, type CallKind } from "@ghouls/core";
import { deferred, type Deferred } from "./rest.ts";
import type { ReserveCall } from "./reserve-options.ts";
import type { ResolvedStepOptions } from "./step-options.ts";
import type { Wait } from "./wait-options.ts";

/** A call that user code made and that has no result yet. */
export interface OpenCall {
  readonly id: CallId;
  readonly key: string;
  readonly result: Deferred<unknown>;
  /** Starts it for real, when replay is over; a step that waits for its next try is started once more. */
  readonly start: () => void;
  /** Of a step. */
  readonly step: ResolvedStepOptions | undefined;
  /** What it waits for where it stands in a durable wait. */
  wait: Wait | undefined;
  /** Of a reserve. */
  readonly reserve?: ReserveCall;
  /** Of the end of a reservation: the reserve that it ends. */
  readonly releases?: CallId;
}

/** A step that can be undone, as its code knows it. */
export interface Undoable {
  readonly id: CallId;
  readonly step: ResolvedStepOptions;
}

/** Keys of calls that an ending has items of: effects, which are open, and steps that are to be undone. */
export interface Wanted {
  readonly open: readonly string[];
  readonly undo: readonly string[];
}

/** What an ending asks of the code. */
export type EndingCode = Pick<Calls, "openByKey" | "undoable">;

/** Names calls by their identity and knows which are open. */
export class Calls {
  readonly #uses = new Map<string, number>();
  readonly #openNames = new Map<string, string>();
  readonly #open = new Map<string, OpenCall>();
  readonly #asked = new Set<string>();
  readonly #undoable = new Map<string, Undoable>();

  /** How many calls have been asked for. */
  asked(): number {
    return this.#asked.size;
  }

  /** How many of them have their result. */
  closed(): number {
    return this.#asked.size - this.#open.size;
  }

  wasAsked(id: CallId): boolean {
    return this.#asked.has(callKey(id));
  }

  /** The identity of the next call of this name; undefined where one of the name is open in the scope. */
  next(epoch: number, scope: string, kind: CallKind, name: string): CallId | undefined {
    const place = placeOf({ epoch, scope, name });
    if (this.#openNames.has(place)) return undefined;
    const use = callKey({ epoch, scope, kind, name, nth: 0 });
    const nth = (this.#uses.get(use) ?? 0) + 1;
    this.#uses.set(use, nth);
    return { epoch, scope, kind, name, nth };
  }

  open(id: CallId, what: Omit<OpenCall, "id" | "key" | "result">): OpenCall {
    const call: OpenCall = { id, key: callKey(id), result: deferred(), ...what };
    this.#open.set(call.key, call);
    this.#asked.add(call.key);
    this.#openNames.set(placeOf(id), call.key);
    const { step } = call;
    if (step?.undo !== undefined) this.#undoable.set(call.key, { id, step });
    return call;
  }

  /** A step that was asked for and has an undo, by its key. */
  undoable(key: string): Undoable | undefined {
    return this.#undoable.get(key);
  }

  /** The name of one of them. */
  anyUndoable(): string | undefined {
    return this.#undoable.values().next().value?.id.name;
  }

  find(id: CallId): OpenCall | undefined {
    return this.openByKey(callKey(id));
  }

  openByKey(key: string): OpenCall | undefined {
    return this.#open.get(key);
  }

  close(call: OpenCall): void {
    this.#open.delete(call.key);
    this.#openNames.delete(placeOf(call.id));
  }

  openCalls(): OpenCall[] {
    return [...this.#open.values()];
  }
}

function placeOf(id: Pick<CallId, "epoch" | "scope" | "name">): string {
  return JSON.stringify([id.epoch, id.scope, id.name]);
}
