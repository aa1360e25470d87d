import type { SQS } from "@aws-sdk/client-sqs";
import { connect } from "./connection.ts";
import type { AwsConnection } from "./connection.ts";

export interface QueueSpec {
  /** Its name at SQS. */
  readonly name: string;
  /** Seconds, at most 43,200; Lambda refuses a mapping whose function may run longer. */
  readonly visibilitySeconds: number;
  /** Receives before a message goes to the dead-letter queue. High: the ledger decides about runs, not the queue. */
  readonly maxReceiveCount: number;
}

/** URL and ARN of a queue, and the URL of its dead-letter queue. */
export interface QueueAddress {
  readonly url: string;
  readonly arn: string;
  readonly deadLetterUrl: string;
}

/**
 * Creates each queue with its dead-letter queue `<name>-dlq`, or brings the settings of a standing one up to date;
 * its messages stay. For development and tests: on AWS the infrastructure does this.
 * @returns the addresses by name
 */
export async function ensureQueues(
  connection: AwsConnection,
  specs: readonly QueueSpec[],
): Promise<ReadonlyMap<string, QueueAddress>> {
  const sqs = await connect(connection);
  try {
    const entries = specs.map(async (spec) => [spec.name, await ensureQueue(sqs, spec)] as const);
    return new Map(await Promise.all(entries));
  } finally {
    sqs.destroy();
  }
}

async function ensureQueue(sqs: SQS, spec: QueueSpec): Promise<QueueAddress> {
  const dead = await addressOf(sqs, `${spec.name}-dlq`);
  const queue = await addressOf(sqs, spec.name);
  await sqs.setQueueAttributes({
    QueueUrl: queue.url,
    Attributes: {
      VisibilityTimeout: String(spec.visibilitySeconds),
      MessageRetentionPeriod: "1209600",
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: spec.maxReceiveCount }),
    },
  });
  return { ...queue, deadLetterUrl: dead.url };
}

async function addressOf(sqs: SQS, name: string): Promise<Pick<QueueAddress, "url" | "arn">> {
  const url = await urlOf(sqs, name);
  const { Attributes } = await sqs.getQueueAttributes({ QueueUrl: url, AttributeNames: ["QueueArn"] });
  return { url, arn: Attributes?.["QueueArn"] ?? "" };
}

/** Looks before it creates: creating a queue that stands with other attributes is an error at SQS. */
async function urlOf(sqs: SQS, name: string): Promise<string> {
  try {
    const { QueueUrl } = await sqs.getQueueUrl({ QueueName: name });
    if (QueueUrl !== undefined) return QueueUrl;
  } catch (error) {
    if (!(error instanceof Error) || !/NonExistentQueue|QueueDoesNotExist/.test(error.name)) throw error;
  }
  const { QueueUrl } = await sqs.createQueue({ QueueName: name });
  return QueueUrl ?? "";
}
