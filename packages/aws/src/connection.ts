import type { SQS, SQSClientConfig } from "@aws-sdk/client-sqs";

export interface SqsConnection {
  readonly region: string;
  /**
   * Where the API listens. Given for a server on this machine: its queue URLs name hosts that need not resolve, so the
   * host of a queue URL is then never used.
   */
  readonly endpoint?: string;
  /** The SDK's own chain (the function's role on Lambda) where absent. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Milliseconds until a connection must stand; 1,000 by default. */
  readonly connectionTimeoutMs?: number;
  /** Milliseconds until an answer must have begun, for a call that does not wait for messages; 3,000 by default. */
  readonly requestTimeoutMs?: number;
  /** Tries of the SDK for one call; 2 by default. What lies above has retries and a relay of its own. */
  readonly maxAttempts?: number;
}

/** The SDK's settings for a connection. A request timeout rejects: the SDK's default is only to warn. */
function clientConfig(connection: SqsConnection): SQSClientConfig {
  return {
    region: connection.region,
    maxAttempts: connection.maxAttempts ?? 2,
    requestHandler: {
      connectionTimeout: connection.connectionTimeoutMs ?? 1_000,
      requestTimeout: connection.requestTimeoutMs ?? 3_000,
      throwOnRequestTimeout: true,
    },
    useQueueUrlAsEndpoint: connection.endpoint === undefined,
    ...(connection.endpoint === undefined ? {} : { endpoint: connection.endpoint }),
    ...(connection.credentials === undefined ? {} : { credentials: connection.credentials }),
  };
}

/** A client; the SDK is loaded at the first call, since it is half of a cold start. */
export async function connect(connection: SqsConnection): Promise<SQS> {
  const sdk = await import("@aws-sdk/client-sqs");
  return new sdk.SQS(clientConfig(connection));
}
