import type {
  AnyService,
  AnyWorkflow,
  CallKind,
  ChildOptions,
  ConsentOptions,
  DelegateOptions,
  Duration,
  MapOptions,
  ReserveOptions,
  SignalOptions,
  StepContext,
  StepOptions,
  Transaction,
  TransactionOptions,
} from "@ghouls/core";
import type { Bodies } from "./bodies.ts";
import type { Calls, OpenCall } from "./calls.ts";
import { understandChild } from "./child-options.ts";
import { standIn, whereAmI, type Standing } from "./current-hop.ts";
import type { ExecutionDeps } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { understandJob } from "./job-options.ts";
import { eachItem, understandMap } from "./map.ts";
import { guardAgainstRace } from "./race-guard.ts";
import { deferred } from "./rest.ts";
import { Scopes, itemScope, reserveScope, type Place } from "./scopes.ts";
import { heldOf, understandReserve, whyNoCapacity, type Held } from "./reserve-options.ts";
import { resolveStep, type ResolvedStepOptions } from "./step-options.ts";
import { resolveTransaction } from "./transaction-options.ts";
import {
  understandConsent,
  understandSignal,
  understandSleep,
  type ChildRequest,
  type Understood,
  type Wait,
} from "./wait-options.ts";

/** What the calls of a workflow's code need of their hop. */
export interface Asked {
  readonly hop: Standing["hop"];
  readonly epoch: number;
  /** The longest that a step may take in an invocation of this function, in milliseconds. */
  readonly stepLimitMs: number;
  readonly deps: Pick<ExecutionDeps, "decisionSources" | "delegation" | "registry" | "queues" | "capacities">;
  /** The longest that a transaction may take, in milliseconds. */
  readonly transactionLimitMs: number;
  readonly bodies: Bodies;
  readonly calls: Calls;
  /** Completion time of the last resolved entry. */
  now(): Date;
  /** Whether it is known how the hop ends: nothing is asked for any more. */
  hasEnded(): boolean;
  /** Told that something was asked for then. */
  askedLate(): void;
  decide(end: HopEnd): void;
  /** The same by a call that user code must not make, and cannot catch. */
  refuse(end: HopEnd): void;
  /** A call is open; it starts at once where the replay is over. */
  opened(call: OpenCall): void;
  start(call: OpenCall, run: (context: never) => unknown): void;
  startChild(call: OpenCall, child: ChildRequest): void;
  startReserve(call: OpenCall): void;
}

/** What a call comes to. */
type Call =
  | {
      readonly name: string;
      readonly step: ResolvedStepOptions;
      readonly run: (context: never) => unknown;
    }
  | { readonly name: string; readonly wait: Wait };

/** The calls of `ctx` that have an identity: each is opened once, or refused with the fix. */
export class Asking {
  readonly #hop: Asked;
  readonly #scopes = new Scopes();

  constructor(hop: Asked) {
    this.#hop = hop;
  }

