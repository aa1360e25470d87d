import { StepFailedError, type AnyWorkflow, type CallId, type Failure, type Logger } from "@ghouls/core";
import type { ClaimedRun, OpenArm } from "@ghouls/ledger";
import { Asking } from "./asking.ts";
import { Calls, type OpenCall } from "./calls.ts";
import { startChild } from "./children.ts";
import { standIn } from "./current-hop.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Effects } from "./effects.ts";
import { failureOf, handsOver, overrules, whatStops, type HopEnd } from "./hop-end.ts";
import { InFlight, type FinishedCall } from "./in-flight.ts";
import { JournalWriter } from "./journal-writer.ts";
import { ledgerNowMs } from "./live-step.ts";
import type { JournalItem, LoadedEntry } from "./loaded-journal.ts";
import type { Material } from "./material.ts";
import type { Rehearsal, Unanswered } from "./rehearsal.ts";
import type { Persistence } from "./persist.ts";
import { Bodies } from "./bodies.ts";
import { Reservations } from "./reservations.ts";
import { NextTries } from "./next-tries.ts";
import { replay } from "./replay.ts";
import { comeToRest, deferred } from "./rest.ts";
import { standsStill } from "./standstill.ts";
import { rejectLate, tellOfDropped, tellOfStandstill } from "./telling.ts";
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
  readonly #journal: readonly LoadedEntry[];
  readonly #log: Logger;
  readonly #writer: JournalWriter;
  readonly #persistence: Persistence;
  readonly #abort = new AbortController();
  readonly #calls = new Calls();
  readonly #nextTries: NextTries;
  readonly #inFlight: InFlight;
  readonly #bodies = new Bodies();
  readonly #reservations: Reservations;
  readonly #effects: Effects;
  readonly #arms: readonly OpenArm[];
  #now: Date;
  #live = false;
  #mayWrite = true;
  #refused = false;
  #disagrees = false;
  #end: HopEnd | undefined;
  #missed: Rehearsal["missed"];
  #askedLate = false;
  #wake = deferred<void>();

  constructor(
    claim: ClaimedRun,
    workflow: AnyWorkflow,
    material: Omit<Material, "input">,
    deps: ExecutionDeps,
    invocation: Invocation,
  ) {
    this.#claim = claim;
    this.#workflow = workflow;
    this.#journal = material.journal;
    this.#effects = material.effects;
    this.#arms = material.arms;
    this.#deps = deps;
    this.#invocation = invocation;
    this.#log = deps.logFor(claim);
    const nowMs = () => ledgerNowMs(claim, deps, invocation);
    this.#nextTries = new NextTries(material.retries, nowMs, () => this.#wake.resolve());
    const shared = { claim, deps, invocation };
    this.#inFlight = new InFlight(this, {
      ...shared,
      effects: material.effects,
      nextTries: this.#nextTries,
      hopSignal: this.#abort.signal,
      ended: () => this.#wake.resolve(),
    });
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
      inFlight: this.#inFlight,
      writer: this.#writer,
      persistence: this.#persistence,
      hasEnded: () => this.#end !== undefined,
      mayWrite: () => this.#mayWrite,
      openCalls: () => this.#calls.openCalls(),
      decide: (end) => this.#decide(end),
      resolve: (call, text, completedAt) => {
        this.#resolve(call, "ok", text, 1, completedAt);
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
    const mismatch = this.#disagrees ? undefined : this.#bodies.mismatch();
    if (mismatch !== undefined) {
      this.#refused = true;
      this.#decide(mismatch);
    }
    if (beforeLive !== undefined && !this.#disagrees && !this.#refused && this.#mayWrite) {
      const stopped = await whatStops(() => beforeLive((wanted) => this.#openWithin(wanted)));
      if (stopped !== undefined) {
        this.#decide(stopped);
        // Whatever its code has come to in the replay.
        if (this.#mayWrite) this.#end = stopped;
      }
    }
    this.#live = true;
    this.#reservations.goLive();
    for (const call of this.#calls.openCalls()) this.#reservations.begin(call);
    const end = await this.#carryOn();
    this.#nextTries.stop();
    if (end.kind === "returned") tellOfDropped(this.standingTries(), this.#log);
    // Whatever user code still listens to is told; nothing of this run goes on in this process.
    this.#abort.abort(new DOMException("the hop has ended", "AbortError"));
    return end;
  }

  /** Replays, and answers the calls that are open then, without starting one: what an ending asks probes of. */
  async openCalls(input: unknown, wanted: readonly string[]): Promise<readonly OpenCall[]> {
    this.#invoke(input);
    await this.#replay();
    const isOpen = (key: string) => this.#calls.openCalls().some((call) => call.key === key);
    await this.#until(() => wanted.every(isOpen));
    const open = this.#calls.openCalls();
    this.#decide({ kind: "fenced" });
    return open;
  }

  /** Replays without starting anything until the code stands where it should, and tells where it does. */
  async rehearse(input: unknown, until: "its end" | readonly CallId[]): Promise<Rehearsal> {
    this.#invoke(input);
    await this.#replay();
    await this.#until(() => until !== "its end" && this.#asksFor(until));
    const open = this.#calls.openCalls().map((call) => call.id);
    const rehearsal: Rehearsal = { missed: this.#missed, end: this.#end, open };
    this.#decide({ kind: "fenced" });
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
    while (this.#end === undefined && !stands()) {
      if (this.#deps.clock.monotonicMs() - started > this.#deps.settings.replayPatienceMs) return;
      await comeToRest();
    }
  }

  /** The claim is gone, or may be: nothing of this hop is written from now on. */
  fence(): void {
    this.#decide({ kind: "fenced" });
  }

  /** Its code has left an error to the process: a promise that nobody awaits was rejected, or a timer threw. */
  fail(error: unknown): void {
    this.#decide(failureOf(error));
  }

  /** The process is about to end: no further step starts, and the run goes on elsewhere. */
  drain(): void {
    this.#decide({ kind: "yielded", why: "drain" });
  }

  /** Whether the claim is still believed to be this hop's. */
  mayWrite(): boolean {
    return this.#mayWrite;
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

  /** What a replay of this hop has to ask for too. */
  unanswered(): Unanswered {
    return { calls: this.#calls.openCalls().map(({ id }) => id), more: this.#askedLate };
  }

  #invoke(input: unknown): void {
    const asking = new Asking({
      epoch: this.#claim.epoch,
      hop: this,
      stepLimitMs: this.#invocation.limitMs - this.#deps.settings.settleReserveMs,
      sources: Object.keys(this.#deps.decisionSources),
      services: this.#deps.delegation.services,
      registry: this.#deps.registry,
      queues: this.#deps.queues,
      capacities: this.#deps.capacities,
      bodies: this.#bodies,
      calls: this.#calls,
      now: () => this.#now,
      hasEnded: () => this.#end !== undefined,
      askedLate: () => {
        // Not in a replay, which may not have come as far as the journal.
        if (this.#live && this.#end !== undefined && handsOver(this.#end)) this.#askedLate = true;
      },
      decide: (end) => this.#decide(end),
      refuse: (end) => {
        this.#refused = true;
        this.#decide(end);
      },
      opened: (call) => {
        if (this.#live) this.#reservations.begin(call);
        this.#wake.resolve();
      },
      start: (call, run) => {
        if (this.#end !== undefined && !this.#mayStart(this.#end, call)) return;
        const refused = this.#inFlight.start(call, run);
        if (refused !== undefined) this.#decide(refused);
      },
      startReserve: (call) => this.#reservations.start(call),
      startChild: (call, child) => {
        if (this.#end !== undefined && !this.#mayStart(this.#end, call)) return;
        const started = startChild(this.#claim, call, child, this.#arms, this.#deps, this.#persistence);
        this.#inFlight.track(call, started);
      },
    });
    const context = workflowContext({
      claim: this.#claim,
      log: this.#log,
      abortSignal: this.#abort.signal,
      // What a replay says was said by an earlier hop; where there is no journal, nothing is a replay.
      isLive: () => this.#live || this.#journal.length === 0,
      now: () => this.#now,
      asking,
    });
    const body = async () => this.#workflow.run(context, input as never);
    standIn({ hop: this, scope: "", step: undefined, held: undefined }, body).then(
      (output) => this.#decide({ kind: "returned", output }),
      (error: unknown) => this.#decide(failureOf(error)),
    );
  }

  #decide(end: HopEnd): void {
    if (this.#end === undefined || overrules(end, this.#end)) this.#end = end;
    if (end.kind === "fenced" || end.kind === "unknown") this.#mayWrite = false;
    // What the code left behind when it returned, or what a handover waits for, may end in peace.
    if (end.kind !== "returned" && !handsOver(end)) {
      this.#abort.abort(new DOMException("the run does not go on here", "AbortError"));
    }
    this.#reservations.stop();
    this.#wake.resolve();
  }

  async #replay(): Promise<void> {
    const end = await replay(this.#journal, {
      find: (entry) => this.#calls.find(entry),
      openCalls: () => this.#calls.openCalls(),
      end: () => this.#end,
      refused: () => this.#refused,
      resolve: (call, entry) =>
        this.#resolve(call, entry.outcome, entry.text, entry.tries, entry.completedAt),
      missed: (entry, asked) => {
        this.#missed = { entry, asked };
      },
      patienceMs: this.#deps.settings.replayPatienceMs,
      nowMs: () => this.#deps.clock.monotonicMs(),
    });
    if (end === undefined) return;
    this.#disagrees = true;
    this.#end = end;
  }

  async #carryOn(): Promise<HopEnd> {
    for (;;) {
      this.#reservations.startReleases();
      const finished = this.#inFlight.takeFinished();
      if (finished !== undefined) {
        await this.#keep(finished);
      } else if (this.#end !== undefined && this.#inFlight.isEmpty()) {
        return this.#end;
      } else if (await this.#standsStill()) {
        this.#decide({ kind: "parked", standing: this.#calls.openCalls() });
      } else if (!this.#inFlight.hasFinished() && !(this.#end !== undefined && this.#inFlight.isEmpty())) {
        const impatient = setTimeout(() => {
          if (this.#end === undefined && this.#inFlight.isEmpty())
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
        this.#end === undefined &&
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

  /** Journals a finished step under the fence, then lets the code go on with it. */
  async #keep({ call, end, tookMs }: FinishedCall): Promise<void> {
    if (end.outcome === "stops") return this.#decide(end.end);
    if (end.outcome === "abandoned" || end.outcome === "stands") return;
    if (end.outcome === "asks" || end.outcome === "releases") return this.#reservations.turn(call, end);
    if (end.outcome === "later")
      return this.#nextTries.again(
        call,
        new Date(ledgerNowMs(this.#claim, this.#deps, this.#invocation) + end.delayMs),
        end.tries,
      );
    if (!this.#mayWrite) return rejectLate(call, end, this.#writer, this.#log);
    const answer = await this.#writer.write(call.id, end, tookMs);
    if (!answer.written) {
      if (answer.end.kind === "fenced") await this.#writer.reject(call.id, end);
      return this.#decide(answer.end);
    }
    if (end.outcome === "error" && this.#end?.kind === "returned") {
      this.#log.warn("a step failed that the workflow did not wait for", { step: call.id.name });
    }
    this.#resolve(call, end.outcome, answer.text ?? null, end.tries, answer.completedAt);
    await comeToRest();
  }

  #resolve(
    call: OpenCall,
    outcome: "ok" | "error",
    text: string | null,
    tries: number,
    completedAt: Date,
  ): void {
    this.#calls.close(call);
    this.#now = completedAt;
    // User code gets what a replay would give it: the value by way of its JSON text.
    const value: unknown = text === null ? undefined : JSON.parse(text);
    this.#bodies.resolved(call, value, this.#live);
    const received = call.wait?.receive;
    if (outcome === "ok") call.result.resolve(received === undefined ? value : received(value));
    else call.result.reject(new StepFailedError(call.id.name, tries, value as Failure));
  }
}
