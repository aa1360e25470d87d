import type * as z from "zod";
import type { Duration } from "./duration.ts";
import type { Jsonified } from "./json.ts";
import type { Backoff } from "./retry.ts";
import type { Logger } from "./ports.ts";

/** What a step function gets. */
export interface StepContext {
  /** The same for every try, hop and loss of this call. */
  readonly idempotencyKey: string;
  /** 1 for the first try. */
  readonly tryNumber: number;
  /** Fires at the step's timeout and when the run is taken away from this worker. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** What a probe found out about an effect whose outcome was not known. */
export type ProbeAnswer<T = unknown> =
  | { readonly outcome: "happened"; readonly result: T }
  /** It has not happened, and the earlier call cannot make it happen any more. Only this repeats the call. */
  | { readonly outcome: "cannot_happen" }
  | { readonly outcome: "unknown" };

/** What a probe gets: the key under which the effect was asked for. */
export type ProbeContext = Pick<StepContext, "idempotencyKey" | "signal" | "log">;

export interface StepOptions<T = unknown> {
  /** How often the function may be called at most; 1 by default, because a repeated effect is the author's decision. */
  readonly tries?: number;
  readonly backoff?: Backoff;
  /** After it the step's signal fires and the try counts as failed once the function has ended; "60s" by default. */
  readonly timeout?: Duration;
  /**
   * "once": the intent is committed before the call, and a call whose outcome is unknown is never repeated. A throw is an
   * unknown outcome, unless it is `notDone(error)`, which alone may be tried again.
   */
  readonly effect?: "once";
  /** Looks an effect of unknown outcome up, in a later hop. Without it only an operator can settle one. */
  readonly probe?: (context: ProbeContext) => ProbeAnswer<T> | Promise<ProbeAnswer<T>>;
}

/** Handed to a workflow. Everything here is the same after a replay. */
export interface WorkflowContext {
  readonly runId: string;
  /** The agent that was chosen at admission, if any. */
  readonly agent: string | null;
  /** Subject that asked for the run. */
  readonly requestedBy: string;
  /** When the run must have ended, if its workflow has a deadline. */
  readonly deadline: Date | undefined;
  /** Fires when the run is taken away from this worker. */
  readonly abortSignal: AbortSignal;
  readonly log: Logger;
  /**
   * Runs a function once its result is not in the journal yet, and journals the result before the code goes on.
   * @throws StepFailedError after the last try, catchable and the same after a replay
   */
  step<T>(
    name: string,
    run: (context: StepContext) => T | Promise<T>,
    options?: StepOptions<T>,
  ): Promise<Jsonified<T>>;
  /** Completion time of the last resolved journal entry, or the run's admission. */
  now(): Date;
  /** In [0, 1), from the run's own stream. */
  random(): number;
  /** A version 4 UUID from the run's own stream. */
  uuid(): string;
}

/** What becomes of a run whose worker was lost: "resume" is the author's word that steps may be repeated. */
export type OnWorkerLoss = "resume" | "fail";

export interface WorkflowDefinition<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly version: number;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly queue: string | undefined;
  readonly deadlineMs: number | undefined;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output> | undefined;
  /** The module that defines it, as a file URL or path; from it the digest is computed. */
  readonly module: string | undefined;
  run(context: WorkflowContext, input: Input): Promise<Output>;
}

/** A workflow of any types; what registries and the engine hold. */
export type AnyWorkflow = Omit<WorkflowDefinition, "run" | "input" | "output"> & {
  readonly input: z.ZodType;
  readonly output: z.ZodType | undefined;
  run(context: WorkflowContext, input: never): Promise<unknown>;
};

/** A workflow with its digest, as the engine knows it. */
export interface RegisteredWorkflow {
  readonly definition: AnyWorkflow;
  readonly digest: string;
}
