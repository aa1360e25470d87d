import {
  NonRetryableError,
  RandomStream,
  type Jsonified,
  type Logger,
  type StepContext,
  type StepOptions,
  type WorkflowContext,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { whereAmI } from "./current-hop.ts";

/** What the context asks of the hop behind it. */
export interface ContextSource {
  readonly claim: ClaimedRun;
  readonly log: Logger;
  readonly abortSignal: AbortSignal;
  isLive(): boolean;
  /** Completion time of the last resolved entry. */
  now(): Date;
  step(
    name: string,
    run: (context: StepContext) => unknown,
    options: StepOptions | undefined,
  ): Promise<unknown>;
}

/** The `ctx` of a workflow. Chance and time are the run's own, so that a replay sees the same. */
export function workflowContext(source: ContextSource): WorkflowContext {
  const { runId, agent, requestedBy, deadlineAt } = source.claim;
  const stream = new RandomStream(runId, 0, "");
  return {
    runId,
    agent,
    requestedBy,
    deadline: deadlineAt === null ? undefined : new Date(deadlineAt),
    abortSignal: source.abortSignal,
    log: whileLive(source),
    step: <T>(name: string, run: (context: StepContext) => T | Promise<T>, options?: StepOptions<T>) =>
      source.step(name, run, options) as Promise<Jsonified<T>>,
    now: () => new Date(source.now()),
    random: () => outsideOfSteps("random", () => stream.random()),
    uuid: () => outsideOfSteps("uuid", () => stream.uuid()),
  };
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
function whileLive(source: ContextSource): Logger {
  const only =
    (level: keyof Logger): Logger["info"] =>
    (message, fields) => {
      if (source.isLive()) source.log[level](message, fields);
    };
  return { debug: only("debug"), info: only("info"), warn: only("warn"), error: only("error") };
}
