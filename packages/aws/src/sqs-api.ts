import type {
  ChangeMessageVisibilityBatchCommandInput,
  ChangeMessageVisibilityBatchCommandOutput,
  ChangeMessageVisibilityCommandInput,
  DeleteMessageCommandInput,
  ReceiveMessageCommandInput,
  ReceiveMessageCommandOutput,
  SendMessageBatchCommandInput,
  SendMessageBatchCommandOutput,
} from "@aws-sdk/client-sqs";

/** How one call is bounded. */
export interface CallOptions {
  readonly abortSignal?: AbortSignal;
  /** Milliseconds until the answer must have begun. */
  readonly requestTimeout?: number;
}

/** The part of SQS that the queue uses. The SDK's `SQS` class is one; so is any stub of these five methods. */
export interface SqsApi {
  sendMessageBatch(
    input: SendMessageBatchCommandInput,
    options?: CallOptions,
  ): Promise<Partial<Pick<SendMessageBatchCommandOutput, "Successful" | "Failed">>>;
  receiveMessage(
    input: ReceiveMessageCommandInput,
    options?: CallOptions,
  ): Promise<Partial<Pick<ReceiveMessageCommandOutput, "Messages">>>;
  changeMessageVisibility(
    input: ChangeMessageVisibilityCommandInput,
    options?: CallOptions,
  ): Promise<unknown>;
  changeMessageVisibilityBatch(
    input: ChangeMessageVisibilityBatchCommandInput,
    options?: CallOptions,
  ): Promise<Partial<Pick<ChangeMessageVisibilityBatchCommandOutput, "Successful">>>;
  deleteMessage(input: DeleteMessageCommandInput, options?: CallOptions): Promise<unknown>;
}
