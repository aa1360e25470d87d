import {
  StepFailedError,
  describeCall,
  describeFailure,
  type AnyWorkflow,
  type Failure,
  type Logger,
  type StepContext,
  type StepOptions,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { Calls, type OpenCall } from "./calls.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Effects } from "./effects.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { JournalWriter } from "./journal-writer.ts";
import { liveStep, whyNotNow } from "./live-step.ts";
import type { JournalItem, LoadedEntry } from "./loaded-journal.ts";
import type { OnceEnd } from "./once-step.ts";
import type { Rehearsal } from "./rehearsal.ts";
import { comeToRest, deferred } from "./rest.ts";
import { resolveStep } from "./step-options.ts";
import { standIn, whereAmI } from "./current-hop.ts";
import { workflowContext } from "./workflow-context.ts";

interface FinishedStep {
  readonly call: OpenCall;
  readonly end: OnceEnd;
  readonly tookMs: number;
}

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
  readonly #effects: Effects;
  readonly #log: Logger;
  readonly #writer: JournalWriter;
  readonly #abort = new AbortController();
  readonly #calls = new Calls();
  readonly #finished: FinishedStep[] = [];
  #now: Date;
  #live = false;
  #inFlight = 0;
  #mayWrite = true;
  #refused = false;
  #end: HopEnd | undefined;
  #missed: Rehearsal["missed"];
  #wake = deferred<void>();

  constructor(
    claim: ClaimedRun,
    workflow: AnyWorkflow,
    journal: readonly LoadedEntry[],
    effects: Effects,
    deps: ExecutionDeps,
    invocation: Invocation,
  ) {
    this.#claim = claim;
    this.#workflow = workflow;
    this.#journal = journal;
    this.#effects = effects;
    this.#deps = deps;
    this.#invocation = invocation;
    this.#log = deps.logFor(claim);
    this.#now = claim.admittedAt;
    this.#writer = new JournalWriter(claim, journal, deps, {
      chance: deps.chance,
      mayGoOn: () => this.mayWrite() && invocation.remainingMs() > deps.settings.settleReserveMs / 2,
      onPause: (error) => this.#log.warn("the ledger is out of reach; a result waits", { kind: error.kind }),
    });
  }

  /**
   * Runs the workflow until its end is known and no step is in flight. Never rejects, and leaves no timer.
   */
  async run(input: unknown): Promise<HopEnd> {
    this.#invoke(input);
    await this.#replay();
    this.#live = true;
    for (const call of this.#calls.openCalls()) call.start();
    const end = await this.#carryOn();
    // Whatever user code still listens to is told; nothing of this run goes on in this process.
    this.#abort.abort(new DOMException("the hop has ended", "AbortError"));
    return end;
  }

  /** Replays, and answers the calls that are open then, without starting one: what an ending asks probes of. */
  async openCalls(input: unknown, wanted: readonly string[]): Promise<readonly OpenCall[]> {
    this.#invoke(input);
    await this.#replay();
    const started = this.#deps.clock.monotonicMs();
    const isOpen = (key: string) => this.#calls.openCalls().some((call) => call.key === key);
    while (!wanted.every(isOpen) && this.#end === undefined) {
      if (this.#deps.clock.monotonicMs() - started > this.#deps.settings.replayPatienceMs) break;
      await comeToRest();
    }
    const open = this.#calls.openCalls();
    this.#decide({ kind: "fenced" });
    return open;
  }

  /** Replays without starting anything, and tells where the code then stands; an end is waited for where there was one. */
  async rehearse(input: unknown, untilEnd: boolean): Promise<Rehearsal> {
    this.#invoke(input);
    await this.#replay();
    const started = this.#deps.clock.monotonicMs();
    while (untilEnd && this.#end === undefined) {
      if (this.#deps.clock.monotonicMs() - started > this.#deps.settings.replayPatienceMs) break;
      await comeToRest();
    }
    const open = this.#calls.openCalls().map((call) => call.id);
    const rehearsal: Rehearsal = { missed: this.#missed, end: this.#end, open };
    this.#decide({ kind: "fenced" });
    return rehearsal;
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

  #invoke(input: unknown): void {
    const context = workflowContext({
      claim: this.#claim,
      log: this.#log,
      abortSignal: this.#abort.signal,
      // What a replay says was said by an earlier hop; where there is no journal, nothing is a replay.
      isLive: () => this.#live || this.#journal.length === 0,
      now: () => this.#now,
      step: (name, run, options) => this.#step(name, run, options),
    });
    const body = async () => this.#workflow.run(context, input as never);
    standIn({ hop: this, step: undefined }, body).then(
      (output) => this.#decide({ kind: "returned", output }),
      (error: unknown) => this.#decide(failureOf(error)),
    );
  }

  /**
   * The first word stands, except that a fence or an unknown write overrules everything, and that code which came to its
   * end, or a refusal, overrules a hop that was about to be handed over.
   */
  #decide(end: HopEnd): void {
    const before = this.#end;
    const overrules = end.kind === "fenced" || end.kind === "unknown";
    if (before === undefined || overrules || (handsOver(before) && !handsOver(end))) this.#end = end;
    if (overrules) this.#mayWrite = false;
    // What the code left behind when it returned, or what a handover waits for, may end in peace.
    if (end.kind !== "returned" && !handsOver(end)) {
      this.#abort.abort(new DOMException("the run does not go on here", "AbortError"));
    }
    this.#wake.resolve();
  }

  async #replay(): Promise<void> {
    await comeToRest();
    for (const entry of this.#journal) {
      if (this.#stopsReplay()) return;
      const call = await this.#askedFor(entry);
      if (call === undefined) {
        const asked = this.#calls.openCalls().map((open) => describeCall(open.id));
        if (this.#stopsReplay()) return;
        this.#missed = { entry, asked };
        this.#end = refusal(
          "journal_mismatch",
          `journal entry ${entry.ordinal} is ${describeCall(entry)}, but the code ${
            asked.length === 0 ? "does not ask for it" : `asks for ${asked.join(", ").slice(0, 1_000)}`
          }: the workflow's code has changed or is not deterministic`,
        );
        return;
      }
      this.#resolve(call, entry.outcome, entry.text, entry.tries, entry.completedAt);
      await comeToRest();
    }
  }

  /** A refusal, a handover and a fence end a replay; code that has come to its end may still be asked for more. */
  #stopsReplay(): boolean {
    const end = this.#end;
    return this.#refused || (end !== undefined && end.kind !== "returned" && end.kind !== "failed");
  }

  /**
   * The open call that an entry answers. Code that waits for something outside of steps (an import, say) may ask a
   * little later than others; that is waited for within a bound.
   */
  async #askedFor(entry: LoadedEntry): Promise<OpenCall | undefined> {
    const started = this.#deps.clock.monotonicMs();
    for (;;) {
      const call = this.#calls.find(entry);
      if (call !== undefined) return call;
      if (
        this.#end !== undefined ||
        this.#deps.clock.monotonicMs() - started > this.#deps.settings.replayPatienceMs
      ) {
        return undefined;
      }
      await comeToRest();
    }
  }

  async #carryOn(): Promise<HopEnd> {
    for (;;) {
      const finished = this.#finished.shift();
      if (finished !== undefined) {
        await this.#keep(finished);
      } else if (this.#end !== undefined && this.#inFlight === 0) {
        return this.#end;
      } else {
        await this.#wake.promise;
        this.#wake = deferred();
      }
    }
  }

  /** Journals a finished step under the fence, then lets the code go on with it. */
  async #keep({ call, end, tookMs }: FinishedStep): Promise<void> {
    if (end.outcome === "stops") return this.#decide(end.end);
    if (end.outcome === "abandoned") return;
    if (!this.#mayWrite) {
      const failed = await this.#writer.reject(call.id, end);
      const error = failed === undefined ? undefined : describeFailure(failed).message.slice(0, 200);
      this.#log.warn("a step ended after its claim was gone; its result is rejected evidence", {
        step: call.id.name,
        error,
      });
      return;
    }
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
    if (outcome === "ok") call.result.resolve(value);
    else call.result.reject(new StepFailedError(call.id.name, tries, value as Failure));
  }

  #step(
    name: string,
    run: (context: StepContext) => unknown,
    options: StepOptions | undefined,
  ): Promise<unknown> {
    const inside = whereAmI()?.step;
    if (inside !== undefined) {
      // The function of the outer step gets an answer, so that it can end.
      this.#refused = true;
      const message = `ctx.step("${String(name).slice(0, 200)}") was called inside step "${inside}": call it in the workflow itself`;
      this.#decide(refusal("invalid_call", message, inside));
      return Promise.reject(new Error(message));
    }
    // Code that goes on after its workflow has returned or was refused asks for nothing any more.
    if (this.#end !== undefined) return deferred<never>().promise;
    const limitMs = this.#invocation.limitMs - this.#deps.settings.settleReserveMs;
    const resolved = resolveStep(name, run, options, limitMs);
    if (typeof resolved === "string") return this.#refuse(refusal("invalid_call", resolved));
    const id = this.#calls.next(0, "", "step", name);
    if (id === undefined) {
      return this.#refuse(
        refusal(
          "duplicate_call",
          `a call "${name}" is open already: give calls that run at the same time names of their own`,
        ),
      );
    }
    const call = this.#calls.open(id, resolved, () => this.#start(call, run));
    if (this.#live) call.start();
    this.#wake.resolve();
    return call.result.promise;
  }

  /** Ends the run by a refusal that user code cannot catch: its call never comes back. */
  #refuse(end: HopEnd): Promise<never> {
    this.#refused = true;
    this.#decide(end);
    return deferred<never>().promise;
  }

  #start(call: OpenCall, run: (context: StepContext) => unknown): void {
    if (this.#end !== undefined && this.#end.kind !== "returned") return;
    const { clock } = this.#deps;
    const { options } = call;
    const refused = whyNotNow(call.id.name, options.timeoutMs, this.#claim, this.#deps, this.#invocation);
    if (refused !== undefined) return this.#decide(refused);
    this.#inFlight += 1;
    const startedMs = clock.monotonicMs();
    const { claim, log, abort } = { claim: this.#claim, log: this.#log, abort: this.#abort };
    const step = {
      call: call.id,
      claim,
      run,
      options,
      hopSignal: abort.signal,
      log,
      effects: this.#effects,
      invocation: this.#invocation,
    };
    const carried = standIn({ hop: this, step: call.id.name }, () => liveStep(step, this.#deps));
    void carried.then((end) => {
      this.#inFlight -= 1;
      this.#finished.push({ call, end, tookMs: clock.monotonicMs() - startedMs });
      this.#wake.resolve();
    });
  }
}

function handsOver(end: HopEnd): boolean {
  return end.kind === "yielded" || end.kind === "given_back";
}

function failureOf(error: unknown): HopEnd {
  const failure = stepFailureIn(error);
  if (failure === undefined)
    return { kind: "failed", failure: { code: "workflow_failed", ...describeFailure(error) } };
  const { name, message } = describeFailure(error);
  return { kind: "failed", failure: { code: "step_failed", name, message, ...failure } };
}

/** The step and stack of a StepFailedError; user code may throw anything, also what throws when it is looked at. */
function stepFailureIn(error: unknown): { step: string; stack?: string } | undefined {
  try {
    if (!(error instanceof StepFailedError)) return undefined;
    const stack = error.failure.stack;
    return { step: String(error.step), ...(typeof stack === "string" ? { stack } : {}) };
  } catch {
    return undefined;
  }
}
