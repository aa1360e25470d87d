import type { AttributeDefinition } from "@aws-sdk/client-dynamodb";
import { removed, type Applier } from "./applier.ts";

/** Says of a table that it is there and expires nothing yet. */
const UNFINISHED = "unfinished";

export const table: Applier = {
  apply: async ({ clients: { tables }, inputs, earlier, began }) => {
    const name = inputs.text("name");
    if (earlier !== undefined && earlier.keys[UNFINISHED] === undefined) return { keys: { name }, state: {} };
    if (earlier === undefined) {
      await tables.createTable({
        TableName: name,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: inputs.objects("attributes").map((one): AttributeDefinition => ({
          AttributeName: one.text("name"),
          AttributeType: one.text("type") as "S",
        })),
        KeySchema: [
          { AttributeName: inputs.text("hashKey"), KeyType: "HASH" },
          { AttributeName: inputs.text("rangeKey"), KeyType: "RANGE" },
        ],
      });
      await began({ name, [UNFINISHED]: "ttl" });
    }
    await tables.updateTimeToLive({
      TableName: name,
      TimeToLiveSpecification: { AttributeName: inputs.object("ttl").text("attributeName"), Enabled: true },
    });
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { tables }) => removed(tables.deleteTable({ TableName: keys["name"] ?? "" })),
};
