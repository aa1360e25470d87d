import { StepFailedError, type AnyWorkflow, type CallId, type Failure, type Logger } from "@ghouls/core";
import type { ClaimedRun, OpenArm } from "@ghouls/ledger";
import { Asking } from "./asking.ts";
import { Calls, type EndingCode, type OpenCall, type Wanted } from "./calls.ts";
import { startChild } from "./children.ts";
import { standIn } from "./current-hop.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Effects } from "./effects.ts";
import { failureOf, whatStops, type HopEnd } from "./hop-end.ts";
import { InFlight } from "./in-flight.ts";
import type { Held } from "./holdings.ts";
import { JournalWriter } from "./journal-writer.ts";
import { keep, type Kept } from "./keeping.ts";
import { LastWord } from "./last-word.ts";
import { ledgerNowMs } from "./live-step.ts";
import type { JournalItem, LoadedEntry } from "./loaded-journal.ts";
import type { Material } from "./material.ts";
import type { Rehearsal, Unanswered } from "./rehearsal.ts";
import type { Persistence } from "./persist.ts";
import { Bodies } from "./bodies.ts";
import { Reservations } from "./reservations.ts";
import { NextTries } from "./next-tries.ts";
import type { Turn } from "./reserve-options.ts";
import { replay } from "./replay.ts";
import { comeToRest, deferred } from "./rest.ts";
import { standsStill } from "./standstill.ts";
import { Streaming } from "./streaming.ts";
import { tellOfDropped, tellOfStandstill } from "./telling.ts";
import { workflowContext } from "./workflow-context.ts";

/** Answers the open calls, once these are among them, or the patience of a replay is over. */
export type OpenCallsOf = (wanted: readonly CallId[]) => Promise<readonly OpenCall[]>;

/**
 * One hop: replays the journal, then carries the run on. Everything that the user's code sees is resolved here, one
 * result at a time, so that a later replay sees the same order (design.md §3, Step).
 */