  step(
    name: string,
    run: (context: StepContext) => unknown,
    options: StepOptions | undefined,
  ): Promise<unknown> {
    return this.#ask("step", name, () => {
      const step = resolveStep(name, run, options, this.#hop.stepLimitMs);
      return typeof step === "string" ? step : { name, step, run };
    });
  }

  transaction(
    name: string,
    run: (tx: Transaction) => unknown,
    options: TransactionOptions | undefined,
  ): Promise<unknown> {
    return this.#ask("transaction", name, () => {
      const { stepLimitMs: functionMs, transactionLimitMs: transactionMs } = this.#hop;
      const step = resolveTransaction(name, run, options, { transactionMs, functionMs });
      return typeof step === "string" ? step : { name, step, run };
    });
  }

  /** @param requestedBy who asked for the run */
  consent(title: string, options: ConsentOptions | undefined, requestedBy: string): Promise<unknown> {
    const sources = Object.keys(this.#hop.deps.decisionSources);
    return this.#wait("consent", () => understandConsent(title, options, sources, requestedBy));
  }

  delegate(
    name: string,
    service: AnyService,
    request: unknown,
    options: DelegateOptions | undefined,
  ): Promise<unknown> {
    const { delegation } = this.#hop.deps;
    return this.#wait("delegate", () => understandJob(name, service, request, options, delegation));
  }

  child(workflow: AnyWorkflow, input: unknown, options: ChildOptions | undefined): Promise<unknown> {
    const { registry, queues } = this.#hop.deps;
    return this.#wait("child", () => understandChild(workflow, input, options, registry, queues));
  }

  sleep(until: Duration | Date, options: { readonly name?: string } | undefined): Promise<unknown> {
    return this.#wait("sleep", () => understandSleep(until, options, this.#hop.now()));
  }

  signal(name: string, options: SignalOptions | undefined): Promise<unknown> {
    return this.#wait("signal", () => understandSignal(name, options, this.#hop.now()));
  }

  /** Runs a function for each item, in a scope of the item's own. */
  map(
    name: string,
    items: readonly unknown[],
    run: (item: unknown, index: number) => unknown,
    options: MapOptions | undefined,
  ): Promise<unknown[]> {
    const notNow = this.#notNow("map", "");
    if (notNow !== undefined) return notNow;
    const asked = understandMap(name, items, run, options);
    if (typeof asked === "string") return this.#invalid(asked);
    const place = this.#scopes.enter(scopeHere(), "map", asked.name);
    if (place === undefined) return this.#refuse(refusal("duplicate_call", alreadyOpen("map", asked.name)));
    const mapped = eachItem(asked, (item, index) => {
      const where = {
        hop: this.#hop.hop,
        scope: itemScope(place.path, index),
        step: undefined,
        held: heldHere(),
      };
      return standIn(where, async () => run(item, index));
    }).finally(place.leave);
    // User code may leave it unawaited, like a call.
    mapped.catch(() => undefined);
    return mapped;
  }

  /** Runs a function while units are held, in a scope of its own. */
  reserve(capacity: string, options: ReserveOptions, run: () => unknown): Promise<unknown> {
    const notNow = this.#notNow("reserve", "");
    if (notNow !== undefined) return notNow;
    const [scope, held] = [scopeHere(), heldHere()];
    const asked = understandReserve(capacity, options, run);
    if (typeof asked === "string") return this.#invalid(asked);
    const late = this.#tooLate(scope, `reserve "${asked.name}"`);
    if (late !== undefined) return late;
    const { name, ...reserve } = asked;
    const place = this.#scopes.enter(scope, "reserve", name);
    // Its end stands in the scope of its own.
    if (place !== undefined && isTooLong(reserveScope(place.path), name)) return this.#invalid(tooLong(name));
    const id = place && this.#hop.calls.next(this.#hop.epoch, scope, "reserve", name);
    if (place === undefined || id === undefined)
      return this.#refuse(refusal("duplicate_call", alreadyOpen("reserve", name)));
    const call: OpenCall = this.#hop.calls.open(id, {
      step: undefined,
      wait: undefined,
      reserve: { ...reserve, scope: reserveScope(place.path), inside: heldOf(reserve.capacity, held) },
      start: () => {
        const none = whyNoCapacity(asked.capacity, this.#hop.deps.capacities);
        if (none === undefined) this.#hop.startReserve(call);
        else void this.#invalid(none);
      },
    });
    this.#hop.opened(call);
    const { units } = reserve;
    const ended = this.#whileReserved(call, place, { capacity, units, name, outer: held }, run);
    // User code may leave it unawaited, like a call.
    ended.catch(() => undefined);
    return ended;
  }

  async #whileReserved(call: OpenCall, place: Place, held: Held, run: () => unknown): Promise<unknown> {
    const { outcome } = (await call.result.promise) as { readonly outcome: string };
    if (outcome !== "RESERVED") {
      place.leave();
      return { outcome: "UNAVAILABLE" };
    }
    const where = { hop: this.#hop.hop, scope: reserveScope(place.path), step: undefined, held };
    try {
      // Awaited there: a wait of before that it returns is awaited inside.
      return { outcome: "RESERVED", value: await standIn(where, async () => await run()) };
    } finally {
      await this.#release(call, where.scope);
      place.leave();
    }
  }

  /** The end of what units were held for. The code goes on once they are given back. */
  #release({ id: releases }: OpenCall, scope: string): Promise<unknown> {
    if (this.#hop.hasEnded()) return this.#askedLate();
    const id = { epoch: this.#hop.epoch, scope, kind: "release", name: releases.name, nth: 1 } as const;
    const call = this.#hop.calls.open(id, {
      step: undefined,
      wait: undefined,
      releases,
      start: () => undefined,
    });
    this.#hop.opened(call);
    return call.result.promise;
  }

  /** Ends the run before its code asks for anything. */
  refuseAll(end: HopEnd): void {
    this.#hop.refuse(end);
  }

  /** The code after it is not run; what is in flight ends first. */
  restart(input: unknown): Promise<never> {
    const inside = this.#insideOf("restart", "");
    if (inside !== undefined) return inside;
    const holding = this.#whileHolding("restart");
    if (holding !== undefined) return holding;
    const undoable = this.#hop.calls.anyUndoable();
    if (undoable !== undefined)
      return this.#invalid(
        `ctx.restart was called after step "${undoable}", which has an undo: nobody could undo it after a restart. Do what is to be undone in a child, and restart around that`,
      );
    this.#hop.decide({ kind: "restarted", input });
    return deferred<never>().promise;
  }

  #wait(kind: CallKind, understand: () => Understood): Promise<unknown> {
    // Inside of a step that is said first.
    const holding = whereAmI()?.step === undefined ? this.#whileHolding(kind) : undefined;
    if (holding !== undefined) return holding;
    const promise = this.#ask(kind, kind, understand);
    let open = true;
    const close = () => {
      open = false;
    };
    void promise.then(close, close);
    const onRace = (how: string) => {
      const message = `${how} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, … })`;
      void this.#invalid(message);
    };
    const onAwait = () => {
      const held = heldHere();
      if (held === undefined || !open || this.#hop.hasEnded()) return;
      const message = `ctx.${WRITTEN[kind as keyof typeof WRITTEN]} of before is awaited inside reservation "${held.name}": a run that waits holds nothing, so it would never end. Await it before ctx.reserve, or after that`;
      void this.#invalid(message);
    };
    return guardAgainstRace(promise, onRace, onAwait);
  }

  #ask(kind: CallKind, what: string, understand: () => Call | string): Promise<unknown> {
    const notNow = this.#notNow(kind, String(what));
    if (notNow !== undefined) return notNow;
    const asked = understand();
    if (typeof asked === "string") return this.#invalid(asked);
    const late = this.#tooLate(scopeHere(), `${kind} "${asked.name}"`);
    if (late !== undefined) return late;
    if (isTooLong(scopeHere(), asked.name)) return this.#invalid(tooLong(asked.name));
    const id = this.#hop.calls.next(this.#hop.epoch, scopeHere(), kind, asked.name);
    if (id === undefined) return this.#refuse(refusal("duplicate_call", alreadyOpen("call", asked.name)));
    const call: OpenCall = this.#hop.calls.open(
      id,
      "step" in asked
        ? { step: asked.step, wait: undefined, start: () => this.#hop.start(call, asked.run) }
        : { step: undefined, wait: asked.wait, start: () => this.#begin(call, asked.wait) },
    );
    this.#hop.opened(call);
    return call.result.promise;
  }

  /** What a wait needs before it stands: a child is started at once, whatever else goes on. */
  #begin(call: OpenCall, { child }: Wait): void {
    if (child !== undefined) this.#hop.startChild(call, child);
  }

  /** What a call comes to that is not to be made: inside of a step, or once it is known how the hop ends. */
  #notNow(kind: CallKind | "map", name: string): Promise<never> | undefined {
    return this.#insideOf(kind, name) ?? (this.#hop.hasEnded() ? this.#askedLate() : undefined);
  }

  /** Code that goes on after its workflow has returned or was refused asks for nothing any more. */
  #askedLate(): Promise<never> {
    this.#hop.askedLate();
    return deferred<never>().promise;
  }

  /** Refuses a call inside of a step's function, which gets an answer, so that it can end. */
  #insideOf(kind: CallKind | "restart" | "map", name: string): Promise<never> | undefined {
    const inside = whereAmI()?.step;
    if (inside === undefined) return undefined;
    const call =
      kind === "step" ? `ctx.step("${name.slice(0, 200)}")` : `ctx.${WRITTEN[kind as keyof typeof WRITTEN]}`;
    const message = `${call} was called inside step "${inside}": call it in the workflow itself`;
    this.#hop.refuse(refusal("invalid_call", message, inside));
    return Promise.reject(new Error(message));
  }

  /** Refuses what would park, or end, a run that holds something. */
  #whileHolding(kind: CallKind | "restart"): Promise<never> | undefined {
    const held = heldHere();
    if (held === undefined || this.#hop.hasEnded()) return undefined;
    const call = `ctx.${WRITTEN[kind as keyof typeof WRITTEN]}`;
    const message = `${call} was called inside reservation "${held.name}": a run that waits holds nothing. Let the function of ctx.reserve return first, and call it after that`;
    return this.#invalid(message);
  }

  /** Refuses what is called where units were held, and are given back. */
  #tooLate(scope: string, what: string): Promise<never> | undefined {
    const name = this.#hop.bodies.endedAround(scope);
    if (name === undefined) return undefined;
    const message = `${what} was called after the function of reservation "${name}" had returned: await it inside`;
    return this.#invalid(message);
  }

  #invalid(message: string): Promise<never> {
    return this.#refuse(refusal("invalid_call", message));
  }

  /** Ends the run by a refusal that user code cannot catch: its call never comes back. */
  #refuse(end: HopEnd): Promise<never> {
    this.#hop.refuse(end);
    return deferred<never>().promise;
  }
}

