import {
  MAX_JOURNAL_BYTES,
  NonRetryableError,
  RandomStream,
  runLogger,
  type AnyWorkflow,
  type ChildOptions,
  type ChildResult,
  type ConsentResult,
  type DelegateOptions,
  type DelegateResult,
  type Grant,
  type Jsonified,
  type Logger,
  type MapOptions,
  type ReserveOptions,
  type ReserveResult,
  type RunLogger,
  type Service,
  type SignalOptions,
  type SignalResult,
  type StepContext,
  type StepOptions,
  type Transaction,
  type TransactionOptions,
  type WorkflowContext,
  type WorkflowDefinition,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { Asking } from "./asking.ts";
import { whereAmI } from "./current-hop.ts";
import type { Held } from "./holdings.ts";
import { refusal } from "./hop-end.ts";

/** What the context asks of the hop behind it. */
export interface ContextSource {
  readonly claim: ClaimedRun;
  readonly held: Held;
  readonly log: Logger;
  readonly abortSignal: AbortSignal;
  /** Whether what the code says was not said by an earlier hop. */
  isNew(): boolean;
  /** Completion time of the last resolved entry. */
  now(): Date;
  stream(channel: string, chunk: string): void;
  emit(name: string, data: unknown): void;
  readonly asking: Asking;
}

/** The `ctx` of a workflow. Chance and time are the run's own, so that a replay sees the same. */
export function workflowContext(source: ContextSource): WorkflowContext {
  const { runId, firstRunId, agent, requestedBy, requestedRoles, deadlineAt, journalBytes } = source.claim;
  const { grants, resources } = source.held;
  // A step's result above the cap is refused where it is written; what a run waited for came without asking it.
  if (journalBytes > MAX_JOURNAL_BYTES) source.asking.refuseAll(refusal("too_large", FULL));
  const streams = new RandomStreams(firstRunId, source.claim.epoch);
  return {
    runId,
    agent,
    requestedBy,
    authority: Object.freeze({ subject: requestedBy, roles: Object.freeze([...requestedRoles]) }),
    grant: (name) => grantOf(name, grants),
    resources: Object.freeze(resources),
    deadline: deadlineAt === null ? undefined : new Date(deadlineAt),
    abortSignal: source.abortSignal,
    log: whileLive(source),
    step: <T>(name: string, run: (context: StepContext) => T | Promise<T>, options?: StepOptions<T>) =>
      source.asking.step(name, run, options as StepOptions | undefined) as Promise<Jsonified<T>>,
    transaction: <T>(name: string, run: (tx: Transaction) => T | Promise<T>, options?: TransactionOptions) =>
      source.asking.transaction(name, run, options) as Promise<Jsonified<T>>,
    consent: (title, options) => source.asking.consent(title, options, requestedBy) as Promise<ConsentResult>,
    delegate: <Request, Result>(
      name: string,
      service: Service<Request, Result>,
      request: Request,
      options?: DelegateOptions,
    ) => source.asking.delegate(name, service, request, options) as Promise<DelegateResult<Result>>,
    child: <Input, Output, Asked>(
      workflow: WorkflowDefinition<Input, Output, Asked>,
      input: Asked,
      options?: ChildOptions,
    ) =>
      source.asking.child(workflow as unknown as AnyWorkflow, input, options) as Promise<
        ChildResult<Jsonified<Output>>
      >,
    sleep: (until, options) => source.asking.sleep(until, options) as Promise<void>,
    waitForSignal: <T>(name: string, options?: SignalOptions<T>) =>
      source.asking.signal(name, options as SignalOptions | undefined) as Promise<SignalResult<T>>,
    map: <Item, Result>(
      name: string,
      items: readonly Item[],
      run: (item: Item, index: number) => Result | Promise<Result>,
      options?: MapOptions,
    ) =>
      source.asking.map(name, items, run as (item: unknown, index: number) => unknown, options) as Promise<
        Result[]
      >,
    reserve: <Result>(capacity: string, options: ReserveOptions, run: () => Result | Promise<Result>) =>
      source.asking.reserve(capacity, options, run) as Promise<ReserveResult<Result>>,
    first,
    restart: (input) => source.asking.restart(input),
    now: () => new Date(source.now()),
    stream: (channel, chunk) => source.stream(channel, chunk),
    emit: (name, data) => source.emit(name, data),
    random: () => outsideOfSteps("random", () => streams.here().random()),
    uuid: () => outsideOfSteps("uuid", () => streams.here().uuid()),
  };
}

/**
 * The run's own chance: a stream for each scope, because items of a map draw at the same time. Of the first run of a redrive
 * chain: what was drawn before the cut is drawn again.
 */
class RandomStreams {
  readonly #firstRunId: string;
  readonly #epoch: number;
  readonly #streams = new Map<string, RandomStream>();

  constructor(firstRunId: string, epoch: number) {
    this.#firstRunId = firstRunId;
    this.#epoch = epoch;
  }

  /** Of the scope in which the code that draws stands. */
  here(): RandomStream {
    const scope = whereAmI()?.scope ?? "";
    const known = this.#streams.get(scope);
    if (known !== undefined) return known;
    const made = new RandomStream(this.#firstRunId, this.#epoch, scope);
    this.#streams.set(scope, made);
    return made;
  }
}

function grantOf(name: string, grants: Held["grants"]): Grant {
  const grant = Object.hasOwn(grants, name) ? grants[name] : undefined;
  if (grant !== undefined) return grant;
  const listed = Object.keys(grants).join(", ") || "nothing";
  throw new NonRetryableError(
    `ctx.grant("${String(name)}"): the workflow lists ${listed}; add the name to its grants`,
  );
}

/** Entries are resolved one at a time, and the code comes to rest after each: whichever is first is so in every replay. */
function first<W extends Readonly<Record<string, Promise<unknown>>>>(waits: W) {
  type Winner = { [K in keyof W]: { readonly winner: K; readonly value: Awaited<W[K]> } }[keyof W];
  const entries = Object.entries(waits);
  if (entries.length === 0)
    return Promise.reject(new NonRetryableError("ctx.first({}) would wait for ever: give it named waits"));
  return new Promise<Winner>((resolve, reject) => {
    for (const [winner, wait] of entries)
      wait.then((value) => resolve({ winner, value } as unknown as Winner), reject);
  });
}

/** A draw inside a step is made only where the step runs: after a replay the next one outside would be another. */
function outsideOfSteps<T>(what: string, draw: () => T): T {
  const step = whereAmI()?.step;
  if (step === undefined) return draw();
  throw new NonRetryableError(
    `ctx.${what}() was called inside step "${step}": draw outside, and use the value inside`,
  );
}

/** What a replay says again was said before. */
function whileLive(source: ContextSource): RunLogger {
  const log = runLogger(source.log);
  const only =
    (level: keyof RunLogger): RunLogger["info"] =>
    (message, fields) => {
      if (source.isNew()) log[level](message, fields);
    };
  return { debug: only("debug"), info: only("info"), warn: only("warn"), error: only("error") };
}

const FULL =
  `what the run waited for has brought its journal above ${MAX_JOURNAL_BYTES} bytes: ` +
  "ctx.restart goes on with an empty one";
