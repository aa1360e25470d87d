import * as z from "zod";
import type { Graph, Resource } from "@ghouls/localstack-utils";
import { Policy, json } from "./policies.ts";

/** A resource with those of its inputs that a check reads. */
interface Typed<T> {
  /** Its logical name in the program, such as "GhoulsQueueRunsQueue". */
  readonly name: string;
  readonly resource: Resource;
  readonly inputs: T;
  /** Empty of a resource that has none. */
  readonly arn: string;
  readonly id: string;
  readonly executionArn: string;
}

function reader<T extends z.ZodType>(type: string, schema: T) {
  return (graph: Graph): Typed<z.output<T>>[] =>
    graph.resources
      .filter((resource) => resource.type === type)
      .map((resource) => {
        const parsed = schema.safeParse(resource.inputs);
        if (!parsed.success) throw new Error(`${resource.name}: ${z.prettifyError(parsed.error)}`);
        const text = (key: string): string => {
          const value = resource.state[key];
          return typeof value === "string" ? value : "";
        };
        const computed = { arn: text("arn"), id: text("id"), executionArn: text("executionArn") };
        return { name: resource.name, resource, inputs: parsed.data, ...computed };
      });
}

const names = z.array(z.string()).default([]);

export const allQueues = reader(
  "aws:sqs/queue:Queue",
  z.object({
    name: z.string(),
    visibilityTimeoutSeconds: z.number(),
    messageRetentionSeconds: z.number().default(345_600),
    redrivePolicy: json(
      z.object({ deadLetterTargetArn: z.string(), maxReceiveCount: z.number() }),
    ).optional(),
  }),
);
export const queuePolicies = reader(
  "aws:sqs/queuePolicy:QueuePolicy",
  z.object({ queueUrl: z.string(), policy: Policy }),
);
export const mappings = reader(
  "aws:lambda/eventSourceMapping:EventSourceMapping",
  z.object({
    eventSourceArn: z.string(),
    functionName: z.string(),
    batchSize: z.number().optional(),
    maximumBatchingWindowInSeconds: z.number().default(0),
    functionResponseTypes: names,
    scalingConfig: z.object({ maximumConcurrency: z.number().optional() }).optional(),
  }),
);
export const functions = reader(
  "aws:lambda/function:Function",
  z.object({
    name: z.string(),
    role: z.string(),
    runtime: z.string().optional(),
    architectures: names,
    timeout: z.number(),
    environment: z
      .object({ variables: z.record(z.string(), z.string()).default({}) })
      .default({ variables: {} }),
    loggingConfig: z.object({ logGroup: z.string().optional() }).optional(),
    reservedConcurrentExecutions: z.number().optional(),
    vpcConfig: z.object({ subnetIds: names, securityGroupIds: names }).optional(),
  }),
);
export const invocations = reader(
  "aws:lambda/invocation:Invocation",
  z.object({ functionName: z.string(), triggers: z.record(z.string(), z.string()).default({}) }),
);
export const buckets = reader("aws:s3/bucket:Bucket", z.object({ bucket: z.string() }));
export const bucketPolicies = reader(
  "aws:s3/bucketPolicy:BucketPolicy",
  z.object({ bucket: z.string(), policy: Policy }),
);
export const accessBlocks = reader(
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
  z.object({
    bucket: z.string(),
    blockPublicAcls: z.boolean().default(false),
    blockPublicPolicy: z.boolean().default(false),
    ignorePublicAcls: z.boolean().default(false),
    restrictPublicBuckets: z.boolean().default(false),
  }),
);
export const objects = reader(
  "aws:s3/bucketObjectv2:BucketObjectv2",
  z.object({ bucket: z.string(), key: z.string() }),
);
export const invokePermissions = reader(
  "aws:lambda/permission:Permission",
  z.object({
    function: z.string(),
    principal: z.string(),
    action: z.string(),
    sourceArn: z.string().optional(),
    invokedViaFunctionUrl: z.boolean().optional(),
  }),
);
export const functionUrls = reader(
  "aws:lambda/functionUrl:FunctionUrl",
  z.object({
    functionName: z.string(),
    authorizationType: z.string(),
    invokeMode: z.string().optional(),
    cors: z.object({ allowOrigins: z.array(z.string()).optional() }).nullish(),
  }),
);
export const roles = reader(
  "aws:iam/role:Role",
  z.object({
    assumeRolePolicy: Policy,
    inlinePolicies: z.array(z.object({ policy: Policy })).default([]),
    managedPolicyArns: names,
  }),
);
export const logGroups = reader(
  "aws:cloudwatch/logGroup:LogGroup",
  z.object({ name: z.string(), retentionInDays: z.number().default(0) }),
);
export const alarms = reader(
  "aws:cloudwatch/metricAlarm:MetricAlarm",
  z.object({
    namespace: z.string(),
    metricName: z.string(),
    dimensions: z.record(z.string(), z.string()).default({}),
    comparisonOperator: z.string(),
    threshold: z.number(),
    treatMissingData: z.string().default("missing"),
    alarmActions: names,
    actionsEnabled: z.boolean().default(true),
  }),
);
export const dashboards = reader(
  "aws:cloudwatch/dashboard:Dashboard",
  z.object({
    dashboardBody: json(
      z.object({
        widgets: z.array(
          z.object({ properties: z.object({ metrics: z.array(z.array(z.unknown())).default([]) }) }),
        ),
      }),
    ),
  }),
);
export const tables = reader(
  "aws:dynamodb/table:Table",
  z.object({
    ttl: z.object({ attributeName: z.string().optional(), enabled: z.boolean().optional() }).optional(),
    deletionProtectionEnabled: z.boolean().default(false),
  }),
);
export const schedules = reader(
  "aws:scheduler/schedule:Schedule",
  z.object({
    scheduleExpression: z.string(),
    state: z.string().default("ENABLED"),
    target: z.object({
      arn: z.string(),
      roleArn: z.string(),
      retryPolicy: z.object({ maximumRetryAttempts: z.number().optional() }).optional(),
    }),
  }),
);
export const apis = reader(
  "aws:apigatewayv2/api:Api",
  z.object({
    corsConfiguration: z.object({ allowOrigins: names, allowHeaders: names, allowMethods: names }).optional(),
  }),
);
export const stages = reader(
  "aws:apigatewayv2/stage:Stage",
  z.object({
    defaultRouteSettings: z
      .object({ throttlingRateLimit: z.number().optional(), throttlingBurstLimit: z.number().optional() })
      .optional(),
  }),
);
export const routes = reader(
  "aws:apigatewayv2/route:Route",
  z.object({ routeKey: z.string(), target: z.string() }),
);
export const integrations = reader(
  "aws:apigatewayv2/integration:Integration",
  z.object({
    integrationType: z.string(),
    integrationUri: z.string(),
    payloadFormatVersion: z.string().optional(),
  }),
);
export const endpoints = reader(
  "aws:ec2/vpcEndpoint:VpcEndpoint",
  z.object({
    vpcId: z.string(),
    serviceName: z.string(),
    vpcEndpointType: z.string().default("Gateway"),
    privateDnsEnabled: z.boolean().default(false),
    subnetIds: names,
    securityGroupIds: names,
    routeTableIds: names,
  }),
);
export const securityGroups = reader(
  "aws:ec2/securityGroup:SecurityGroup",
  z.object({
    vpcId: z.string().optional(),
    ingress: z
      .array(
        z.object({
          fromPort: z.number(),
          toPort: z.number(),
          securityGroups: names,
          cidrBlocks: names,
          ipv6CidrBlocks: names,
        }),
      )
      .default([]),
  }),
);

