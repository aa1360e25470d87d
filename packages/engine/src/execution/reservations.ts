import { serialize, sha256, type CallId } from "@ghouls/core";
import type { Ask, ClaimedRun, TakeAnswer } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { InFlight } from "./in-flight.ts";
import type { JournalWriter } from "./journal-writer.ts";
import { ledgerNowMs, raiseAttention } from "./live-step.ts";
import { persist, type Persistence } from "./persist.ts";
import type { Reserve } from "./reserve-options.ts";

/** A reserve as its hop knows it: what is asked for, and the scope in which the calls of its function stand. */
export interface ReserveCall extends Reserve {
  readonly scope: string;
}

/** What the ledger is to be asked next for a call: for its units, or to take them back. */
export type Turn = { readonly outcome: "asks" } | { readonly outcome: "releases" };

/** What came of it. */
export type TurnEnd =
  | { readonly kind: "journaled"; readonly text: string | null; readonly completedAt: Date }
  /** Taken again: these calls may start. */
  | { readonly kind: "retaken"; readonly heldBack: readonly OpenCall[] }
  | { readonly kind: "stops"; readonly end: HopEnd }
  | { readonly kind: "nothing" };

interface Options {
  readonly claim: ClaimedRun;
  readonly deps: ExecutionDeps;
  readonly invocation: Invocation;
  readonly inFlight: InFlight;
  readonly writer: JournalWriter;
  readonly persistence: Persistence;
  /** Whether it is known how the hop ends. */
  readonly hasEnded: () => boolean;
  /** Whether the claim is still believed to be this hop's. */
  readonly mayWrite: () => boolean;
  readonly openCalls: () => readonly OpenCall[];
}

/** A reserve whose function has been called. */
interface Body {
  readonly call: OpenCall;
  readonly reserve: ReserveCall;
  /** What its journal entry says was had. */
  readonly had: { readonly capacity?: unknown; readonly units?: unknown };
  state: "to retake" | "retaking" | "held" | "ended";
  /** What may not start before it is held. */
  readonly heldBack: OpenCall[];
}

/** An ask on its way. */
interface Asking {
  readonly reservationId: string;
  readonly sinceMs: number;
  readonly retake: boolean;
  /** Whether the ledger has a row that waits. */
  waits: boolean;
}

/** How long after its time is over a retake is tried again: it never fails by itself. */
const RETRY_RETAKE_MS = 30_000;
const UNAVAILABLE = stored({ outcome: "UNAVAILABLE" });

/**
 * The reservations of one hop (design.md §3, Reservations). The ledger is asked one turn after another, between the results
 * that the hop journals: so grants are resolved in the order of the journal, as a replay does.
 */
export class Reservations {
  readonly #options: Options;
  readonly #bodies = new Map<string, Body>();
  /** Names of those that are over, by their scopes. */
  readonly #over = new Map<string, string>();
  readonly #asking = new Map<string, Asking>();
  readonly #stop = new AbortController();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Asks for the units of a call. */
  start(call: OpenCall): void {
    this.#ask(call, false);
  }

  /** A reserve, or the end of its function, has its result. */
  resolved(call: OpenCall, value: unknown, live: boolean): void {
    const { reserve, releases } = call;
    if (releases !== undefined) {
      this.#bodies.delete(call.id.scope);
      this.#over.set(call.id.scope, call.id.name);
    }
    const had = (value ?? {}) as Body["had"] & { readonly outcome?: unknown };
    if (reserve === undefined || had.outcome !== "RESERVED") return;
    const state = live ? "held" : "to retake";
    this.#bodies.set(reserve.scope, { call, reserve, had, state, heldBack: [] });
  }

  /** Whether a function is under way that holds units, or is to have them again: its run cannot park. */
  hold(): boolean {
    return this.#bodies.size > 0;
  }

