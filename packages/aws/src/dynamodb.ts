import type { DynamoDB } from "@aws-sdk/client-dynamodb";
import { clientSettings, type AwsConnection } from "./connection.ts";

/** Short times: nothing of DynamoDB is worth waiting for, since the ledger decides without it. */
const TIMES = { connectionTimeoutMs: 400, requestTimeoutMs: 800 };

/** A client; the SDK is loaded at the first call, since it is half of a cold start. */
export async function connectDynamo(connection: AwsConnection): Promise<DynamoDB> {
  const sdk = await import("@aws-sdk/client-dynamodb");
  return new sdk.DynamoDB(clientSettings(connection, TIMES));
}
