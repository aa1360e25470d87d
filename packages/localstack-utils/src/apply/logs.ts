import { removed, type Applier } from "./applier.ts";

export const logGroup: Applier = {
  apply: async ({ clients: { logs }, inputs, earlier, began }) => {
    const name = inputs.text("name");
    if (earlier === undefined) {
      await logs.createLogGroup({ logGroupName: name });
      await began({ name });
    }
    await logs.putRetentionPolicy({ logGroupName: name, retentionInDays: inputs.number("retentionInDays") });
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { logs }) => removed(logs.deleteLogGroup({ logGroupName: keys["name"] ?? "" })),
};
