import type { ReceivedMessage } from "@ghouls/core";

interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: {
    readonly ApproximateReceiveCount: string;
    readonly SentTimestamp: string;
    readonly SenderId: string;
    readonly ApproximateFirstReceiveTimestamp: string;
    readonly MessageGroupId?: string;
  };
  readonly messageAttributes: Readonly<Record<string, never>>;
  readonly md5OfBody: string;
  readonly eventSource: "aws:sqs";
  readonly eventSourceARN: string;
  readonly awsRegion: string;
}

/** The event that Lambda hands to a function behind a queue. */
export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

/** What tells a queue in an event. */
export interface EventSource {
  readonly arn: string;
  readonly region: string;
}

/** The event for a batch, in the shape that Lambda sends (Lambda Developer Guide, "Using Lambda with Amazon SQS"). */
export function toSqsEvent(source: EventSource, messages: readonly ReceivedMessage[]): SqsEvent {
  return { Records: messages.map((message) => toRecord(source, message)) };
}

function toRecord(source: EventSource, message: ReceivedMessage): SqsRecord {
  const sent = String(message.sentAtMs);
  return {
    messageId: message.messageId,
    receiptHandle: message.receiptHandle,
    body: message.body,
    attributes: {
      ApproximateReceiveCount: String(message.receiveCount),
      SentTimestamp: sent,
      SenderId: "local",
      ApproximateFirstReceiveTimestamp: sent,
      ...(message.groupId === undefined ? {} : { MessageGroupId: message.groupId }),
    },
    messageAttributes: {},
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: source.arn,
    awsRegion: source.region,
  };
}

/** The ARN of a queue by its URL, `http(s)://host/<account>/<name>`. */
export function arnOf(queueUrl: string, region: string): string {
  const [name = "", account = ""] = new URL(queueUrl).pathname.split("/").toReversed();
  return `arn:aws:sqs:${region}:${account}:${name}`;
}
