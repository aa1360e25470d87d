/** The part of Lambda's context that the handlers use. Source: AWS Lambda, "Node.js context object". */
export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** One message of an SQS event. Source: AWS Lambda, "Using Lambda with Amazon SQS". */
interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly eventSourceARN: string;
}

export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

/** Partial batch response: what is listed comes back, everything else is deleted. */
export interface SqsBatchResponse {
  readonly batchItemFailures: { readonly itemIdentifier: string }[];
}
