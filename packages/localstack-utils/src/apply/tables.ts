import type { AttributeDefinition } from "@aws-sdk/client-dynamodb";
import { removed, type Applier } from "./applier.ts";

export const table: Applier = {
  apply: async ({ clients: { tables }, inputs, earlier }) => {
    const name = inputs.text("name");
    if (earlier !== undefined) return { keys: { name }, state: {} };
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
    await tables.updateTimeToLive({
      TableName: name,
      TimeToLiveSpecification: { AttributeName: inputs.object("ttl").text("attributeName"), Enabled: true },
    });
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { tables }) => removed(tables.deleteTable({ TableName: keys["name"] ?? "" })),
};
