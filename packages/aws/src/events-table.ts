import type { DynamoDB } from "@aws-sdk/client-dynamodb";
import type { AwsConnection } from "./connection.ts";
import { connectDynamo } from "./dynamodb.ts";

/** Of one BatchWriteItem. Source: Amazon DynamoDB, "BatchWriteItem". */
const BATCH = 25;

/** The events table of a server that has no infrastructure of its own, such as one on this machine. */
export interface EventsTable {
  /**
   * Deletes what has expired, which a server without time to live keeps for ever.
   * @returns how many items
   */
  deleteExpired(nowMs: number): Promise<number>;
  close(): void;
}

/** Opens the table, and creates it where it is not there; as infra makes it, but for what a server alone can do. */
export async function openEventsTable(
  connection: AwsConnection & { readonly table: string },
): Promise<EventsTable> {
  const dynamo = await connectDynamo(connection);
  const { table: TableName } = connection;
  await createTable(dynamo, TableName);
  return {
    deleteExpired: async (nowMs) => {
      let deleted = 0;
      let from: Record<string, { S?: string }> | undefined;
      do {
        const { Items = [], LastEvaluatedKey } = await dynamo.scan({
          TableName,
          ProjectionExpression: "pk, sk",
          FilterExpression: "expires_at <= :now",
          ExpressionAttributeValues: { ":now": { N: String(Math.floor(nowMs / 1_000)) } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from as never }),
        });
        for (let at = 0; at < Items.length; at += BATCH) {
          const requests = Items.slice(at, at + BATCH).map((Key) => ({ DeleteRequest: { Key } }));
          await dynamo.batchWriteItem({ RequestItems: { [TableName]: requests } });
          deleted += requests.length;
        }
        from = LastEvaluatedKey as typeof from;
      } while (from !== undefined);
      return deleted;
    },
    close: () => dynamo.destroy(),
  };
}

async function createTable(dynamo: DynamoDB, TableName: string): Promise<void> {
  try {
    await dynamo.createTable({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: ["pk", "sk"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
    });
  } catch (error) {
    if (!(error instanceof Error && error.name === "ResourceInUseException")) throw error;
  }
}
