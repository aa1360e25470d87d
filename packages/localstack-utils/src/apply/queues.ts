import { removed, type Applier } from "./applier.ts";

export const queue: Applier = {
  apply: async ({ clients: { sqs }, inputs, earlier }) => {
    const attributes = {
      VisibilityTimeout: String(inputs.number("visibilityTimeoutSeconds")),
      DelaySeconds: String(inputs.number("delaySeconds")),
      MessageRetentionPeriod: String(inputs.number("messageRetentionSeconds")),
      ...(inputs.has("redrivePolicy") ? { RedrivePolicy: inputs.text("redrivePolicy") } : {}),
      SqsManagedSseEnabled: "true",
    };
    const known = earlier?.keys["url"];
    if (known === undefined) {
      const { QueueUrl: url = "" } = await sqs.createQueue({
        QueueName: inputs.text("name"),
        Attributes: attributes,
      });
      return { keys: { url }, state: { url, id: url } };
    }
    await sqs.setQueueAttributes({ QueueUrl: known, Attributes: attributes });
    return { keys: { url: known }, state: { url: known, id: known } };
  },
  remove: ({ keys }, { sqs }) => removed(sqs.deleteQueue({ QueueUrl: keys["url"] ?? "" })),
};

export const queuePolicy: Applier = {
  apply: async ({ clients: { sqs }, inputs }) => {
    await sqs.setQueueAttributes({
      QueueUrl: inputs.text("queueUrl"),
      Attributes: { Policy: inputs.text("policy") },
    });
    return { keys: {}, state: {} };
  },
  remove: () => Promise.resolve(),
};
