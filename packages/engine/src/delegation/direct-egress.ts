import {
  describeFailure,
  readJobAnswer,
  type AnyService,
  type AskContext,
  type Egress,
  type FaultInjector,
  type JobAnswer,
  type JobQuestion,
} from "@ghouls/core";
import { answerWithin, endsWithin } from "../patience.ts";

export interface DirectEgressOptions {
  /** By their names in the configuration. */
  readonly services: Readonly<Record<string, AnyService>>;
  /** Origins that may be reached though their addresses are no public ones; empty on Lambda. */
  readonly origins: readonly string[];
  readonly faults?: FaultInjector;
  /** How long an adapter that was told to stop may take to, in milliseconds; 250 by default. */
  readonly stopMs?: number;
}

const STOP_MS = 250;

/** An adapter goes on though it was told to stop: what it does may still reach its service. */
export class StillAskingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StillAskingError";
  }
}

/** Questions leave from this very process: on one machine, and inside of the function that has no rights in the database. */
export function createDirectEgress({
  services,
  origins,
  faults,
  stopMs = STOP_MS,
}: DirectEgressOptions): Egress {
  return {
    ask: async (name, question, timeoutMs) => {
      const service = Object.hasOwn(services, name) ? services[name] : undefined;
      if (service === undefined) throw new Error(`the configuration has no service "${name.slice(0, 100)}"`);
      const abort = new AbortController();
      const context = { signal: abort.signal, origins, ...(faults === undefined ? {} : { faults }) };
      const asked = put(service, question, context);
      const ended = asked.then(
        () => undefined,
        () => undefined,
      );
      try {
        return readJobAnswer(await answerWithin(asked, timeoutMs));
      } catch (error) {
        abort.abort(new DOMException("the question has ended", "AbortError"));
        if (!(await endsWithin(ended, stopMs))) throw new StillAskingError(describeFailure(error).message);
        // It may say for certain that nothing was sent, or have had its answer just now.
        const last = await asked.then(readJobAnswer, () => undefined);
        if (last === undefined || last.state === "unknown") throw error;
        return last;
      } finally {
        abort.abort(new DOMException("the question has ended", "AbortError"));
      }
    },
  };
}

/** An adapter may throw before it gives a promise. */
async function put(service: AnyService, question: JobQuestion, context: AskContext): Promise<JobAnswer> {
  return question.kind === "submit"
    ? service.submit(question.job, context)
    : service[question.kind](question.job, context);
}
