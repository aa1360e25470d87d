import type * as z from "zod";
import type { Duration } from "./duration.ts";
import type { Authority, Grant, RequiredAuthority, ResourceDefinition } from "./holdings.ts";
import type { Jsonified } from "./json.ts";
import type { Backoff } from "./retry.ts";
import type { RunLogger } from "./logging.ts";
import type { Service } from "./services.ts";
import type { Transaction, TransactionOptions } from "./transaction.ts";
import type {
  ChildOptions,
  ChildResult,
  ConsentOptions,
  ConsentResult,
  DelegateOptions,
  DelegateResult,
  ReserveOptions,
  ReserveResult,
  SignalOptions,
  SignalResult,
} from "./waits.ts";

/** What a step function gets. */
export interface StepContext {
  /** The same for every try, hop and loss of this call. */
  readonly idempotencyKey: string;
  /** 1 for the first try. */
  readonly tryNumber: number;
  /** Fires at the step's timeout and when the run is taken away from this worker. */
  readonly signal: AbortSignal;
  readonly log: RunLogger;
}

/** What a probe found out about an effect whose outcome was not known. */
export type ProbeAnswer<T = unknown> =
  | { readonly outcome: "happened"; readonly result: T }
  /** It has not happened, and the earlier call cannot make it happen any more. Only this repeats the call. */
  | { readonly outcome: "cannot_happen" }
  | { readonly outcome: "unknown" };

/** What a probe gets: the key under which the effect was asked for. */
export type ProbeContext = Pick<StepContext, "idempotencyKey" | "signal" | "log">;

/** What an undo gets: a key of its own, the same for every time that it is called, and what is known of its step. */
export interface UndoContext<T = unknown> extends ProbeContext {
  /** The key that its step had. */
  readonly stepIdempotencyKey: string;
  /**
   * "happened" with the step's result; "failed" where its function threw for good, which does not say that nothing of it has
   * happened; "unknown" where its worker was lost, or nobody knows.
   */
  readonly outcome: "happened" | "failed" | "unknown";
  readonly result: Jsonified<T> | undefined;
}

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
  /**
   * Undoes the step where the run fails or is cancelled after it has started, in the reverse order of the starts, once nothing
   * else of the run can act. The start is committed before the call. It may be called more than once, under one key; a throw
   * means that it is to be tried again, and after some tries a person is asked.
   */
  readonly undo?: (context: UndoContext<T>) => unknown;
}

export interface MapOptions {
  /** Items that are carried at the same time, from 1 to 1,000; 10 by default. */
  readonly concurrency?: number;
}

/** The resources of a workflow that has none. */
export type NoResources = Readonly<Record<never, never>>;

/**
 * Handed to a workflow. Everything here is the same after a replay, except what its hop holds: grants and resources are for
 * the functions of steps.
 */