  /** The name of a reservation whose function has come to its end, where a call of this scope would come too late. */
  endedAround(scope: string): string | undefined {
    const ending = this.#around(scope).find(({ state }) => state === "ended");
    if (ending !== undefined) return ending.call.id.name;
    return [...this.#over].find(([over]) => isWithin(scope, over))?.[1];
  }

  /** How the hop ends where the code asks for something else than what its open functions had. */
  mismatch(): HopEnd | undefined {
    for (const { call, reserve, had } of this.#bodies.values()) {
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

  /** The replay is over: what a function that is not over had is taken again, the outer ones first. */
  goLive(): void {
    for (const body of this.#bodies.values()) if (body.state === "to retake") this.#retake(body);
  }

  /** Whether a call may not start yet. It is given back by the turn that takes again what it stands in. */
  holdsBack(call: OpenCall): boolean {
    if (call.releases !== undefined) return true;
    const body = this.#around(call.id.scope).find(({ state }) => state !== "held");
    if (body === undefined) return false;
    body.heldBack.push(call);
    if (body.state === "to retake") this.#retake(body);
    return true;
  }

  /** Ends the functions that have returned or thrown, and of which no call is open. */
  startReleases(): void {
    if (this.#bodies.size === 0) return;
    const open = this.#options.openCalls();
    for (const call of open) {
      const body = call.releases === undefined ? undefined : this.#bodies.get(call.id.scope);
      if (body === undefined || body.state === "ended" || body.state === "retaking") continue;
      if (open.some((other) => other !== call && isWithin(other.id.scope, call.id.scope))) continue;
      body.state = "ended";
      this.#options.inFlight.track(call, Promise.resolve({ outcome: "releases" }));
    }
  }

  /** Nothing is waited for any more. */
  stop(): void {
    this.#stop.abort();
  }

  /** Asks the ledger. Never rejects: what went wrong is how the hop ends. */
  async turn(call: OpenCall, { outcome }: Turn): Promise<TurnEnd> {
    try {
      return outcome === "releases" ? await this.#release(call) : await this.#take(call);
    } catch (error) {
      return { kind: "stops", end: { kind: "unknown", error } };
    }
  }

  /** The bodies around a scope that are open, the outermost first. */
  #around(scope: string): Body[] {
    return [...this.#bodies.values()]
      .filter(({ reserve }) => isWithin(scope, reserve.scope))
      .toSorted((a, b) => a.reserve.scope.length - b.reserve.scope.length);
  }

  #retake(body: Body): void {
    // What it stands in comes first; and where only its end is left, nothing more is done under it.
    if (this.#around(body.call.id.scope).some(({ state }) => state !== "held")) return;
    const inside = this.#options.openCalls().filter(({ id }) => isWithin(id.scope, body.reserve.scope));
    const isItsEnd = ({ id, releases }: OpenCall) =>
      releases !== undefined && id.scope === body.reserve.scope;
    if (inside.length > 0 && inside.every(isItsEnd)) return;
    body.state = "retaking";
    this.#ask(body.call, true);
  }

  #ask(call: OpenCall, retake: boolean): void {
    const { deps, inFlight } = this.#options;
    const sinceMs = deps.clock.monotonicMs();
    this.#asking.set(call.key, { reservationId: deps.ids.next(), sinceMs, retake, waits: false });
    inFlight.track(call, Promise.resolve({ outcome: "asks" }));
  }

  async #take(call: OpenCall): Promise<TurnEnd> {
    const { deps, persistence, hasEnded } = this.#options;
    const { reserve, id } = call;
    const asking = this.#asking.get(call.key);
    if (reserve === undefined || asking === undefined) return { kind: "nothing" };
    if (hasEnded()) return this.#withdraw(asking);
    await deps.faults("worker.before-reserve", id.name);
    const { capacity, units } = reserve;
    const reserved = stored({ outcome: "RESERVED", capacity, units });
    const { reservationId, retake } = asking;
    const ask = { reservationId, call: id, capacity, units, retake, reserved, unavailable: UNAVAILABLE };
    const answer = await persist(
      () => this.#askLedger({ ...ask, waitSeconds: reserve.waitMs / 1_000 }),
      persistence,
    );
    await deps.faults("worker.after-reserve", id.name);
    if (answer === null) return { kind: "stops", end: { kind: "fenced" } };
    if (answer.kind === "waits") return this.#goOnWaiting(call, reserve, asking);
    this.#asking.delete(call.key);
    if (answer.kind === "unknown_capacity") throw new TypeError(`the ledger has no capacity "${capacity}"`);
    const result = answer.kind === "held" ? reserved : UNAVAILABLE;
    if (answer.entry === null) return this.#retaken(call);
    this.#options.writer.adopt(id, answer.entry.ordinal, result.digest, result.text);
    return { kind: "journaled", text: result.text, completedAt: answer.entry.completedAt };
  }

  /** A build that could not announce itself says what it has now. */
  async #askLedger(ask: Ask): Promise<TakeAnswer> {
    const { ledger, capacities } = this.#options.deps;
    const answer = await ledger.reservations.takeIfClaimed(this.#options.claim, ask);
    if (answer?.kind !== "unknown_capacity") return answer;
    await ledger.capacities.record(capacities);
    return ledger.reservations.takeIfClaimed(this.#options.claim, ask);
  }

  #retaken(call: OpenCall): TurnEnd {
    const body = this.#bodies.get(call.reserve?.scope ?? "");
    if (body === undefined) return { kind: "nothing" };
    body.state = "held";
    this.goLive();
    return { kind: "retaken", heldBack: body.heldBack.splice(0) };
  }

  /** Asks again after a pause, unless the hop has to end: then the next one asks, and keeps the place. */
  #goOnWaiting(call: OpenCall, { capacity, waitMs }: ReserveCall, asking: Asking): TurnEnd {
    const { claim, deps, invocation, inFlight } = this.#options;
    const { reservePollMs, residentReserveMs, settleReserveMs } = deps.settings;
    asking.waits = true;
    const waitedMs = deps.clock.monotonicMs() - asking.sinceMs;
    const givenBack = (afterMs: number): TurnEnd => {
      const dueAt = new Date(ledgerNowMs(claim, deps, invocation) + afterMs);
      return { kind: "stops", end: { kind: "given_back", dueAt, why: `it waits for units of ${capacity}` } };
    };
    if (asking.retake && waitedMs >= waitMs) {
      raiseAttention(claim, `reservation_waits: ${capacity}`, deps.logFor(claim), deps);
      return givenBack(RETRY_RETAKE_MS);
    }
    if (waitedMs >= residentReserveMs) return givenBack(reservePollMs);
    const pauseMs = reservePollMs * (0.75 + deps.chance() / 2);
    if (invocation.remainingMs() - pauseMs <= settleReserveMs)
      return { kind: "stops", end: { kind: "yielded", why: "units" } };
    inFlight.track(call, paused(pauseMs, this.#stop.signal));
    return { kind: "nothing" };
  }

  /** A run that waits for something can neither be DONE nor FAILED. */
  async #withdraw(asking: Asking): Promise<TurnEnd> {
    const { claim, deps, persistence, mayWrite } = this.#options;
    if (!asking.waits || !mayWrite()) return { kind: "nothing" };
    for (const one of this.#asking.values()) one.waits = false;
    const written = await persist(() => deps.ledger.reservations.withdrawIfClaimed(claim), persistence);
    return written ? { kind: "nothing" } : { kind: "stops", end: { kind: "fenced" } };
  }

  async #release(call: OpenCall): Promise<TurnEnd> {
    const { claim, deps, persistence, writer, hasEnded } = this.#options;
    if (call.releases === undefined || hasEnded()) return { kind: "nothing" };
    const reserve: CallId = call.releases;
    await deps.faults("worker.before-release", call.id.name);
    const entry = await persist(
      () => deps.ledger.reservations.releaseIfClaimed(claim, reserve, call.id),
      persistence,
    );
    await deps.faults("worker.after-release", call.id.name);
    if (entry === null) return { kind: "stops", end: { kind: "fenced" } };
    writer.adopt(call.id, entry.ordinal, null, null);
    return { kind: "journaled", text: null, completedAt: entry.completedAt };
  }
}

/** Whether a place in the code is a scope, or lies in it. */
function isWithin(scope: string, outer: string): boolean {
  return scope === outer || scope.startsWith(`${outer}/`);
}

function stored(value: Readonly<Record<string, unknown>>): {
  readonly text: string;
  readonly digest: string;
} {
  const text = serialize(value) ?? "";
  return { text, digest: sha256(text) };
}

function paused(ms: number, until: AbortSignal): Promise<Turn> {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      until.removeEventListener("abort", go);
      resolve({ outcome: "asks" });
    };
    const timer = setTimeout(go, ms);
    until.addEventListener("abort", go, { once: true });
    if (until.aborted) go();
  });
}
