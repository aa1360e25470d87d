import { added, inputs, inputsWithout, resource, text, without, type Mutation } from "./mutation.ts";

const ROUTES = "every route leads to its function with payload 2.0";
const CORS = "no other origin is let in";
const THROTTLING = "requests are throttled";
const SCHEDULE = "the reconciler comes every minute, one at a time";
const EXPIRY = "the table expires its items";
const REMOVAL = "production is protected and kept, other stages are removed";
const PLACEMENT = "functions are in the given subnets and groups";
const ENDPOINTS = "the endpoints that functions in a VPC need are there";
const INGRESS = "endpoints let HTTPS of the functions in and nothing else";

const INTEGRATION = /^GhoulsHttpRoute.*Integration$/;
const CRON = "GhoulsScheduleSchedule";
const TABLE = "GhoulsEventsTable";
const fn = (name: string) =>
  `arn:aws:lambda:us-east-1:123456789012:function:ghouls-test-${name}Function-bdvfbzta`;

export const EDGE_MUTATIONS: readonly Mutation[] = [
  {
    check: ROUTES,
    what: "one comes in the old form",
    change: inputs(INTEGRATION, { payloadFormatVersion: "1.0" }),
  },
  {
    check: ROUTES,
    what: "one leads to the wrong function",
    change: inputs(INTEGRATION, { integrationUri: fn("GhoulsReconciler") }),
  },
  {
    check: ROUTES,
    what: "one leads out of here",
    change: inputs(INTEGRATION, { integrationUri: "https://example.org/" }),
  },
  {
    check: ROUTES,
    what: "one leads nowhere",
    change: inputs(/^GhoulsHttpRoute.*Route$/, { target: "integrations/gone" }),
  },
  { check: ROUTES, what: "one is gone", change: without(/^GhoulsHttpRoute.*Route$/) },
  {
    check: ROUTES,
    what: "a function may take longer than API Gateway waits",
    change: inputs("GhoulsApiFunction", { timeout: 30 }),
  },
  {
    check: CORS,
    what: "SST's own default lets all in",
    change: inputs("GhoulsHttpApi", { corsConfiguration: { allowOrigins: ["*"] } }),
  },
  {
    check: CORS,
    what: "all subdomains are let in",
    change: inputs("GhoulsHttpApi", { corsConfiguration: { allowOrigins: ["https://*.example.org"] } }),
  },
  {
    check: THROTTLING,
    what: "nothing limits them",
    change: inputsWithout("GhoulsHttpStage", "defaultRouteSettings"),
  },
  {
    check: THROTTLING,
    what: "nothing limits how many come at once",
    change: inputs("GhoulsHttpStage", { defaultRouteSettings: { throttlingRateLimit: 50 } }),
  },
  {
    check: SCHEDULE,
    what: "it comes every five minutes",
    change: inputs(CRON, { scheduleExpression: "rate(5 minutes)" }),
  },
  { check: SCHEDULE, what: "it is switched off", change: inputs(CRON, { state: "DISABLED" }) },
  {
    check: SCHEDULE,
    what: "what failed is invoked again",
    change: text(CRON, '"maximumRetryAttempts":0', '"maximumRetryAttempts":3'),
  },
  {
    check: SCHEDULE,
    what: "retries are the scheduler's own 185",
    change: text(CRON, '"maximumRetryAttempts":0', '"maximumEventAgeInSeconds":60'),
  },
  {
    check: SCHEDULE,
    what: "it may take a minute",
    change: inputs("GhoulsReconcilerFunction", { timeout: 60 }),
  },
  {
    check: SCHEDULE,
    what: "it invokes something else",
    change: text(CRON, "GhoulsReconcilerFunction", "GhoulsApiFunction"),
  },
  { check: EXPIRY, what: "there is no expiry", change: inputsWithout(TABLE, "ttl") },
  {
    check: EXPIRY,
    what: "it is switched off",
    change: inputs(TABLE, { ttl: { attributeName: "expires_at", enabled: false } }),
  },
  {
    check: REMOVAL,
    what: "a test stage is kept",
    change: (graph) => ({ ...graph, app: { ...graph.app, removal: "retain" } }),
  },
  {
    check: REMOVAL,
    what: "a test stage is protected",
    change: (graph) => ({ ...graph, app: { ...graph.app, protect: true } }),
  },
  {
    check: REMOVAL,
    what: "production may be removed",
    of: "production",
    change: (graph) => ({ ...graph, app: { ...graph.app, protect: false } }),
  },
  {
    check: REMOVAL,
    what: "production would lose all it has",
    of: "production",
    change: (graph) => ({ ...graph, app: { ...graph.app, removal: "remove" } }),
  },
  {
    check: REMOVAL,
    what: "production's messages would go with a queue",
    of: "production",
    change: resource("GhoulsQueueRunsQueue", (one) => {
      const { retainOnDelete: _, ...others } = one;
      return others;
    }),
  },
  {
    check: REMOVAL,
    what: "production's table may be deleted",
    of: "production",
    change: inputs(TABLE, { deletionProtectionEnabled: false }),
  },
  {
    check: PLACEMENT,
    what: "one is in a VPC that nobody has given",
    change: inputs("GhoulsApiFunction", {
      vpcConfig: { subnetIds: ["subnet-9"], securityGroupIds: ["sg-9"] },
    }),
  },
  {
    check: PLACEMENT,
    what: "one is left outside",
    of: "vpc",
    change: inputsWithout("GhoulsMigrateFunction", "vpcConfig"),
  },
  {
    check: PLACEMENT,
    what: "one has a group of its own",
    of: "vpc",
    change: inputs("GhoulsApiFunction", {
      vpcConfig: { subnetIds: ["subnet-1", "subnet-2"], securityGroupIds: ["sg-9"] },
    }),
  },
  { check: ENDPOINTS, what: "the queues are out of reach", of: "vpc", change: without("GhoulsSqsEndpoint") },
  {
    check: ENDPOINTS,
    what: "its own name does not lead to one",
    of: "vpc",
    change: inputs("GhoulsSqsEndpoint", { privateDnsEnabled: false }),
  },
  {
    check: ENDPOINTS,
    what: "one is in a single subnet",
    of: "vpc",
    change: inputs("GhoulsSqsEndpoint", { subnetIds: ["subnet-1"] }),
  },
  {
    check: ENDPOINTS,
    what: "one is in another VPC",
    of: "vpc",
    change: inputs("GhoulsSqsEndpoint", { vpcId: "vpc-9" }),
  },
  {
    check: ENDPOINTS,
    what: "one has the VPC's own group",
    of: "vpc",
    change: inputs("GhoulsSqsEndpoint", { securityGroupIds: [] }),
  },
  {
    check: ENDPOINTS,
    what: "one of the kind that DynamoDB's should be",
    of: "vpc",
    change: inputs("GhoulsSqsEndpoint", { vpcEndpointType: "Gateway" }),
  },
  {
    check: ENDPOINTS,
    what: "the table's is paid by the hour",
    of: "vpc",
    change: inputs("GhoulsDynamodbEndpoint", { vpcEndpointType: "Interface" }),
  },
  {
    check: ENDPOINTS,
    what: "the table's is in no route table",
    of: "vpc",
    change: inputs("GhoulsDynamodbEndpoint", { routeTableIds: [] }),
  },
  {
    check: ENDPOINTS,
    what: "one is made where a NAT is",
    of: "iam",
    change: added("aws:ec2/vpcEndpoint:VpcEndpoint", "Extra", {
      vpcId: "vpc-1",
      serviceName: "com.amazonaws.us-east-1.sns",
      vpcEndpointType: "Interface",
      privateDnsEnabled: true,
      subnetIds: ["subnet-1", "subnet-2"],
      securityGroupIds: ["sg-1"],
    }),
  },
  {
    check: INGRESS,
    what: "all addresses are let in",
    of: "vpc",
    change: text("GhoulsEndpoints", '"fromPort"', '"cidrBlocks":["0.0.0.0/0"],"fromPort"'),
  },
  {
    check: INGRESS,
    what: "all ports are open",
    of: "vpc",
    change: text("GhoulsEndpoints", '"fromPort":443', '"fromPort":0'),
  },
  {
    check: INGRESS,
    what: "another group is let in",
    of: "vpc",
    change: text("GhoulsEndpoints", "sg-1", "sg-9"),
  },
  {
    check: INGRESS,
    what: "it is in another VPC",
    of: "vpc",
    change: inputs("GhoulsEndpoints", { vpcId: "vpc-9" }),
  },
];
