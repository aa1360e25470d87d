import { readJobAnswer, type Clock, type Egress, type EgressEvent, type FaultInjector } from "@ghouls/core";
import type { AwsConnection } from "./connection.ts";
import type { Invoked, LambdaInvoker } from "./lambda-invoker.ts";

export interface LambdaEgressOptions extends Omit<AwsConnection, "maxAttempts" | "requestTimeoutMs"> {
  /** Name or ARN of the egress function. */
  readonly function: string;
  readonly clock: Clock;
  readonly faults: FaultInjector;
}

/** An egress over a client of its own, made at the first question. `close` ends its connections, and what is under way. */
export interface LambdaEgress extends Egress {
  close(): void;
}

/** What the function may take beyond the question's own time: to let go of it, and to say so. */
const MARGIN_MS = 3_000;

/**
 * Questions to services leave from a function of their own, which has no right in the database, the queues or the table.
 * An invocation is sent once: a retry would be a second submission.
 */
export function openLambdaEgress(options: LambdaEgressOptions): LambdaEgress {
  const { clock, faults } = options;
  let invoker: Promise<LambdaInvoker> | undefined;
  const open = async (): Promise<LambdaInvoker> => {
    // The SDK is loaded by the first question, since it is half of a cold start.
    const { openInvoker } = await import("./lambda-invoker.ts");
    return openInvoker(options, options.function);
  };
  return {
    ask: async (service, question, timeoutMs) => {
      const lambda = await (invoker ??= open());
      await faults("egress.before-ask", service);
      const event: EgressEvent = { service, question, timeoutMs, untilMs: clock.wallMs() + timeoutMs };
      const invoked = await lambda.invoke(JSON.stringify(event), timeoutMs + MARGIN_MS);
      await faults("egress.after-ask", service);
      return readJobAnswer(answerOf(invoked));
    },
    close: () => {
      // One that could not be opened has told whoever asked.
      void invoker?.then(
        (lambda) => lambda.destroy(),
        () => undefined,
      );
      invoker = undefined;
    },
  };
}

/** @throws Error where the function did not answer: nobody knows whether the question was put. It holds nothing of it. */
function answerOf({ failed, text }: Invoked): unknown {
  const said = readJson(text);
  if (failed) throw new Error(`the egress function failed: ${typeOf(said)}`);
  if (said === undefined) throw new Error("the egress function answered what is no JSON");
  return said;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An emulator's words, or nothing at all.
    return undefined;
  }
}

/** The kind of error, as Lambda names it. Its message is the function's own log's. */
function typeOf(said: unknown): string {
  const type: unknown =
    typeof said === "object" && said !== null ? Reflect.get(said, "errorType") : undefined;
  return typeof type === "string" ? type.slice(0, 100) : "it did not say why";
}
