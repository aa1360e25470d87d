import { attentionText, serialize, sha256, type CallId } from "@ghouls/core";
import type { Ask, ClaimedRun, TakeAnswer } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Effects } from "./effects.ts";
import { DUE_AGAIN_MS, refusal } from "./hop-end.ts";
import type { InFlight } from "./in-flight.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { LastWord } from "./last-word.ts";
import { ledgerNowMs, raiseAttention } from "./live-step.ts";
import { persist, type Persistence } from "./persist.ts";
import { isWithin, pathTo, type Bodies, type Body } from "./bodies.ts";
import { whyNeverHad, type ReserveCall, type Turn } from "./reserve-options.ts";

interface Options {
  readonly claim: ClaimedRun;
  readonly deps: ExecutionDeps;
  readonly invocation: Invocation;
  readonly bodies: Bodies;
  readonly effects: Effects;
  readonly inFlight: InFlight;
  readonly writer: JournalWriter;
  readonly persistence: Persistence;
  readonly word: LastWord;
  readonly openCalls: () => readonly OpenCall[];
  /** Lets the code go on with what is journaled. */
  readonly resolve: (call: OpenCall, text: string | null, completedAt: Date) => Promise<void>;
}

/** An ask on its way. */
interface Asking {
  readonly reservationId: string;
  readonly sinceMs: number;
  readonly retake: boolean;
  /** Its first ask in a row, over all hops, by the ledger. */
  askedAtMs: number;
  /** Whether the ledger has a row that waits. */
  waits: boolean;
  /** Those of this hop that wait for the same, it among them, whoever asked first at the front. */
  line: Asking[] | undefined;
  /** Ends its pause. */
  wake: () => void;
}

type Waits = Extract<TakeAnswer, { kind: "waits" }>;

/** A timer of Node's that is longer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const UNAVAILABLE = stored({ outcome: "UNAVAILABLE" });

/**
 * The reservations of one hop (design.md §3, Reservations). The ledger is asked one turn after another, between the results
 * that the hop journals: so grants are resolved in the order of the journal, as a replay does.
 */
export class Reservations {
  readonly #options: Options;
  readonly #asking = new Map<string, Asking>();
  readonly #lines = new Map<string, Asking[]>();
  #stopped = false;
  #hasWaited = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Whether anything had to be waited for: that no step fitted after it is no fault of the code. */
  hasWaited(): boolean {
    return this.#hasWaited;
  }

