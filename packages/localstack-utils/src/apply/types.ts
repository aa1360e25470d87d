import type { Applier } from "./applier.ts";
import { eventSourceMapping, functionUrl, invocation, lambdaFunction, permission } from "./functions.ts";
import { bucket, bucketPolicy, object } from "./buckets.ts";
import { api, integration, route, stage } from "./http.ts";
import { logGroup } from "./logs.ts";
import { alarm, dashboard } from "./metrics.ts";
import { queue, queuePolicy } from "./queues.ts";
import { role } from "./roles.ts";
import { schedule } from "./schedules.ts";
import { table } from "./tables.ts";

/** How each type is brought to the endpoint. A type that is missing here and below is refused. */
export const APPLIERS: Readonly<Record<string, Applier>> = {
  "aws:sqs/queue:Queue": queue,
  "aws:sqs/queuePolicy:QueuePolicy": queuePolicy,
  "aws:dynamodb/table:Table": table,
  "aws:s3/bucket:Bucket": bucket,
  "aws:s3/bucketV2:BucketV2": bucket,
  "aws:s3/bucketPolicy:BucketPolicy": bucketPolicy,
  "aws:s3/bucketObjectv2:BucketObjectv2": object,
  "aws:iam/role:Role": role,
  "aws:cloudwatch/logGroup:LogGroup": logGroup,
  "aws:lambda/function:Function": lambdaFunction,
  "aws:lambda/invocation:Invocation": invocation,
  "aws:lambda/permission:Permission": permission,
  "aws:lambda/functionUrl:FunctionUrl": functionUrl,
  "aws:lambda/eventSourceMapping:EventSourceMapping": eventSourceMapping,
  "aws:apigatewayv2/api:Api": api,
  "aws:apigatewayv2/integration:Integration": integration,
  "aws:apigatewayv2/route:Route": route,
  "aws:apigatewayv2/stage:Stage": stage,
  "aws:scheduler/schedule:Schedule": schedule,
  "aws:cloudwatch/metricAlarm:MetricAlarm": alarm,
  "aws:cloudwatch/dashboard:Dashboard": dashboard,
};

/** What is nothing at the endpoint: components, links, keys of the deploy itself; and who may see a bucket that only it has. */
const NOTHING = /^(sst:|pulumi:|pulumi-nodejs:|random:|command:|aws:s3\/bucketPublicAccessBlock:)/;

export function isNothing(type: string): boolean {
  return NOTHING.test(type);
}
