import {
  DescribeExecutionCommand,
  DescribeStateMachineCommand,
  SFNClient,
  SFNServiceException,
  StartExecutionCommand,
  StopExecutionCommand,
} from "@aws-sdk/client-sfn";
import { clientSettings, type AwsConnection } from "./connection.ts";

/** How a question to Step Functions has failed. */
export interface StatesFailure {
  /** The code of the answer or of the connection, such as "ThrottlingException". */
  readonly code: string;
  /** Status of the answer; undefined where there was none. */
  readonly status: number | undefined;
  readonly message: string;
  /** Whether it is certain that nothing of the question has left. */
  readonly unsent: boolean;
}

/** What an action takes and gives, as far as it is needed. */
export interface StatesActions {
  StartExecution: {
    takes: { readonly stateMachineArn: string; readonly name: string; readonly input: string };
    gives: { readonly executionArn?: string | undefined };
  };
  DescribeExecution: {
    takes: { readonly executionArn: string };
    gives: {
      readonly status?: string | undefined;
      readonly input?: string | undefined;
      readonly output?: string | undefined;
      readonly error?: string | undefined;
      readonly cause?: string | undefined;
    };
  };
  StopExecution: { takes: { readonly executionArn: string }; gives: object };
  DescribeStateMachine: {
    takes: { readonly stateMachineArn: string };
    gives: { readonly type?: string | undefined; readonly status?: string | undefined };
  };
}

/** A client of Step Functions that sends each question once. */
export interface StatesClient {
  /** @throws what {@link StatesClient.failureOf} reads */
  ask<A extends keyof StatesActions>(
    action: A,
    input: StatesActions[A]["takes"],
    signal: AbortSignal,
  ): Promise<StatesActions[A]["gives"]>;
}

/** What an adapter may take for a question ends it sooner. */
const TIMES = { connectionTimeoutMs: 3_000, requestTimeoutMs: 10_000 };

/**
 * Only what is named of the SDK is in this module, which is loaded when it is needed. A try of the SDK's own would be a second
 * start of which nobody knows; and a connection that was kept may have died while its function was frozen, after which nobody
 * knows either whether something was sent: each question has one of its own.
 */
export function openStatesClient(connection: Omit<AwsConnection, "maxAttempts">): StatesClient {
  const settings = clientSettings({ ...connection, maxAttempts: 1 }, TIMES);
  const agent = { keepAlive: false };
  const client = new SFNClient({
    ...settings,
    requestHandler: { ...settings.requestHandler, httpAgent: agent, httpsAgent: agent },
  });
  const commandOf: {
    [A in keyof StatesActions]: (
      input: StatesActions[A]["takes"],
      signal: AbortSignal,
      note: Note,
    ) => Promise<StatesActions[A]["gives"]>;
  } = {
    StartExecution: (input, signal, note) =>
      client.send(noted(new StartExecutionCommand(input), note, signal), { abortSignal: signal }),
    DescribeExecution: (input, signal, note) =>
      client.send(noted(new DescribeExecutionCommand(input), note, signal), { abortSignal: signal }),
    StopExecution: (input, signal, note) =>
      client.send(noted(new StopExecutionCommand(input), note, signal), { abortSignal: signal }),
    // Without the definition, which may be encrypted with a key that nobody here may use.
    DescribeStateMachine: (input, signal, note) =>
      client.send(
        noted(new DescribeStateMachineCommand({ ...input, includedData: "METADATA_ONLY" }), note, signal),
        {
          abortSignal: signal,
        },
      ),
  };
  return {
    ask: async (action, input, signal) => {
      const note: Note = { handedOver: false };
      try {
        return await commandOf[action](input, signal, note);
      } catch (error) {
        throw new StatesError(failureOf(error, note));
      }
    },
  };
}

/** A question to Step Functions has failed. */
export class StatesError extends Error {
  readonly failure: StatesFailure;
  constructor(failure: StatesFailure) {
    super(failure.message);
    this.name = "StatesError";
    this.failure = failure;
  }
}

/** Whether a question has come as far as to the one who connects and sends it. */
interface Note {
  handedOver: boolean;
}

function noted<
  C extends {
    middlewareStack: { add(middleware: never, options: { step: "deserialize"; priority: "low" }): void };
  },
>(command: C, note: Note, signal: AbortSignal): C {
  const middleware = (next: (args: unknown) => unknown) => (args: unknown) => {
    // Whoever has waited for credentials until its time was over sends nothing any more.
    signal.throwIfAborted();
    note.handedOver = true;
    return next(args);
  };
  command.middlewareStack.add(middleware as never, { step: "deserialize", priority: "low" });
  return command;
}

function failureOf(error: unknown, note: Note): StatesFailure {
  if (error instanceof SFNServiceException) {
    const { name, message, $metadata } = error;
    return { code: name, status: $metadata.httpStatusCode, message, unsent: false };
  }
  const { name, code, message }: NodeJS.ErrnoException =
    error instanceof Error ? error : new Error("it failed");
  return {
    code: code ?? name,
    status: undefined,
    message,
    unsent: !note.handedOver || hasNoConnection(error),
  };
}

/** Every address of a name may have been tried, and each try is an error of its own then. */
function hasNoConnection(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(hasNoConnection);
  const call: unknown = error instanceof Error ? Reflect.get(error, "syscall") : undefined;
  return call === "connect" || call === "getaddrinfo";
}
