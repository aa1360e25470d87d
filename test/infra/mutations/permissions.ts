import type { Expected } from "../checks/check.ts";
import { added, inputs, inputsWithout, statement, text, variable, type Mutation } from "./mutation.ts";

const API = "GhoulsApiFunction";
const OWN_ROLE = "every function has a role of its own";
const TRUST = "a role is taken on by its service only";
const PATTERNS = "no action is a pattern, and no resource that nobody has argued for";
const PERMISSIONS = "roles may do what is written down and nothing else";
const VARIABLES = "no variable holds a secret";
const STATE = "no secret stands in state or outputs";

const role = (name: string) => `arn:aws:iam::123456789012:role/ghouls-test-${name}-bdvfbzta`;
const trustOf = (principal: object) =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: principal, Action: "sts:AssumeRole" }],
  });
const PASSWORD = "postgres://app:hunter2@db.example/app";

/** Somebody has written it down as wanted. */
export const wanted =
  (component: string, words: string) =>
  (expected: Expected): Expected => ({
    ...expected,
    permissions: {
      ...expected.permissions,
      [component]: [...(expected.permissions[component] ?? []), words],
    },
  });

export const PERMISSION_MUTATIONS: readonly Mutation[] = [
  { check: OWN_ROLE, what: "two share one", change: inputs(API, { role: role("GhoulsPreflightRole") }) },
  { check: OWN_ROLE, what: "one has a role from elsewhere", change: inputs(API, { role: role("Admin") }) },
  {
    check: TRUST,
    what: "SST's own policy lets the account in",
    change: inputs("GhoulsApiRole", {
      assumeRolePolicy: trustOf({ Service: "lambda.amazonaws.com", AWS: "arn:aws:iam::123456789012:root" }),
    }),
  },
  {
    check: TRUST,
    what: "everybody is let in",
    change: inputs("GhoulsApiRole", { assumeRolePolicy: trustOf({ AWS: "*" }) }),
  },
  {
    check: TRUST,
    what: "a function's is the scheduler's too",
    change: inputs("GhoulsApiRole", {
      assumeRolePolicy: trustOf({ Service: ["lambda.amazonaws.com", "scheduler.amazonaws.com"] }),
    }),
  },
  {
    check: TRUST,
    what: "the scheduler's is Lambda's",
    change: inputs("GhoulsScheduleRole", { assumeRolePolicy: trustOf({ Service: "lambda.amazonaws.com" }) }),
  },
  {
    check: PATTERNS,
    what: "every action on a queue is allowed",
    change: statement("GhoulsApiRole", {
      Effect: "Allow",
      Action: "sqs:*",
      Resource: "arn:aws:sqs:us-east-1:1:q",
    }),
    expect: wanted("GhoulsApi", "sqs:* on arn:aws:sqs:us-east-1:1:q"),
  },
  {
    check: PATTERNS,
    what: "all actions but a few are allowed",
    change: statement("GhoulsApiRole", {
      Effect: "Allow",
      NotAction: "iam:*",
      Resource: "arn:aws:sqs:us-east-1:1:q",
    }),
    expect: wanted("GhoulsApi", "* on arn:aws:sqs:us-east-1:1:q"),
  },
  {
    check: PATTERNS,
    what: "an action is allowed on everything",
    change: statement("GhoulsApiRole", { Effect: "Allow", Action: "kms:Decrypt", Resource: "*" }),
    expect: wanted("GhoulsApi", "kms:Decrypt on *"),
  },
  {
    check: PATTERNS,
    what: "an action is allowed on all but a few",
    change: statement("GhoulsApiRole", {
      Effect: "Allow",
      Action: "kms:Decrypt",
      NotResource: "arn:aws:kms:us-east-1:1:key/2",
    }),
    expect: wanted("GhoulsApi", "kms:Decrypt on *"),
  },
  {
    check: PATTERNS,
    what: "a managed policy is attached that nobody has argued for",
    change: inputs("GhoulsApiRole", { managedPolicyArns: ["arn:aws:iam::aws:policy/ReadOnlyAccess"] }),
    expect: wanted("GhoulsApi", "managed policy ReadOnlyAccess"),
  },
  {
    check: PATTERNS,
    what: "a key is any of six letters",
    change: statement("GhoulsApiRole", {
      Effect: "Allow",
      Action: "kms:Decrypt",
      Resource: "arn:aws:kms:us-east-1:1:key/??????",
    }),
    expect: wanted("GhoulsApi", "kms:Decrypt on arn:aws:kms:us-east-1:1:key/??????"),
  },
  {
    check: PATTERNS,
    what: "a pattern is argued for that nobody has",
    change: (graph) => graph,
    expect: (expected) => ({
      ...expected,
      patterns: { ...expected.patterns, "s3:GetObject on *": "it was needed once" },
    }),
  },
  {
    check: PERMISSIONS,
    what: "one may read a secret more",
    change: statement("GhoulsApiRole", {
      Effect: "Allow",
      Action: "secretsmanager:GetSecretValue",
      Resource: "arn:aws:secretsmanager:us-east-1:123456789012:secret:ghouls/migrator-AbCdEf",
    }),
  },
  {
    check: PERMISSIONS,
    what: "one may do nothing",
    change: inputsWithout("GhoulsApiRole", "inlinePolicies"),
    expect: withoutLog,
  },
  {
    check: PERMISSIONS,
    what: "a condition is gone",
    change: text(
      "GhoulsAdmissionRole",
      '\\"dynamodb:LeadingKeys\\":\\"reconciler\\"',
      '\\"dynamodb:Select\\":\\"COUNT\\"',
    ),
  },
  {
    check: "nothing is added to a role from outside of it",
    what: "a policy is attached to one",
    change: added("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "More", {
      role: "api",
      policyArn: "arn:aws:iam::aws:policy/X",
    }),
  },
  { check: VARIABLES, what: "one holds a password", change: variable(API, "DATABASE_URL", PASSWORD) },
  {
    check: VARIABLES,
    what: "one holds what the environment of the deploy had",
    change: variable(API, "NOTE", "a-password-of-the-application"),
  },
  { check: VARIABLES, what: "one is called a token", change: variable(API, "CALLBACK_TOKEN", "abc") },
  {
    check: VARIABLES,
    what: "SST's key for linked secrets is there",
    change: variable(API, "SST_KEY", "AAAA"),
  },
  {
    check: STATE,
    what: "a parameter holds a password",
    change: added("aws:ssm/parameter:Parameter", "Url", { name: "/url", type: "String", value: PASSWORD }),
  },
  {
    check: STATE,
    what: "the migration is told one",
    change: inputs("GhoulsMigrateInvocation", { input: JSON.stringify({ url: PASSWORD }) }),
  },
  {
    check: STATE,
    what: "a lookup gave one",
    change: added("aws:sns/topic:Topic", "T", {}, { display: "looked-up-secret-value" }),
  },
  {
    check: STATE,
    what: "an output prints one",
    change: (graph) => ({ ...graph, outputs: { url: PASSWORD } }),
  },
];

/** Its own log group is not argued for any more, since nobody has it. */
function withoutLog(expected: Expected): Expected {
  const { "logs:CreateLogStream, logs:PutLogEvents on GhoulsApiLog:*": _, ...patterns } = expected.patterns;
  return { ...expected, patterns };
}