  /** Asks for the units of a call. */
  start(call: OpenCall): void {
    if (this.#options.word.end === undefined) this.#ask(call, false);
  }

  /** The replay is over: what a function that is not over had is taken again, the outer ones first. */
  goLive(): void {
    if (this.#options.word.end !== undefined) return;
    for (const body of this.#options.bodies.open()) if (body.state === "to retake") this.#retake(body);
  }

  /** Starts a call, once all is held that it stands in. The end of a function has its own time. */
  begin(call: OpenCall): void {
    if (call.releases === undefined && !this.#holdsBack(call)) call.start();
  }

  #holdsBack(call: OpenCall): boolean {
    const { bodies, effects, word } = this.#options;
    const body = bodies.around(call.id.scope).find(({ state }) => state !== "held");
    if (body === undefined) return false;
    if (word.end?.kind === "restarted" && effects.of(call.id).openIntent !== undefined) return false;
    body.heldBack.push(call);
    if (body.state === "to retake") this.#retake(body);
    return true;
  }

  /** Ends the functions that have returned or thrown, and of which no call is open. */
  startReleases(): void {
    const { bodies, inFlight, openCalls, word } = this.#options;
    if (word.end !== undefined || bodies.open().length === 0) return;
    const open = openCalls();
    const within = countWithin(open);
    for (const call of open) {
      const body = call.releases === undefined ? undefined : bodies.of(call.id.scope);
      if (body === undefined || body.state === "ended" || body.state === "retaking") continue;
      // Itself is one.
      if ((within.get(call.id.scope) ?? 0) > 1) continue;
      body.state = "ended";
      inFlight.track(call, Promise.resolve({ outcome: "releases" }));
    }
  }

  /**
   * Nothing is waited for any more. A run does not go on as new while nobody knows of an effect of the old one: what was held
   * back is asked about, which takes no units.
   */
  stop(): void {
    this.#stopped = true;
    for (const { wake } of this.#asking.values()) wake();
    const { bodies, effects, word } = this.#options;
    if (word.end?.kind !== "restarted") return;
    for (const { heldBack } of bodies.open()) {
      const unknown = heldBack.filter(({ id }) => effects.of(id).openIntent !== undefined);
      for (const call of unknown) {
        heldBack.splice(heldBack.indexOf(call), 1);
        call.start();
      }
    }
  }

  /** Asks the ledger. Never rejects: what went wrong is how the hop ends. */
  async turn(call: OpenCall, { outcome }: Turn): Promise<void> {
    try {
      await (outcome === "releases" ? this.#release(call) : this.#take(call));
    } catch (error) {
      this.#options.word.say({ kind: "unknown", error });
    }
  }

  /**
   * A hop that holds units does not park: what it waits for may take longer than its invocation.
   * @returns the timer that ends it in time
   */
  yieldsInTime(tries: readonly OpenCall[]): ReturnType<typeof setTimeout> | undefined {
    const { bodies, deps, inFlight, invocation, word } = this.#options;
    if (word.end !== undefined || bodies.open().length === 0 || !inFlight.isEmpty()) return undefined;
    const { residentReserveMs, settleReserveMs } = deps.settings;
    const due = tries.map(({ wait }) => wait?.dueAt?.getTime() ?? 0);
    if (due.length > 0 && residentReserveMs === 0) {
      const dueAt = new Date(Math.min(...due));
      return setTimeout(() => word.say({ kind: "given_back", dueAt, why: "its next try is due later" }));
    }
    const restMs = Math.max(0, invocation.remainingMs() - settleReserveMs);
    const why = due.length > 0 ? "units" : "time";
    return setTimeout(() => word.say({ kind: "yielded", why }), Math.min(restMs, MAX_TIMER_MS));
  }

  #retake(body: Body): void {
    // What it stands in comes first; and where only its end is left, nothing more is done under it.
    if (this.#options.bodies.around(body.call.id.scope).some(({ state }) => state !== "held")) return;
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
    this.#asking.set(call.key, {
      reservationId: deps.ids.next(),
      sinceMs,
      retake,
      askedAtMs: 0,
      waits: false,
      line: undefined,
      wake: () => undefined,
    });
    inFlight.track(call, Promise.resolve({ outcome: "asks" }));
  }

  async #take(call: OpenCall): Promise<void> {
    const { deps, persistence, word } = this.#options;
    const { reserve, id } = call;
    const asking = this.#asking.get(call.key);
    if (reserve === undefined || asking === undefined) return;
    if (word.end !== undefined) return this.#withdraw(asking);
    await deps.faults("worker.before-reserve", id.name);
    const { capacity, units, inside } = reserve;
    const reserved = stored({ outcome: "RESERVED", capacity, units });
    const { reservationId, retake } = asking;
    const ask = {
      reservationId,
      call: id,
      capacity,
      units,
      inside,
      retake,
      reserved,
      unavailable: UNAVAILABLE,
    };
    const answer = await persist(
      () => this.#askLedger({ ...ask, waitSeconds: reserve.waitMs / 1_000 }),
      persistence,
    );
    await deps.faults("worker.after-reserve", id.name);
    if (answer === null) return word.say({ kind: "fenced" });
    if (answer.kind === "waits") return this.#goOnWaiting(call, reserve, asking, answer);
    this.#asking.delete(call.key);
    leave(asking);
    if (answer.kind === "unknown_capacity") throw new TypeError(`the ledger has no capacity "${capacity}"`);
    const result = answer.kind === "held" ? reserved : UNAVAILABLE;
    if (answer.entry === null) return this.#retaken(call);
    this.#options.writer.adopt(id, answer.entry, result.digest, result.text);
    await this.#options.resolve(call, result.text, answer.entry.completedAt);
  }

  /** A build that could not announce itself says what it has now. */
  async #askLedger(ask: Ask): Promise<TakeAnswer> {
    const { ledger, capacities } = this.#options.deps;
    const answer = await ledger.reservations.takeIfClaimed(this.#options.claim, ask);
    if (answer?.kind !== "unknown_capacity") return answer;
    await ledger.capacities.add(capacities);
    return ledger.reservations.takeIfClaimed(this.#options.claim, ask);
  }

  #retaken(call: OpenCall): void {
    const body = this.#options.bodies.of(call.reserve?.scope ?? "");
    if (body === undefined) return;
    body.state = "held";
    this.goLive();
    for (const one of body.heldBack.splice(0)) this.begin(one);
  }

  /**
   * Asks again after a pause, unless the hop has to end: then the next one asks, and keeps the place. Of those that wait for the
   * same only the first asks again and again; the others when it is their turn, or their time is over.
   */
  async #goOnWaiting(call: OpenCall, reserve: ReserveCall, asking: Asking, answer: Waits): Promise<void> {
    const { claim, deps, invocation, inFlight, bodies, word } = this.#options;
    const { reservePollMs, residentReserveMs, settleReserveMs } = deps.settings;
    const { capacity, waitMs } = reserve;
    this.#hasWaited = true;
    asking.waits = true;
    asking.askedAtMs = answer.askedAt.getTime();
    const never = this.#neverHad(call, reserve, answer);
    if (never !== undefined && !asking.retake) {
      word.refuse(refusal("invalid_call", never));
      return this.#withdraw(asking);
    }
    const givenBack = (afterMs: number) => {
      const dueAt = new Date(ledgerNowMs(claim, deps, invocation) + afterMs);
      word.say({ kind: "given_back", dueAt, why: `it waits for units of ${capacity}` });
      // What is still in flight may bring the code to its end.
      return this.#withdraw(asking);
    };
    const leftMs = waitMs - answer.waitedSeconds * 1_000;
    if (asking.retake && leftMs <= 0) {
      // It never fails by itself.
      await raiseAttention(claim, attentionText("reservation_waits", capacity), deps.logFor(claim), deps);
      const alone = inFlight.isEmpty() && bodies.open().every(({ state }) => state !== "held");
      if (alone) return givenBack(DUE_AGAIN_MS);
    }
    if (deps.clock.monotonicMs() - asking.sinceMs >= residentReserveMs) return givenBack(reservePollMs);
    // Who cannot be served keeps nobody behind it from asking.
    if (reserve.inside + reserve.units > answer.allUnits) leave(asking);
    else if (asking.line === undefined) this.#join(call, capacity, asking);
    const polls = asking.line === undefined || asking.line[0] === asking;
    const pollMs = reservePollMs * (0.75 + deps.chance() / 2);
    const pauseMs = polls ? pollMs : leftMs > 0 ? leftMs : MAX_TIMER_MS;
    if (polls && invocation.remainingMs() - pauseMs <= settleReserveMs) {
      word.say({ kind: "yielded", why: "units" });
      return this.#withdraw(asking);
    }
    inFlight.track(call, this.#paused(asking, pauseMs));
  }

  /** By a deploy's word, unless this build's configuration has more. */
  #neverHad(call: OpenCall, reserve: ReserveCall, { allUnits }: Waits): string | undefined {
    const own = this.#options.deps.capacities[reserve.capacity] ?? 0;
    return whyNeverHad(call.id.name, reserve, Math.max(allUnits, own), reserve.inside);
  }

  /** What stands in another reservation is in a line of its own: those before it may wait for what it holds. */
  #join(call: OpenCall, capacity: string, asking: Asking): void {
    const inside = this.#options.bodies.around(call.id.scope).at(-1)?.reserve.scope ?? "";
    const key = JSON.stringify([capacity, inside]);
    const line = this.#lines.get(key) ?? [];
    this.#lines.set(key, line);
    const behind = line.findIndex(({ askedAtMs }) => askedAtMs > asking.askedAtMs);
    line.splice(behind === -1 ? line.length : behind, 0, asking);
    asking.line = line;
  }

