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
import { refusal, type HopEnd } from "./hop-end.ts";
import { JournalWriter } from "./journal-writer.ts";
import { liveStep, whyNotNow } from "./live-step.ts";
import type { LoadedEntry } from "./loaded-journal.ts";
import { comeToRest, deferred } from "./rest.ts";
import { resolveStep, type ResolvedStepOptions } from "./step-options.ts";
import type { StepEnd } from "./step-run.ts";
import { workflowContext } from "./workflow-context.ts";

interface FinishedStep {
  readonly call: OpenCall;
  readonly end: StepEnd;
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
  #wake = deferred<void>();

  constructor(
    claim: ClaimedRun,
    workflow: AnyWorkflow,
    journal: readonly LoadedEntry[],
    deps: ExecutionDeps,
    invocation: Invocation,
  ) {
    this.#claim = claim;
    this.#workflow = workflow;
    this.#journal = journal;
    this.#deps = deps;
    this.#invocation = invocation;
    this.#log = deps.logFor(claim);
    this.#now = claim.admittedAt;
    this.#writer = new JournalWriter(claim, deps);
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

  #invoke(input: unknown): void {
    const context = workflowContext({
      claim: this.#claim,
      log: this.#log,
      abortSignal: this.#abort.signal,
      isLive: () => this.#live,
      now: () => this.#now,
      step: (name, run, options) => this.#step(name, run, options),
    });
    const body = async () => this.#workflow.run(context, input as never);
    body().then(
      (output) => this.#decide({ kind: "returned", output }),
      (error: unknown) => this.#decide(failureOf(error)),
    );
  }

  /** The first word stands, except that a fence or an unknown write overrules what the code returned. */
  #decide(end: HopEnd): void {
    const overrules = end.kind === "fenced" || end.kind === "unknown";
    if (this.#end === undefined || overrules) this.#end = end;
    if (overrules) this.#mayWrite = false;
    // What the code left behind when it returned may end in peace; everything else is asked to stop.
    if (end.kind !== "returned")
      this.#abort.abort(new DOMException("the run does not go on here", "AbortError"));
    this.#wake.resolve();
  }

  async #replay(): Promise<void> {
    await comeToRest();
    for (const entry of this.#journal) {
      if (this.#refused) return;
      const call = await this.#askedFor(entry);
      if (call === undefined) {
        const asked = this.#calls.openCalls().map((open) => describeCall(open.id));
        if (this.#refused) return;
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
    if (end.outcome === "abandoned" || !this.#mayWrite) {
      this.#log.warn("a step ended after its hop; its outcome is not journaled", { step: call.id.name });
      return;
    }
    const answer = await this.#writer.write(call.id, end, tookMs);
    if (!answer.written) return this.#decide(answer.end);
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
    // Code that goes on after its workflow has returned or was refused asks for nothing any more.
    if (this.#end !== undefined) return deferred<never>().promise;
    const resolved = resolveStep(name, run, options, this.#invocation.limitMs);
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
    const call = this.#calls.open(id, () => this.#start(call, run, resolved));
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

  #start(call: OpenCall, run: (context: StepContext) => unknown, options: ResolvedStepOptions): void {
    if (this.#end !== undefined && this.#end.kind !== "returned") return;
    const { clock } = this.#deps;
    const refused = whyNotNow(call.id.name, options.timeoutMs, this.#claim, this.#deps, this.#invocation);
    if (refused !== undefined) return this.#decide(refused);
    this.#inFlight += 1;
    const startedMs = clock.monotonicMs();
    const { claim, log, abort } = { claim: this.#claim, log: this.#log, abort: this.#abort };
    void liveStep({ call: call.id, claim, run, options, hopSignal: abort.signal, log }, this.#deps).then(
      (end) => {
        this.#inFlight -= 1;
        this.#finished.push({ call, end, tookMs: clock.monotonicMs() - startedMs });
        this.#wake.resolve();
      },
    );
  }
}

function failureOf(error: unknown): HopEnd {
  if (error instanceof StepFailedError) {
    return { kind: "failed", failure: { code: "step_failed", ...describeFailure(error), step: error.step } };
  }
  return { kind: "failed", failure: { code: "workflow_failed", ...describeFailure(error) } };
}