export class Hop {
  readonly #claim: ClaimedRun;
  readonly #workflow: AnyWorkflow;
  readonly #deps: ExecutionDeps;
  readonly #invocation: Invocation;
  readonly #held: Held;
  readonly #journal: readonly LoadedEntry[];
  readonly #log: Logger;
  readonly #writer: JournalWriter;
  readonly #persistence: Persistence;
  readonly #streaming: Streaming;
  readonly #word = new LastWord({
    said: () => {
      this.#reservations.stop();
      this.#wake.resolve();
    },
    fenced: () => this.#streaming.end(),
  });
  readonly #calls = new Calls();
  readonly #nextTries: NextTries;
  readonly #inFlight: InFlight;
  readonly #bodies = new Bodies();
  readonly #reservations: Reservations;
  readonly #effects: Effects;
  readonly #arms: readonly OpenArm[];
  readonly #seen: number;
  #now: Date;
  #live = false;
  #disagrees = false;
  #missed: Rehearsal["missed"];
  #askedLate = false;
  #wake = deferred<void>();

  constructor(
    claim: ClaimedRun,
    workflow: AnyWorkflow,
    material: Omit<Material, "input">,
    deps: ExecutionDeps,
    invocation: Invocation,
    held: Held,
  ) {
    this.#claim = claim;
    this.#workflow = workflow;
    this.#journal = material.journal;
    this.#effects = material.effects;
    this.#arms = material.arms;
    this.#seen = material.seen;
    this.#deps = deps;
    this.#invocation = invocation;
    this.#held = held;
    this.#log = deps.logFor(claim);
    const nowMs = () => ledgerNowMs(claim, deps, invocation);
    this.#nextTries = new NextTries(material.retries, nowMs, () => this.#wake.resolve());
    const shared = { claim, deps, invocation };
    this.#inFlight = new InFlight(this, {
      ...shared,
      effects: material.effects,
      nextTries: this.#nextTries,
      hopSignal: this.#word.signal,
      handsOver: () => this.#word.handsOver,
      ended: () => this.#wake.resolve(),
    });
    this.#streaming = new Streaming(claim, deps, this.#log);
    this.#now = claim.startsAt ?? claim.admittedAt;
    this.#persistence = {
      chance: deps.chance,
      mayGoOn: () => this.mayWrite() && invocation.remainingMs() > deps.settings.settleReserveMs / 2,
      onPause: (error) => this.#log.warn("the ledger is out of reach; a result waits", { kind: error.kind }),
    };
    this.#writer = new JournalWriter(claim, material.journal, deps, this.#persistence);
    this.#reservations = new Reservations({
      ...shared,
      bodies: this.#bodies,
      effects: this.#effects,
      inFlight: this.#inFlight,
      writer: this.#writer,
      persistence: this.#persistence,
      word: this.#word,
      openCalls: () => this.#calls.openCalls(),
      resolve: (call, text, completedAt) => {
        this.#resolve(call, { outcome: "ok", text, tries: 1, completedAt });
        return comeToRest();
      },
    });
  }

  /**
   * Runs the workflow until its end is known and no step is in flight. Never rejects, and leaves no timer.
   * @param beforeLive asked once the journal has been replayed without a difference, and nothing was refused; answers how
   * the hop ends, if it does
   */
  async run(
    input: unknown,
    beforeLive?: (openCalls: OpenCallsOf) => Promise<HopEnd | undefined>,
  ): Promise<HopEnd> {
    this.#invoke(input);
    await this.#replay();
    const word = this.#word;
    // A replay that was cut off by a handover says nothing about the code.
    const isCutOff = word.handsOver;
    const mismatch = this.#disagrees || isCutOff ? undefined : this.#bodies.mismatch();
    if (mismatch !== undefined) {
      word.refuse(mismatch);
      // Whatever its code has come to.
      word.insist(mismatch);
    }
    if (beforeLive !== undefined && !this.#disagrees && !isCutOff && !word.refused && word.mayWrite) {
      const stopped = await whatStops(() => beforeLive((wanted) => this.#openWithin(wanted)));
      if (stopped !== undefined) {
        word.say(stopped);
        // Whatever its code has come to in the replay.
        if (word.mayWrite) word.insist(stopped);
      }
    }
    this.#live = true;
    this.#reservations.goLive();
    for (const call of this.#calls.openCalls()) this.#reservations.begin(call);
    const end = await this.#carryOn();
    this.#nextTries.stop();
    this.#streaming.end();
    if (end.kind === "returned") tellOfDropped(this.standingTries(), this.#log);
    // Nothing of this run goes on in this process.
    word.abort("the hop has ended");
    return end;
  }

  /**
   * Replays without starting anything, and answers what an ending needs of the code: the calls that are open, whose probes are
   * asked, and the steps that can be undone. Undefined where its journal is another code's.
   */
  async ending(input: unknown, { open, undo }: Wanted): Promise<EndingCode | undefined> {
    this.#invoke(input);
    await this.#replay();
    const calls = this.#calls;
    const isOpen = (key: string) => calls.openByKey(key) !== undefined;
    const isKnown = (key: string) => calls.undoable(key) !== undefined;
    await this.#until(() => open.every(isOpen) && undo.every(isKnown));
    this.#word.say({ kind: "fenced" });
    return this.#disagrees ? undefined : calls;
  }

  /** Replays without starting anything until the code stands where it should, and tells where it does. */
  async rehearse(input: unknown, until: "its end" | readonly CallId[]): Promise<Rehearsal> {
    this.#invoke(input);
    await this.#replay();
    await this.#until(() => until !== "its end" && this.#asksFor(until));
    const open = this.#calls.openCalls().map((call) => call.id);
    const rehearsal: Rehearsal = { missed: this.#missed, end: this.#word.end, open };
    this.#word.say({ kind: "fenced" });
    return rehearsal;
  }

  #asksFor(wanted: readonly CallId[]): boolean {
    return wanted.every((call) => this.#calls.find(call) !== undefined);
  }

  async #openWithin(wanted: readonly CallId[]): Promise<readonly OpenCall[]> {
    await this.#until(() => this.#asksFor(wanted));
    return this.#calls.openCalls();
  }

  /** Code that asks late is waited for within the bound of a replay. */
  async #until(stands: () => boolean): Promise<void> {
    const started = this.#deps.clock.monotonicMs();
    while (this.#word.end === undefined && !stands()) {
      if (this.#deps.clock.monotonicMs() - started > this.#deps.settings.replayPatienceMs) return;
      await comeToRest();
    }
  }

  /** The claim is gone, or may be: nothing of this hop is written from now on. */
  fence(): void {
    this.#word.say({ kind: "fenced" });
  }

  /** Its code has left an error to the process: a promise that nobody awaits was rejected, or a timer threw. */
  fail(error: unknown): void {
    this.#word.say(failureOf(error));
  }

  /** The process is about to end, or the run is paused: no further step starts, and the run goes on elsewhere or later. */
  drain(why: "drain" | "pause"): void {
    this.#word.say({ kind: "yielded", why });
  }

  /** Whether the claim is still believed to be this hop's. */
  mayWrite(): boolean {
    return this.#word.mayWrite;
  }

  /** The journal as it stands at the end of this hop. */
  journal(): readonly JournalItem[] {
    return this.#writer.entries();
  }

  /** Its steps that wait for their next try. */
  standingTries(): readonly OpenCall[] {
    return this.#calls.openCalls().filter(({ wait }) => typeof wait?.tries === "number");
  }

  /** Whether it has come further than its journal says: a step has had a try. */
  hasTried(): boolean {
    return this.#nextTries.hasTried();
  }

  /** Whether it had to wait for units. */
  hasWaited(): boolean {
    return this.#reservations.hasWaited();
  }

  /** What a replay of this hop has to ask for too. */
  unanswered(): Unanswered {
    return { calls: this.#calls.openCalls().map(({ id }) => id), more: this.#askedLate };
  }

  #invoke(input: unknown): void {
    const refuse = (end: HopEnd) => this.#word.refuse(end);
    // What comes after an entry that no earlier hop has gone on from is no replay, though nothing has started yet.
    const isNew = () => this.#live || this.#journal.length === 0 || this.#calls.closed() > this.#seen;
    const asking = new Asking({
      epoch: this.#claim.epoch,
      hop: this,
      stepLimitMs: this.#invocation.limitMs - this.#deps.settings.settleReserveMs,
      transactionLimitMs: this.#deps.settings.transactionLimitMs,
      deps: this.#deps,
      bodies: this.#bodies,
      calls: this.#calls,
      now: () => this.#now,
      hasEnded: () => this.#word.end !== undefined,
      askedLate: () => {
        // Not in a replay, which may not have come as far as the journal.
        if (this.#live && this.#word.handsOver) this.#askedLate = true;
      },
      decide: (end) => this.#word.say(end),
      refuse,
      opened: (call) => {
        if (this.#live) this.#reservations.begin(call);
        this.#wake.resolve();
      },
      start: (call, run) => {
        if (this.#word.end !== undefined && !this.#mayStart(this.#word.end, call)) return;
        const refused = this.#inFlight.start(call, run);
        if (refused !== undefined) this.#word.say(refused);
      },
      startReserve: (call) => this.#reservations.start(call),
      startChild: (call, child) => {
        if (this.#word.end !== undefined && !this.#mayStart(this.#word.end, call)) return;
        this.#inFlight.track(
          call,
          startChild(this.#claim, call, child, this.#arms, this.#deps, this.#persistence, this.#invocation),
        );
      },
    });
    const context = workflowContext({
      claim: this.#claim,
      held: this.#held,
      log: this.#log,
      abortSignal: this.#word.signal,
      isNew,
      now: () => this.#now,
      stream: (channel, chunk) => this.#streaming.say(channel, chunk, isNew, refuse),
      emit: (name, data) => this.#streaming.emit(name, data, isNew, refuse),
      asking,
    });
    const body = async () => this.#workflow.run(context, input as never);
    standIn({ hop: this, scope: "", step: undefined, held: undefined }, body).then(
      (output) => this.#word.say({ kind: "returned", output }),
      (error: unknown) => this.#word.say(failureOf(error)),
    );
  }

  async #replay(): Promise<void> {
    const end = await replay(this.#journal, {
      find: (entry) => this.#calls.find(entry),
      openCalls: () => this.#calls.openCalls(),
      end: () => this.#word.end,
      refused: () => this.#word.refused,
      resolve: (call, entry) => this.#resolve(call, entry),
      missed: (entry, asked) => {
        this.#missed = { entry, asked };
      },
      patienceMs: this.#deps.settings.replayPatienceMs,
      nowMs: () => this.#deps.clock.monotonicMs(),
    });
    if (end === undefined) return;
    this.#disagrees = true;
    this.#word.insist(end);
  }

  async #carryOn(): Promise<HopEnd> {
    const keeper = {
      word: this.#word,
      writer: this.#writer,
      nextTries: this.#nextTries,
      log: this.#log,
      ledgerNowMs: () => ledgerNowMs(this.#claim, this.#deps, this.#invocation),
      resolve: (call: OpenCall, kept: Kept) => this.#resolve(call, kept),
      turn: (call: OpenCall, turn: Turn) => this.#reservations.turn(call, turn),
    };
    for (;;) {
      this.#reservations.startReleases();
      const finished = this.#inFlight.takeFinished();
      if (finished !== undefined) {
        await keep(finished, keeper);
      } else if (this.#word.end !== undefined && this.#inFlight.isEmpty()) {
        return this.#word.end;
      } else if (await this.#standsStill()) {
        this.#word.say({ kind: "parked", standing: this.#calls.openCalls() });
      } else if (
        !this.#inFlight.hasFinished() &&
        !(this.#word.end !== undefined && this.#inFlight.isEmpty())
      ) {
        const impatient = setTimeout(() => {
          if (this.#word.end === undefined && this.#inFlight.isEmpty())
            tellOfStandstill(this.#claim, this.#log, this.#deps);
        }, this.#deps.settings.overdueAfterMs);
        const outOfTime = this.#reservations.yieldsInTime(this.standingTries());
        await this.#wake.promise;
        clearTimeout(impatient);
        clearTimeout(outOfTime);
        this.#wake = deferred();
      }
    }
  }

  /** Whether every branch of the code is finished or stands in a durable wait, and nothing is in flight. */
  #standsStill(): Promise<boolean> {
    const { clock, settings } = this.#deps;
    return standsStill({
      still: () =>
        this.#word.end === undefined &&
        this.#inFlight.isEmpty() &&
        this.#bodies.open().length === 0 &&
        this.#calls.openCalls().length > 0 &&
        this.#calls.openCalls().every(({ wait }) => wait !== undefined),
      asked: () => this.#calls.asked(),
      hasAll: () => this.#arms.every(({ call }) => this.#calls.wasAsked(call)),
      nowMs: () => clock.monotonicMs(),
      restMs: settings.parkRestMs,
      patienceMs: settings.replayPatienceMs,
    });
  }

  /** What has been announced and may have happened is asked about, whatever the code does after it. */
  #mayStart(end: HopEnd, call: OpenCall): boolean {
    if (end.kind === "returned") return true;
    return end.kind === "restarted" && this.#effects.of(call.id).openIntent !== undefined;
  }

  #resolve(call: OpenCall, { outcome, text, tries, completedAt }: Kept): void {
    this.#calls.close(call);
    this.#now = completedAt;
    // User code gets what a replay would give it: the value by way of its JSON text.
    const value: unknown = text === null ? undefined : JSON.parse(text);
    this.#bodies.resolved(call, value, this.#live);
    const received = call.wait?.receive;
    if (outcome === "ok") call.result.resolve(received === undefined ? value : received(value));
    else call.result.reject(new StepFailedError(call.id.name, tries, value as Failure, call.id.kind));
  }
}
