import {
  added,
  inputs,
  inputsWithout,
  variable,
  waitsForNo,
  waitsForNothing,
  without,
  type Mutation,
} from "./mutation.ts";

const API = "GhoulsApiFunction";
const RUNTIME = "functions run on Node 24 and arm64";
const RESERVED = "nothing is reserved unless it is set";
const LOGS = "logs are kept for as long as it is set";
const ORDER = "a deploy migrates, judges, and only then switches code";
const CALLERS = "only the API calls functions by a right of their own";
const RUNS_MAPPING = /^GhoulsQueueRunsSubscriber.*EventSourceMapping$/;
const ROUTE = /^GhoulsHttpRoute.*Route$/;
const PERMISSION = /^GhoulsHttpRoute.*Permissions$/;

export const FUNCTION_MUTATIONS: readonly Mutation[] = [
  { check: RUNTIME, what: "one runs on Node 20", change: inputs(API, { runtime: "nodejs20.x" }) },
  {
    check: RUNTIME,
    what: "one is left to Lambda's own architecture",
    change: inputsWithout(API, "architectures"),
  },
  {
    check: RESERVED,
    what: "one reserves what nobody has set",
    change: inputs(API, { reservedConcurrentExecutions: 1 }),
  },
  {
    check: RESERVED,
    what: "a reservation that is set is not made",
    of: "vpc",
    change: inputsWithout("GhoulsAdmissionFunction", "reservedConcurrentExecutions"),
  },
  {
    check: LOGS,
    what: "a group keeps them for ever",
    change: inputsWithout("GhoulsApiLog", "retentionInDays"),
  },
  {
    check: LOGS,
    what: "another number of days is set",
    of: "vpc",
    change: inputs("GhoulsApiLog", { retentionInDays: 30 }),
  },
  {
    check: LOGS,
    what: "a function logs to the group that Lambda makes",
    change: inputsWithout(API, "loggingConfig"),
  },
  {
    check: ORDER,
    what: "a function's code does not wait for the preflight",
    change: waitsForNothing(API),
  },
  {
    check: ORDER,
    what: "a function may do something else before the preflight",
    change: waitsForNothing("GhoulsApiRole"),
  },
  {
    check: ORDER,
    what: "others may send before the preflight",
    change: waitsForNothing("GhoulsPolicyRuns"),
  },
  { check: ORDER, what: "a mapping changes before the preflight", change: waitsForNothing(RUNS_MAPPING) },
  { check: ORDER, what: "a route changes before the preflight", change: waitsForNothing(ROUTE) },
  { check: ORDER, what: "the API calls before the preflight", change: waitsForNothing(PERMISSION) },
  {
    check: ORDER,
    what: "the schedule changes before the preflight",
    change: waitsForNothing("GhoulsScheduleSchedule"),
  },
  {
    check: ORDER,
    what: "the preflight does not wait for the migration",
    change: waitsForNo("GhoulsPreflightInvocation", "GhoulsMigrateInvocation"),
  },
  {
    check: ORDER,
    what: "the migration does not wait for its own function",
    change: waitsForNo("GhoulsMigrateInvocation", "GhoulsMigrateFunction"),
  },
  { check: ORDER, what: "nobody invokes the migration", change: without("GhoulsMigrateInvocation") },
  { check: ORDER, what: "nobody invokes the preflight", change: without("GhoulsPreflightInvocation") },
  {
    check: ORDER,
    what: "the migration is invoked with the first deploy only",
    change: inputsWithout("GhoulsMigrateInvocation", "triggers"),
  },
  {
    check: ORDER,
    what: "the preflight is triggered by something that never changes",
    change: inputs("GhoulsPreflightInvocation", { triggers: { stage: "test" } }),
  },
  { check: ORDER, what: "a function is of another build", change: variable(API, "GHOULS_BUILD", "another") },
  { check: CALLERS, what: "everybody may invoke one", change: inputs(PERMISSION, { principal: "*" }) },
  { check: CALLERS, what: "every API of AWS may", change: inputsWithout(PERMISSION, "sourceArn") },
  {
    check: CALLERS,
    what: "another API may",
    change: inputs(PERMISSION, { sourceArn: "arn:aws:execute-api:us-east-1:123456789012:another/*" }),
  },
  {
    check: CALLERS,
    what: "a function has a URL of its own",
    change: added("aws:lambda/functionUrl:FunctionUrl", "Direct", {
      functionName: "api",
      authorizationType: "NONE",
    }),
  },
  {
    check: CALLERS,
    what: "the one with a URL gathers what it says",
    change: inputs("GhoulsStreamUrl", { invokeMode: "BUFFERED" }),
  },
  {
    check: CALLERS,
    what: "pages of any origin may follow runs",
    change: inputs("GhoulsStreamUrl", { cors: { allowOrigins: ["*"] } }),
  },
  { check: CALLERS, what: "events stream nowhere", change: without("GhoulsStreamUrl") },
  {
    check: CALLERS,
    what: "everybody may invoke the one with a URL past it",
    change: inputs("GhoulsStreamInvokeFunction", { invokedViaFunctionUrl: false }),
  },
];
