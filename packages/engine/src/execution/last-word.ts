import { handsOver, overrules, type HopEnd } from "./hop-end.ts";

/** Who hears of a hop's end. */
interface Listeners {
  /** Something was said about the end. */
  readonly said: () => void;
  /** Nothing of the hop is written, or heard of, any more. */
  readonly fenced: () => void;
}

/** How a hop is to end, as far as it is known, and what that means for what goes on in it. */
export class LastWord {
  readonly #abort = new AbortController();
  readonly #listeners: Listeners;
  #end: HopEnd | undefined;
  #mayWrite = true;
  #refused = false;

  constructor(listeners: Listeners) {
    this.#listeners = listeners;
  }

  /** Fires when the run does not go on here. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get end(): HopEnd | undefined {
    return this.#end;
  }

  /** Whether the run goes on in another hop, as far as it is known. */
  get handsOver(): boolean {
    return this.#end !== undefined && handsOver(this.#end);
  }

  /** Whether the claim is still believed to be this hop's. */
  get mayWrite(): boolean {
    return this.#mayWrite;
  }

  /** Whether a call was refused, so that nothing more is asked for. */
  get refused(): boolean {
    return this.#refused;
  }

  say(end: HopEnd): void {
    if (this.#end === undefined || overrules(end, this.#end)) this.#end = end;
    if (end.kind === "fenced" || end.kind === "unknown") {
      this.#mayWrite = false;
      this.#listeners.fenced();
    }
    // What the code left behind when it returned, or what a handover waits for, may end in peace.
    if (end.kind !== "returned" && !handsOver(end)) this.abort("the run does not go on here");
    this.#listeners.said();
  }

  /** The same by a call that user code must not make, and cannot catch. */
  refuse(end: HopEnd): void {
    this.#refused = true;
    this.say(end);
  }

  /** Whatever the code has come to. */
  insist(end: HopEnd): void {
    this.#end = end;
  }

  /** Tells whatever user code still listens to. */
  abort(why: string): void {
    this.#abort.abort(new DOMException(why, "AbortError"));
  }
}
