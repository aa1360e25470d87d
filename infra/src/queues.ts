import type { DeploymentPlan } from "@ghouls/functions";
import { logicalName, type Components, type Value } from "./platform.ts";
import type { References } from "./references.ts";

type QueuePlan = DeploymentPlan["queues"][number];
type Queue = InstanceType<Components["sst"]["aws"]["Queue"]>;

/** A queue of the plan with its dead-letter queue. */
export interface MadeQueue {
  readonly plan: QueuePlan;
  readonly queue: Queue;
}

/** What was in a queue of a protected stage is kept, whatever becomes of the stage. */
const kept = () => ({ retainOnDelete: $app.removal !== "remove" });

export function makeQueues(
  components: Components,
  plan: DeploymentPlan,
  references: References,
): MadeQueue[] {
  return plan.queues.map((one) => ({ plan: one, queue: makeQueue(components, one, references) }));
}

/** The word goes before the queue's name: at its end, a queue could be called like another one's dead letters. */
function makeQueue({ sst }: Components, plan: QueuePlan, references: References): Queue {
  const { name, deadLetter } = plan;
  const dead = new sst.aws.Queue(
    logicalName(`dead-letter-${name}`),
    { transform: { queue: encrypted(deadLetter.retentionSeconds) } },
    kept(),
  );
  const queue = new sst.aws.Queue(
    logicalName(`queue-${name}`),
    {
      visibilityTimeout: `${plan.visibilitySeconds} seconds`,
      dlq: { queue: dead.arn, retry: deadLetter.maxReceiveCount },
      transform: { queue: encrypted(plan.retentionSeconds) },
    },
    kept(),
  );
  references.set(`queue.${name}.arn`, queue.arn);
  references.set(`queue.${name}.url`, queue.url);
  references.set(`queue.${name}.name`, queue.nodes.queue.name);
  references.set(`queue.${name}.deadLetter.arn`, dead.arn);
  references.set(`queue.${name}.deadLetter.url`, dead.url);
  references.set(`queue.${name}.deadLetter.name`, dead.nodes.queue.name);
  return queue;
}

function encrypted(messageRetentionSeconds: number) {
  return { messageRetentionSeconds, sqsManagedSseEnabled: true };
}

/** The mapping of a queue to its worker. It begins when the worker's code is there. */
export function subscribe(
  { queue }: MadeQueue,
  { batchSize, maximumConcurrency }: NonNullable<QueuePlan["mapping"]>,
  worker: Value<string>,
): void {
  queue.subscribe(worker, {
    batch: { size: batchSize, partialResponses: true },
    transform: { eventSourceMapping: { scalingConfig: { maximumConcurrency } } },
  });
}

/**
 * Admits only those roles that publish, and only over TLS: a message is no authority, and nobody else has a reason to send
 * one. Denials, so that no other policy of the account opens the queue.
 */
export function guardQueue(
  { aws }: Components,
  { plan, queue }: MadeQueue,
  senders: readonly Value<string>[],
): void {
  new aws.sqs.QueuePolicy(logicalName(`policy-${plan.name}`), {
    queueUrl: queue.url,
    policy: $util.all([queue.arn, $util.all([...senders])]).apply(([arn, roles]) =>
      JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          {
            Sid: "OnlySenders",
            Effect: "Deny",
            Principal: "*",
            Action: "sqs:SendMessage",
            Resource: arn,
            Condition: { ArnNotEquals: { "aws:PrincipalArn": roles } },
          },
          {
            Sid: "OnlyTls",
            Effect: "Deny",
            Principal: "*",
            Action: "sqs:*",
            Resource: arn,
            Condition: { Bool: { "aws:SecureTransport": "false" } },
          },
        ],
      }),
    ),
  });
}
