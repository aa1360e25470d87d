import type { Graph } from "@ghouls/localstack-utils";
import { inputs, statement, text, variable, all, waitsForNo, without, type Mutation } from "./mutation.ts";
import { wanted } from "./permissions.ts";

const EGRESS = "GhoulsEgressFunction";
const ROLE = "GhoulsEgressRole";
const ISOLATION = "questions to services leave from where nothing of the deployment is reached";
const ASKING = "only workers and the reconciler ask services";
const PERMISSIONS = "roles may do what is written down and nothing else";
const PLACEMENT = "functions are in the given subnets and groups";
const ENDPOINTS = "the endpoints that functions in a VPC need are there";
const PATTERNS = "no action is a pattern, and no resource that nobody has argued for";

const SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ghouls/application-AbCdEf";
const QUEUE = "arn:aws:sqs:us-east-1:123456789012:q";
const TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/t";

/** Lets a role invoke the function that the graph has. @param version ":1", or nothing */
const mayInvoke =
  (role: string, version = "") =>
  (graph: Graph): Graph => {
    const arn = graph.resources.find(({ name }) => name === EGRESS)?.state["arn"] as string;
    return statement(role, allows("lambda:InvokeFunction", arn + version))(graph);
  };
const allows = (Action: string, Resource: string) => ({ Effect: "Allow", Action, Resource });

export const EGRESS_MUTATIONS: readonly Mutation[] = [
  {
    check: ISOLATION,
    of: "services",
    what: "it has the address of the database secret",
    change: variable(EGRESS, "DATABASE_SECRET_ARN", SECRET),
  },
  {
    check: ISOLATION,
    of: "services",
    what: "it has it under another name",
    change: variable(EGRESS, "SIGNER_KEY", SECRET),
  },
  {
    check: ISOLATION,
    of: "services",
    what: "it has a queue's address",
    change: variable(EGRESS, "GHOULS_QUEUE_RUNS_URL", "https://sqs.example/runs"),
  },
  {
    check: ISOLATION,
    of: "services",
    what: "it has the table's name",
    change: variable(EGRESS, "EVENTS_TABLE", "events"),
  },
  ...([
    ["secretsmanager:GetSecretValue", SECRET],
    ["sqs:SendMessage", QUEUE],
    ["dynamodb:UpdateItem", TABLE],
    ["rds-db:connect", "arn:aws:rds-db:us-east-1:123456789012:dbuser:db-1/ghouls_app"],
  ].map(([action = "", resource = ""]) => ({
    check: ISOLATION,
    of: "services" as const,
    what: `it may ${action}, and somebody has written that down`,
    change: statement(ROLE, allows(action, resource)),
    expect: wanted("GhoulsEgress", `${action} on ${resource}`),
  })) satisfies readonly Mutation[]),
  {
    check: PERMISSIONS,
    of: "services",
    what: "the api may invoke the egress function's version",
    change: mayInvoke("GhoulsApiRole", ":1"),
  },
  {
    check: PERMISSIONS,
    of: "services",
    what: "what the project allows to the egress function is not allowed",
    change: text(ROLE, "signer-AbCdEf", "other-AbCdEf"),
  },
  {
    check: ASKING,
    of: "services",
    what: "the api may invoke it, and somebody has written that down",
    change: mayInvoke("GhoulsApiRole"),
    expect: wanted("GhoulsApi", `lambda:InvokeFunction on ${EGRESS}`),
  },
  {
    check: ASKING,
    of: "services",
    what: "the admission knows where it is",
    change: variable("GhoulsAdmissionFunction", "GHOULS_EGRESS_FUNCTION", "egress"),
  },
  {
    check: ASKING,
    of: "services",
    what: "a worker asks by another function",
    change: variable("GhoulsWorkerRunsFunction", "GHOULS_EGRESS_FUNCTION", "another"),
  },
  {
    check: ASKING,
    of: "services",
    what: "services report to another API",
    change: variable("GhoulsReconcilerFunction", "GHOULS_PUBLIC_URL", "https://another.example"),
  },
  {
    check: ASKING,
    of: "services",
    what: "a worker may be switched before it",
    change: all(waitsForNo("GhoulsWorkerRunsFunction", EGRESS), waitsForNo("GhoulsWorkerRunsRole", EGRESS)),
  },
  {
    check: PATTERNS,
    of: "services",
    what: "the reconciler may invoke every function",
    change: statement("GhoulsReconcilerRole", allows("lambda:InvokeFunction", "*")),
    expect: wanted("GhoulsReconciler", "lambda:InvokeFunction on *"),
  },
  {
    check: PLACEMENT,
    of: "servicesInVpc",
    what: "the egress function is in the VPC",
    change: inputs(EGRESS, {
      vpcConfig: { subnetIds: ["subnet-1", "subnet-2"], securityGroupIds: ["sg-1"] },
    }),
  },
  {
    check: ENDPOINTS,
    of: "servicesInVpc",
    what: "the egress function is out of the workers' reach",
    change: without("GhoulsLambdaEndpoint"),
  },
];
