import type { StepContext } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import { standIn, type Standing } from "./current-hop.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Effects } from "./effects.ts";
import type { HopEnd } from "./hop-end.ts";
import { liveStep, whyNotNow } from "./live-step.ts";
import type { NextTries } from "./next-tries.ts";
import type { OnceEnd } from "./once-step.ts";
import type { Turn } from "./reserve-options.ts";

/** What became of a call that was carried out: a step's end, or that it stands in its wait from now on; or whose turn it is. */
export type CallEnd = OnceEnd | { readonly outcome: "stands" } | Turn;

/** A call that was carried out, such as a step whose function has returned or thrown. */
export interface FinishedCall {
  readonly call: OpenCall;
  readonly end: CallEnd;
  readonly tookMs: number;
}

interface InFlightOptions {
  readonly claim: ClaimedRun;
  readonly deps: ExecutionDeps;
  readonly invocation: Invocation;
  readonly effects: Effects;
  readonly nextTries: NextTries;
  /** Fires when the run does not go on here. */
  readonly hopSignal: AbortSignal;
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
  start(call: OpenCall, run: (context: StepContext) => unknown): HopEnd | undefined {
    const { claim, deps, invocation, effects, nextTries, hopSignal } = this.#options;
    const options = call.step;
    if (options === undefined) return undefined;
    const triesBefore = nextTries.before(call);
    if (triesBefore === undefined) return undefined;
    const refused = whyNotNow(call.id.name, options.timeoutMs, claim, deps, invocation);
    if (refused !== undefined) return refused;
    call.wait = undefined;
    const log = deps.logFor(claim);
    const step = { call: call.id, claim, run, options, hopSignal, log, effects, triesBefore, invocation };
    const where = { hop: this.#hop, scope: call.id.scope, step: call.id.name, held: undefined };
    this.track(
      call,
      standIn(where, () => liveStep(step, deps)),
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
