import type { LambdaClient } from "@aws-sdk/client-lambda";
import { readJobAnswer, type Clock, type Egress, type EgressEvent, type FaultInjector } from "@ghouls/core";
import { clientSettings, type AwsConnection } from "./connection.ts";

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

const TIMES = { connectionTimeoutMs: 1_000, requestTimeoutMs: MARGIN_MS };

/**
 * Questions to services leave from a function of their own, which has no right in the database, the queues or the table.
 * An invocation is sent once: a retry would be a second submission.
 */
export function openLambdaEgress(options: LambdaEgressOptions): LambdaEgress {
  const { function: name, clock, faults } = options;
  let client: Promise<LambdaClient> | undefined;
  const api = async (): Promise<LambdaClient> => {
    const sdk = await import("./lambda-client.ts");
    return new sdk.LambdaClient(clientSettings({ ...options, maxAttempts: 1 }, TIMES));
  };
  return {
    ask: async (service, question, timeoutMs) => {
      const lambda = await (client ??= api());
      await faults("egress.before-ask", service);
      const untilMs = clock.wallMs() + timeoutMs;
      const event: EgressEvent = { service, question, timeoutMs, untilMs };
      const said = await invoke(lambda, name, event);
      await faults("egress.after-ask", service);
      return readJobAnswer(said);
    },
    close: () => {
      // One that could not be made has told whoever asked.
      void client?.then(
        (lambda) => lambda.destroy(),
        () => undefined,
      );
      client = undefined;
    },
  };
}

/** @throws Error where the function did not answer: nobody knows whether the question was put. It holds nothing of it. */
async function invoke(lambda: LambdaClient, name: string, event: EgressEvent): Promise<unknown> {
  const sdk = await import("./lambda-client.ts");
  const patience = event.timeoutMs + MARGIN_MS;
  const { FunctionError, Payload } = await lambda.send(
    new sdk.InvokeCommand({
      FunctionName: name,
      InvocationType: "RequestResponse",
      Payload: Buffer.from(JSON.stringify(event)),
    }),
    { requestTimeout: patience, abortSignal: AbortSignal.timeout(patience) },
  );
  const said = readJson(Payload?.transformToString() ?? "");
  if (FunctionError !== undefined) throw new Error(`the egress function failed: ${typeOf(said)}`);
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
