export { openDynamoHint, type DynamoHint, type DynamoHintOptions } from "./dynamodb-hint.ts";
export { ensureQueues } from "./ensure-queue.ts";
export type { QueueAddress, QueueSpec } from "./ensure-queue.ts";
export type { AwsConnection } from "./connection.ts";
export type { CallOptions, SqsApi } from "./sqs-api.ts";
export { createSqsQueue, openSqs } from "./sqs-queue.ts";
export type { SqsOptions, SqsQueue, SqsQueueOptions } from "./sqs-queue.ts";
export { databaseAccess } from "./database-access.ts";
export type { DatabaseAccess, DatabaseSettings } from "./database-access.ts";
