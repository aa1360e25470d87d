import {
  RandomStream,
  StepFailedError,
  describeCall,
  describeFailure,
  idempotencyKeyOf,
  serialize,
  sha256,
  UnserializableError,
  type AnyWorkflow,
  type Failure,
  type Jsonified,
  type Logger,
  type StepContext,
  type StepOptions,
  type WorkflowContext,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { Calls, type OpenCall } from "./calls.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { LoadedEntry } from "./loaded-journal.ts";
import { comeToRest, deferred } from "./rest.ts";
import { resolveStep, type ResolvedStepOptions } from "./step-options.ts";
import { runStep, type StepEnd } from "./step-run.ts";

/** Largest journal of a run, in bytes of its stored results. */
export const MAX_JOURNAL_BYTES = 32 * 1_048_576;

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
  readonly #abort = new AbortController();
  readonly #calls = new Calls();
  readonly #finished: FinishedStep[] = [];
  #now: Date;
  #live = false;
  #inFlight = 0;
  #journalBytes: number;
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
    this.#journalBytes = claim.journalBytes;
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
    const body = async () => this.#workflow.run(this.#context(), input as never);
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
    const written = await this.#write(call, end, tookMs);
    if (written === undefined) return;
    this.#resolve(call, end.outcome, written.text ?? null, end.tries, written.completedAt);
    await comeToRest();
  }

  async #write(
    call: OpenCall,
    end: Exclude<StepEnd, { outcome: "abandoned" }>,
    tookMs: number,
  ): Promise<{ text: string | undefined; completedAt: Date } | undefined> {
    try {
      const text = serialize(end.outcome === "ok" ? end.value : end.failure);
      const { tenantId, runId } = this.#claim;
      const stored =
        text === undefined ? null : await this.#deps.codec.encode(text, { tenantId, runId, kind: "result" });
      const bytes = stored === null ? 0 : Buffer.byteLength(stored);
      if (this.#journalBytes + bytes > MAX_JOURNAL_BYTES) {
        throw new UnserializableError(
          "too_large",
          `it would bring the run's journal above ${MAX_JOURNAL_BYTES} bytes`,
        );
      }
      const entry = await this.#deps.ledger.journal.appendIfClaimed(this.#claim, {
        ...call.id,
        outcome: end.outcome,
        resultText: stored,
        resultDigest: stored === null ? null : sha256(stored),
        resultBytes: bytes,
        tries: end.tries,
        tookMs,
      });
      if (entry === null) {
        this.#decide({ kind: "fenced" });
        return undefined;
      }
      this.#journalBytes += bytes;
      await this.#deps.faults("worker.after-journal", call.id.name);
      return { text, completedAt: entry.completedAt };
    } catch (error) {
      this.#decide(
        error instanceof UnserializableError
          ? refusal(error.reason, `the result of step "${call.id.name}": ${error.message}`, call.id.name)
          : { kind: "unknown", error },
      );
      return undefined;
    }
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
    const { claim, deps } = { claim: this.#claim, deps: this.#deps };
    const elapsedMs = deps.clock.monotonicMs() - this.#invocation.claimedAtMs;
    if (claim.deadlineAt !== null && claim.claimedAt.getTime() + elapsedMs >= claim.deadlineAt.getTime()) {
      return this.#decide(
        refusal("deadline", `the run's deadline has passed before step "${call.id.name}"`, call.id.name),
      );
    }
    const remainingMs = this.#invocation.remainingMs();
    if (options.timeoutMs > remainingMs - deps.settings.settleReserveMs) {
      return this.#decide(
        refusal(
          "out_of_time",
          `step "${call.id.name}" may take ${options.timeoutMs} ms, but only ${Math.floor(remainingMs)} ms remain of this invocation, and a run cannot move to another one yet`,
          call.id.name,
        ),
      );
    }
    this.#inFlight += 1;
    const startedMs = deps.clock.monotonicMs();
    void this.#carryOut(call, run, options).then((end) => {
      this.#inFlight -= 1;
      this.#finished.push({ call, end, tookMs: deps.clock.monotonicMs() - startedMs });
      this.#wake.resolve();
    });
  }

  async #carryOut(
    call: OpenCall,
    run: (context: StepContext) => unknown,
    options: ResolvedStepOptions,
  ): Promise<StepEnd> {
    const { faults, settings, chance, ledger } = this.#deps;
    try {
      await faults("worker.before-step", call.id.name);
      const end = await runStep({
        name: call.id.name,
        idempotencyKey: idempotencyKeyOf(this.#claim.firstRunId, call.id),
        options,
        run,
        hopSignal: this.#abort.signal,
        log: this.#log,
        chance,
        overdueAfterMs: settings.overdueAfterMs,
        onOverdue: () => {
          ledger.runs
            .raiseAttention(this.#claim, `step_overdue: ${call.id.name}`)
            .catch((error: unknown) =>
              this.#log.warn("attention could not be raised", { error: String(error).slice(0, 200) }),
            );
        },
      });
      await faults("worker.after-step", call.id.name);
      return end;
    } catch (error) {
      return { outcome: "error", failure: describeFailure(error), tries: 1 };
    }
  }

  #context(): WorkflowContext {
    const { runId, agent, requestedBy, deadlineAt } = this.#claim;
    const stream = new RandomStream(runId, 0, "");
    return {
      runId,
      agent,
      requestedBy,
      deadline: deadlineAt ?? undefined,
      abortSignal: this.#abort.signal,
      log: whileLive(this.#log, () => this.#live),
      step: <T>(name: string, run: (context: StepContext) => T | Promise<T>, options?: StepOptions) =>
        this.#step(name, run, options) as Promise<Jsonified<T>>,
      now: () => new Date(this.#now),
      random: () => stream.random(),
      uuid: () => stream.uuid(),
    };
  }
}

function failureOf(error: unknown): HopEnd {
  if (error instanceof StepFailedError) {
    return { kind: "failed", failure: { code: "step_failed", ...describeFailure(error), step: error.step } };
  }
  return { kind: "failed", failure: { code: "workflow_failed", ...describeFailure(error) } };
}

/** What a replay says again was said before. */
function whileLive(log: Logger, isLive: () => boolean): Logger {
  const only =
    (level: keyof Logger): Logger["info"] =>
    (message, fields) => {
      if (isLive()) log[level](message, fields);
    };
  return { debug: only("debug"), info: only("info"), warn: only("warn"), error: only("error") };
}