  #paused(asking: Asking, ms: number): Promise<Turn> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        asking.wake = () => undefined;
        resolve({ outcome: "asks" });
      };
      const timer = setTimeout(go, Math.min(ms, MAX_TIMER_MS));
      asking.wake = go;
      if (this.#stopped) go();
    });
  }

  /** A run that waits for something can neither be DONE nor FAILED. */
  async #withdraw(asking: Asking): Promise<void> {
    const { claim, deps, persistence, word } = this.#options;
    if (!asking.waits || !word.mayWrite) return;
    for (const one of this.#asking.values()) one.waits = false;
    const written = await persist(() => deps.ledger.reservations.withdrawIfClaimed(claim), persistence);
    if (!written) word.say({ kind: "fenced" });
  }

  async #release(call: OpenCall): Promise<void> {
    const { claim, deps, persistence, writer, resolve, word } = this.#options;
    if (call.releases === undefined || word.end !== undefined) return;
    const reserve: CallId = call.releases;
    await deps.faults("worker.before-release", call.id.name);
    const entry = await persist(
      () => deps.ledger.reservations.releaseIfClaimed(claim, reserve, call.id),
      persistence,
    );
    await deps.faults("worker.after-release", call.id.name);
    if (entry === null) return word.say({ kind: "fenced" });
    writer.adopt(call.id, entry, null, null);
    await resolve(call, null, entry.completedAt);
  }
}

function stored(value: Readonly<Record<string, unknown>>): {
  readonly text: string;
  readonly digest: string;
} {
  const text = serialize(value) ?? "";
  return { text, digest: sha256(text) };
}

/** Whoever was behind it is the first now, and asks. */
function leave(asking: Asking): void {
  const { line } = asking;
  if (line === undefined) return;
  line.splice(line.indexOf(asking), 1);
  asking.line = undefined;
  line[0]?.wake();
}

/** How many of these calls stand in each scope, or in one inside of it. */
function countWithin(calls: readonly OpenCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { id } of calls)
    for (const outer of pathTo(id.scope)) counts.set(outer, (counts.get(outer) ?? 0) + 1);
  return counts;
}
