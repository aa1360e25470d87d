import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { clientSettings, type AwsConnection } from "./connection.ts";

/** What a function answered. */
export interface Invoked {
  /** Whether it failed; then the text says why, in Lambda's words. */
  readonly failed: boolean;
  readonly text: string;
}

/** Invokes one function, and waits for its answer. */
export interface LambdaInvoker {
  /** @throws Error where there is no answer in this many milliseconds; whether it was invoked, nobody knows */
  invoke(payload: string, patienceMs: number): Promise<Invoked>;
  destroy(): void;
}

const TIMES = { connectionTimeoutMs: 1_000, requestTimeoutMs: 10_000 };

/**
 * Only what is named of the SDK is in this module, which is loaded when it is needed: the SDK itself would come whole by
 * `import()`, and be most of a function's bytes. An invocation is sent once.
 */
export function openInvoker(connection: AwsConnection, name: string): LambdaInvoker {
  const client = new LambdaClient(clientSettings({ ...connection, maxAttempts: 1 }, TIMES));
  return {
    invoke: async (payload, patienceMs) => {
      const { FunctionError, Payload } = await client.send(
        new InvokeCommand({
          FunctionName: name,
          InvocationType: "RequestResponse",
          Payload: Buffer.from(payload),
        }),
        { requestTimeout: patienceMs, abortSignal: AbortSignal.timeout(patienceMs) },
      );
      return { failed: FunctionError !== undefined, text: Payload?.transformToString() ?? "" };
    },
    destroy: () => client.destroy(),
  };
}