/** Queues into which others let messages fall. */
export function deadLetterQueues(graph: Graph) {
  const targets = new Set(allQueues(graph).map(({ inputs }) => inputs.redrivePolicy?.deadLetterTargetArn));
  return allQueues(graph).filter(({ arn }) => targets.has(arn));
}

/** Queues that somebody takes from. */
export function workQueues(graph: Graph) {
  const dead = new Set(deadLetterQueues(graph).map(({ arn }) => arn));
  return allQueues(graph).filter(({ arn }) => !dead.has(arn));
}

/** A function by its component's name: the resource's without "Function" at its end. */
export function componentOf({ name }: { readonly name: string }): string {
  return name.replace(/(Function|Queue)$/, "");
}

/** The function behind an ARN or a physical name. */
export function functionBehind(graph: Graph, reference: string) {
  return functions(graph).find(({ arn, inputs }) => arn === reference || inputs.name === reference);
}

/** Whether a resource waits for another, however many stand between. */
export function waitsFor(graph: Graph, resource: Resource, other: Resource): boolean {
  const byUrn = new Map(graph.resources.map((one) => [one.urn, one]));
  const seen = new Set<string>();
  const walk = (urn: string): boolean => {
    if (urn === other.urn) return true;
    if (seen.has(urn)) return false;
    seen.add(urn);
    return byUrn.get(urn)?.dependsOn.some(walk) ?? false;
  };
  return resource.dependsOn.some(walk);
}
