import type { DynamoDB, DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";

export interface DynamoConnection {
  readonly region: string;
  /** Where the API listens; AWS's own where absent. */
  readonly endpoint?: string;
  /** The SDK's own chain (the function's role on Lambda) where absent. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Milliseconds until a connection must stand; 400 by default. */
  readonly connectionTimeoutMs?: number;
  /** Milliseconds until an answer must have begun; 800 by default. */
  readonly requestTimeoutMs?: number;
  /** Tries of the SDK for one call; 2 by default. */
  readonly maxAttempts?: number;
}

/** Short times: nothing of DynamoDB is worth waiting for, since the ledger decides without it. */
function clientConfig(connection: DynamoConnection): DynamoDBClientConfig {
  return {
    region: connection.region,
    maxAttempts: connection.maxAttempts ?? 2,
    requestHandler: {
      connectionTimeout: connection.connectionTimeoutMs ?? 400,
      requestTimeout: connection.requestTimeoutMs ?? 800,
      throwOnRequestTimeout: true,
    },
    ...(connection.endpoint === undefined ? {} : { endpoint: connection.endpoint }),
    ...(connection.credentials === undefined ? {} : { credentials: connection.credentials }),
  };
}

/** A client; the SDK is loaded at the first call, since it is half of a cold start. */
export async function connectDynamo(connection: DynamoConnection): Promise<DynamoDB> {
  const sdk = await import("@aws-sdk/client-dynamodb");
  return new sdk.DynamoDB(clientConfig(connection));
}
