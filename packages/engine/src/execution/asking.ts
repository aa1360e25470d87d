import type {
  AnyService,
  CallKind,
  ConsentOptions,
  DelegateOptions,
  Duration,
  SignalOptions,
  StepContext,
  StepOptions,
  Transaction,
  TransactionOptions,
} from "@ghouls/core";
import type { Calls, OpenCall } from "./calls.ts";
import { whereAmI } from "./current-hop.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { understandJob, type Services } from "./job-options.ts";
import { guardAgainstRace } from "./race-guard.ts";
import { deferred } from "./rest.ts";
import { resolveStep, type ResolvedStepOptions } from "./step-options.ts";
import { resolveTransaction } from "./transaction-options.ts";
import {
  understandConsent,
  understandSignal,
  understandSleep,
  type Understood,
  type Wait,
} from "./wait-options.ts";

/** What the calls of a workflow's code need of their hop. */
export interface Asked {
  readonly epoch: number;
  /** The longest that a step may take in an invocation of this function, in milliseconds. */
  readonly stepLimitMs: number;
  /** The longest that a transaction may take, in milliseconds. */
  readonly transactionLimitMs: number;
  /** Names of the decision sources of the configuration. */
  readonly sources: readonly string[];
  readonly services: Services;
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
    return this.#wait("consent", () => understandConsent(title, options, this.#hop.sources, requestedBy));
  }

  delegate(
    name: string,
    service: AnyService,
    request: unknown,
    options: DelegateOptions | undefined,
  ): Promise<unknown> {
    return this.#wait("delegate", () => understandJob(name, service, request, options, this.#hop.services));
  }

  sleep(until: Duration | Date, options: { readonly name?: string } | undefined): Promise<unknown> {
    return this.#wait("sleep", () => understandSleep(until, options, this.#hop.now()));
  }

  signal(name: string, options: SignalOptions | undefined): Promise<unknown> {
    return this.#wait("signal", () => understandSignal(name, options, this.#hop.now()));
  }

  /** Ends the run before its code asks for anything. */
  refuseAll(end: HopEnd): void {
    this.#hop.refuse(end);
  }

  /** The code after it is not run; what is in flight ends first. */
  restart(input: unknown): Promise<never> {
    const inside = this.#insideOf("restart", "");
    if (inside !== undefined) return inside;
    this.#hop.decide({ kind: "restarted", input });
    return deferred<never>().promise;
  }

  #wait(kind: CallKind, understand: () => Understood): Promise<unknown> {
    const promise = this.#ask(kind, kind, understand);
    return guardAgainstRace(promise, (how) => {
      const message = `${how} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, … })`;
      void this.#refuse(refusal("invalid_call", message));
    });
  }

  #ask(kind: CallKind, what: string, understand: () => Call | string): Promise<unknown> {
    const inside = this.#insideOf(kind, String(what));
    if (inside !== undefined) return inside;
    // Code that goes on after its workflow has returned or was refused asks for nothing any more.
    if (this.#hop.hasEnded()) {
      this.#hop.askedLate();
      return deferred<never>().promise;
    }
    const asked = understand();
    if (typeof asked === "string") return this.#refuse(refusal("invalid_call", asked));
    const id = this.#hop.calls.next(this.#hop.epoch, "", kind, asked.name);
    if (id === undefined) {
      return this.#refuse(
        refusal(
          "duplicate_call",
          `a call "${asked.name}" is open already: give calls that run at the same time names of their own`,
        ),
      );
    }
    const call: OpenCall = this.#hop.calls.open(
      id,
      "step" in asked
        ? { step: asked.step, wait: undefined, start: () => this.#hop.start(call, asked.run) }
        : { step: undefined, wait: asked.wait, start: () => undefined },
    );
    this.#hop.opened(call);
    return call.result.promise;
  }

  /** Refuses a call inside of a step's function, which gets an answer, so that it can end. */
  #insideOf(kind: CallKind | "restart", name: string): Promise<never> | undefined {
    const inside = whereAmI()?.step;
    if (inside === undefined) return undefined;
    const call = kind === "step" ? `ctx.step("${name.slice(0, 200)}")` : `ctx.${WRITTEN[kind]}`;
    const message = `${call} was called inside step "${inside}": call it in the workflow itself`;
    this.#hop.refuse(refusal("invalid_call", message, inside));
    return Promise.reject(new Error(message));
  }

  /** Ends the run by a refusal that user code cannot catch: its call never comes back. */
  #refuse(end: HopEnd): Promise<never> {
    this.#hop.refuse(end);
    return deferred<never>().promise;
  }
}

/** How a call is written. */
const WRITTEN: Readonly<Record<Exclude<CallKind, "step"> | "restart", string>> = {
  transaction: "transaction",
  consent: "consent",
  delegate: "delegate",
  sleep: "sleep",
  signal: "waitForSignal",
  restart: "restart",
};
