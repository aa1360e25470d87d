import type { SQS } from "@aws-sdk/client-sqs";

/** How a service of AWS is reached. */
export interface AwsConnection {
  readonly region: string;
  /** Where the API listens; AWS's own where absent. */
  readonly endpoint?: string;
  /** The SDK's own chain (the function's role on Lambda) where absent. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Milliseconds until a connection must stand; 1,000 for SQS and 400 for DynamoDB by default. */
  readonly connectionTimeoutMs?: number;
  /** Milliseconds until an answer must have begun, for a call that does not wait; 3,000 and 800 by default. */
  readonly requestTimeoutMs?: number;
  /** Tries of the SDK for one call; 2 by default. What lies above has retries and a relay of its own. */
  readonly maxAttempts?: number;
}

/** The SDK's settings for a connection. A request timeout rejects: the SDK's default is only to warn. */
export function clientSettings(
  connection: AwsConnection,
  defaults: { readonly connectionTimeoutMs: number; readonly requestTimeoutMs: number },
) {
  return {
    region: connection.region,
    maxAttempts: connection.maxAttempts ?? 2,
    requestHandler: {
      connectionTimeout: connection.connectionTimeoutMs ?? defaults.connectionTimeoutMs,
      requestTimeout: connection.requestTimeoutMs ?? defaults.requestTimeoutMs,
      throwOnRequestTimeout: true,
    },
    ...(connection.endpoint === undefined ? {} : { endpoint: connection.endpoint }),
    ...(connection.credentials === undefined ? {} : { credentials: connection.credentials }),
  };
}

const SQS_TIMES = { connectionTimeoutMs: 1_000, requestTimeoutMs: 3_000 };

/**
 * A client; the SDK is loaded at the first call, since it is half of a cold start. The queue URLs of a server on this
 * machine name hosts that need not resolve, so where an endpoint is given the host of a queue URL is never used.
 */
export async function connect(connection: AwsConnection): Promise<SQS> {
  const sdk = await import("@aws-sdk/client-sqs");
  return new sdk.SQS({
    ...clientSettings(connection, SQS_TIMES),
    useQueueUrlAsEndpoint: connection.endpoint === undefined,
  });
}