export interface WorkflowContext<Resources extends object = NoResources, GrantName extends string = string> {
  /** A redrive of the run has another: inputs of steps that name it differ there. */
  readonly runId: string;
  /** The agent that was chosen at admission, if any. */
  readonly agent: string | null;
  /** Subject that asked for the run. */
  readonly requestedBy: string;
  /** In whose name the run acts, as it was recorded at admission. */
  readonly authority: Authority;
  /**
   * A capability that this hop holds, of those that the workflow lists in `grants`. No step starts once it has expired: the
   * run goes on in another hop then, which takes it anew. A step that has started is not stopped.
   * @throws NonRetryableError for one that is not listed
   */
  grant(name: GrantName): Grant;
  /** What the workflow's `resources` have built for this hop. */
  readonly resources: Readonly<Resources>;
  /** When the run must have ended, if its workflow has a deadline. */
  readonly deadline: Date | undefined;
  /** Fires when the run is taken away from this worker. */
  readonly abortSignal: AbortSignal;
  readonly log: RunLogger;
  /**
   * Runs a function once its result is not in the journal yet, and journals the result before the code goes on.
   * @throws StepFailedError after the last try, catchable and the same after a replay
   */
  step<T>(
    name: string,
    run: (context: StepContext) => T | Promise<T>,
    options?: StepOptions<T>,
  ): Promise<Jsonified<T>>;
  /**
   * Runs a function whose statements commit together with its result in the journal: both, or neither. The tables are
   * in the ledger's own database. The function may be called again where nothing of it was committed, so what it does
   * beside its statements may happen twice.
   * @throws StepFailedError after the last try, catchable and the same after a replay
   */
  transaction<T>(
    name: string,
    run: (tx: Transaction) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<Jsonified<T>>;
  /**
   * Asks people for their consent, and parks the run until they have decided or its time is over. The request is frozen:
   * who decides names the digest that was shown.
   */
  consent(title: string, options: ConsentOptions): Promise<ConsentResult>;
  /**
   * Has another service do a job, and parks the run until that has ended. It is submitted once it is known in the ledger,
   * and under one key for its life: where nobody knows whether it runs it is looked up, never launched again.
   * @param service one of the configuration's `services`
   */
  delegate<Request, Result>(
    name: string,
    service: Service<Request, Result>,
    request: Request,
    options?: DelegateOptions,
  ): Promise<DelegateResult<Result>>;
  /**
   * Starts another run, at once, and parks this one until that has ended. It is the same run for every hop and loss, under
   * the authority of this one.
   * @param workflow one of the configuration's `workflows`
   */
  child<Input, Output, Asked>(
    workflow: WorkflowDefinition<Input, Output, Asked>,
    input: Asked,
    options?: ChildOptions,
  ): Promise<ChildResult<Jsonified<Output>>>;
  /**
   * Parks the run for this long, or until this moment. Two sleeps of the same length at the same time need names.
   * @param until a duration such as "3d", counted from `ctx.now()`
   */
  sleep(until: Duration | Date, options?: { readonly name?: string }): Promise<void>;
  /** Parks the run until a signal of this name has come. One that came early is kept, and taken at once. */
  waitForSignal<T = unknown>(name: string, options?: SignalOptions<T>): Promise<SignalResult<T>>;
  /**
   * Runs a function for each item, and answers the results in the order of the items. Each item is a scope of its own, in
   * which the calls of the function have their names for themselves: a map of 1,000 items makes 1,000 steps of one name.
   * The first item that throws is what it throws, at once; no further one begins, and those that have begun go on.
   * @param items at most 10,000, the same in every replay
   */
  map<Item, Result>(
    name: string,
    items: readonly Item[],
    run: (item: Item, index: number) => Result | Promise<Result>,
    options?: MapOptions,
  ): Promise<Result[]>;
  /**
   * Runs a function while this run holds units of a capacity of the configuration, and gives them back when it has ended.
   * Whoever asks first gets them first; the run stays with its worker while it waits, so a wait of days is not for it: inside
   * of the function the run cannot park, and a consent, delegate, child, sleep or signal there is refused. A run that goes on
   * elsewhere takes them again before the function does anything more. Of a worker that is lost they come back when nothing
   * of it can still act. Two runs that each hold what the other asks for end by `wait`: reserve in the same order everywhere.
   * What the function throws is thrown. Its calls have their names for themselves, as in an item of a map.
   */
  reserve<Result>(
    capacity: string,
    options: ReserveOptions,
    run: () => Result | Promise<Result>,
  ): Promise<ReserveResult<Result>>;
  /**
   * The first of several waits. The others stay open: what closes of them later is journaled, and closed at the latest
   * with the run. Promise.race over waits is refused, because a replay must find the same winner.
   */
  first<W extends Readonly<Record<string, Promise<unknown>>>>(
    waits: W,
  ): Promise<{ [K in keyof W]: { readonly winner: K; readonly value: Awaited<W[K]> } }[keyof W]>;
  /**
   * Continues as new: the run goes on with this input and an empty journal. What comes after it in the code is not run;
   * waits that stand open are closed.
   */
  restart(input: unknown): Promise<never>;
  /** Completion time of the last resolved journal entry, or the run's admission: in a redrive, those of the run that it redrives. */
  now(): Date;
  /**
   * Says something to whoever looks on just now, such as a model's tokens; to be called in the workflow and inside of its
   * steps. It is live only: never journaled, not said again by a replay, gone with the hop or the worker, and nothing waits
   * for it or fails by it. A chunk above 16 KiB is dropped. What is done again says it again: a
   * step that is tried once more, or what the next hop repeats because the one before had not journaled it.
   * Whoever comes a little later is told of it as well: the live channel keeps it for a day, by default.
   * @param channel a name of 1 to 200 characters
   */
  stream(channel: string, chunk: string): void;
  /**
   * Tells those who look on that something has happened, with data that is JSON of 16 KiB at most; also inside a step. Best
   * effort: it is not journaled, no replay says it again, and what is done again says it again. A copy is kept with those of
   * the steps.
   */
  emit(name: string, data?: unknown): void;
  /** In [0, 1), from the run's own stream. */
  random(): number;
  /** A version 4 UUID from the run's own stream. */
  uuid(): string;
}

/** What becomes of a run whose worker was lost: "resume" is the author's word that steps may be repeated. */
export type OnWorkerLoss = "resume" | "fail";

/** `Asked` is what is sent to be its input: before defaults and transformations of the schema. */
export interface WorkflowDefinition<
  Input = unknown,
  Output = unknown,
  Asked = Input,
  Name extends string = string,
> {
  readonly name: Name;
  readonly version: number;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly queue: string | undefined;
  readonly deadlineMs: number | undefined;
  readonly input: z.ZodType<Input, Asked>;
  readonly output: z.ZodType<Output> | undefined;
  /** The module that defines it, as a file URL or path; from it the digest is computed. */
  readonly module: string | undefined;
  /** Digests of earlier code whose runs this code carries on. */
  readonly accepts: readonly string[];
  /** What is asked of the recorded authority on every hop; nothing where undefined. */
  readonly authority: RequiredAuthority | undefined;
  /** Names of the capabilities that each hop holds. */
  readonly grants: readonly string[];
  /** What is built for each hop, by name, in this order. */
  readonly resources: Readonly<Record<string, ResourceDefinition>>;
  run(context: WorkflowContext, input: Input): Promise<Output>;
}

/** A workflow of any types; what registries and the engine hold. */
export type AnyWorkflow = Omit<WorkflowDefinition, "run" | "input" | "output"> & {
  readonly input: z.ZodType;
  readonly output: z.ZodType | undefined;
  run(context: WorkflowContext, input: never): Promise<unknown>;
};

/** `<name>@<version>`: how a workflow stands in a digest manifest, and in a release. */
export function workflowKey({ name, version }: { readonly name: string; readonly version: number }): string {
  return `${name}@${version}`;
}

/** A workflow with its digest, as the engine knows it. */
export interface RegisteredWorkflow {
  readonly definition: AnyWorkflow;
  readonly digest: string;
}