/** The scope in which the code that asks stands. */
function scopeHere(): string {
  return whereAmI()?.scope ?? "";
}

/** What the ledger's index of identities has room for, beside the rest of one, in bytes of UTF-8. */
const MAX_PLACE_BYTES = 2_000;

function isTooLong(scope: string, name: string): boolean {
  return Buffer.byteLength(scope) + Buffer.byteLength(name) > MAX_PLACE_BYTES;
}

function tooLong(name: string): string {
  return `call "${name.slice(0, 60)}": its name and the names of the maps and reservations around it are more than ${MAX_PLACE_BYTES} bytes long: give them shorter ones`;
}

/** What the code that asks holds. */
function heldHere(): Held | undefined {
  return whereAmI()?.held;
}

function alreadyOpen(what: "call" | "map" | "reserve", name: string): string {
  return `a ${what} "${name}" is open already: give ${what}s that run at the same time names of their own, or call them in the items of a ctx.map`;
}

/** How a call is written. */
const WRITTEN: Readonly<Record<Exclude<CallKind, "step" | "release"> | "restart" | "map", string>> = {
  child: "child",
  transaction: "transaction",
  consent: "consent",
  delegate: "delegate",
  sleep: "sleep",
  signal: "waitForSignal",
  restart: "restart",
  reserve: "reserve",
  map: "map",
};
