import type { StepContext, Transaction } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import { standIn, type Standing } from "./current-hop.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Effects } from "./effects.ts";
import type { HopEnd } from "./hop-end.ts";
import { liveStep, whyNotNow } from "./live-step.ts";
import type { ResolvedStepOptions } from "./step-options.ts";
import type { NextTries } from "./next-tries.ts";
import type { OnceEnd } from "./once-step.ts";
import { commitTransaction, type Sealed } from "./transaction-commit.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { Turn } from "./reserve-options.ts";
import { runTransaction, type TransactionEnd } from "./transaction-run.ts";

/** What became of a call that was carried out: a step's end, or that it stands in its wait from now on; or whose turn it is. */
export type CallEnd = OnceEnd | TransactionEnd | ToCommit | { readonly outcome: "stands" } | Turn;

/** A call that was carried out, such as a step whose function has returned or thrown. */
export interface FinishedCall {
  readonly call: OpenCall;
  readonly end: CallEnd;
  readonly tookMs: number;
}

/** A transaction whose function has returned: it is in flight until it was committed, and called again where it was not. */
export interface ToCommit {
  readonly outcome: "commits";
  /** Without a writer where nothing may be written any more. Never rejects. */
  readonly commit: (writer: JournalWriter | undefined) => Promise<Sealed>;
}

type Run = (context: never) => unknown;

interface InFlightOptions {
  readonly claim: ClaimedRun;
  readonly deps: ExecutionDeps;
  readonly invocation: Invocation;
  readonly effects: Effects;
  readonly nextTries: NextTries;
  /** Fires when the run does not go on here. */
  readonly hopSignal: AbortSignal;
  /** Whether the run goes on in another hop. */
  readonly handsOver: () => boolean;
  /** Called when a step has ended. */
  readonly ended: () => void;
}

/** The steps of a hop whose functions are running, and those that have ended and are not journaled yet. */
export class InFlight {
  readonly #hop: Standing["hop"];
  readonly #options: InFlightOptions;
  readonly #finished: FinishedCall[] = [];
  #running = 0;

  constructor(hop: Standing["hop"], options: InFlightOptions) {
    this.#hop = hop;
    this.#options = options;
  }

  /** Answers how the hop ends where the step cannot be run in what is left of the invocation. */
  start(call: OpenCall, run: Run): HopEnd | undefined {
    const { claim, deps, invocation, nextTries } = this.#options;
    const options = call.step;
    if (options === undefined) return undefined;
    const triesBefore = nextTries.before(call);
    if (triesBefore === undefined) return undefined;
    const refused = whyNotNow(call.id.name, options.timeoutMs, claim, deps, invocation);
    if (refused !== undefined) return refused;
    call.wait = undefined;
    const startedMs = deps.clock.monotonicMs();
    const where = { hop: this.#hop, scope: call.id.scope, step: call.id.name, held: undefined };
    this.track(
      call,
      standIn(where, () =>
        call.id.kind === "transaction"
          ? this.#transaction(call, options, run, startedMs)
          : this.#step(call, options, run, triesBefore),
      ),
    );
    return undefined;
  }

  /** The hop goes on, and ends, only when this has. It is not to reject. */
  track(call: OpenCall, work: Promise<CallEnd>): void {
    const { deps, ended } = this.#options;
    this.#running += 1;
    const startedMs = deps.clock.monotonicMs();
    void work.then((end) => {
      this.#running -= 1;
      this.#finished.push({ call, end, tookMs: deps.clock.monotonicMs() - startedMs });
      ended();
    });
  }

  #step(call: OpenCall, options: ResolvedStepOptions, run: Run, triesBefore: number): Promise<OnceEnd> {
    const { claim, deps, invocation, effects, hopSignal, handsOver } = this.#options;
    const log = deps.logFor(claim);
    const step = {
      call: call.id,
      claim,
      options,
      hopSignal,
      log,
      effects,
      triesBefore,
      invocation,
      handsOver,
    };
    return liveStep({ ...step, run: run as (context: StepContext) => unknown }, deps);
  }

  #transaction(
    call: OpenCall,
    options: ResolvedStepOptions,
    run: Run,
    startedMs: number,
  ): Promise<TransactionEnd> {
    const { claim, deps, invocation, hopSignal, ended } = this.#options;
    return runTransaction(
      {
        call: call.id,
        claim,
        run: run as (tx: Transaction) => unknown,
        options,
        hopSignal,
        log: deps.logFor(claim),
        invocation,
        commit: (what) =>
          new Promise((resolve) => {
            const tookMs = deps.clock.monotonicMs() - startedMs;
            const commit = async (writer: JournalWriter | undefined) => {
              const sealed: Sealed =
                writer === undefined
                  ? { kind: "stops", end: { kind: "fenced" } }
                  : await commitTransaction({ ...what, tookMs }, writer, deps);
              resolve(sealed);
              return sealed;
            };
            this.#finished.push({ call, end: { outcome: "commits", commit }, tookMs });
            ended();
          }),
      },
      deps,
    );
  }

  takeFinished(): FinishedCall | undefined {
    return this.#finished.shift();
  }

  hasFinished(): boolean {
    return this.#finished.length > 0;
  }

  /** Whether no function runs, and what has ended was taken. */
  isEmpty(): boolean {
    return this.#running === 0 && !this.hasFinished();
  }
}
