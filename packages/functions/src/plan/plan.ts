import { ROUTE_KEYS } from "@ghouls/api";
import { GhoulsError, type QueueSettings } from "@ghouls/core";
import { planAlarms, type AlarmPlan } from "./alarms.ts";
import { planConnections, type ConnectionsPlan } from "./connections.ts";
import { planDashboard, type WidgetPlan } from "./dashboard.ts";
import {
  planFunctions,
  planProcesses,
  type FunctionPlan,
  type PlannedService,
  type ProcessPlan,
} from "./functions.ts";
import { ref, type Reference } from "./names.ts";
import { PlanOptions, type PlanOptionsInput } from "./options.ts";
import { planQueues, type QueuePlan } from "./queues.ts";
import { planReleases, type ReleasesPlan } from "./releases.ts";

/** What a plan reads of a configuration made by `defineConfig`. */
export interface PlannedConfig {
  readonly queues: Readonly<Record<string, QueueSettings>>;
  readonly database: { readonly schema: string; readonly poolSize: number };
  readonly reconciler: { readonly hint: boolean };
  readonly services: Readonly<Record<string, PlannedService>>;
}

/**
 * All that a deployment consists of, as data: SST carries it out, and `ghouls infra --json` prints it for those who use
 * something else. `${…}` stands for what is known only when its resource exists.
 */
export interface DeploymentPlan {
  readonly queues: readonly QueuePlan[];
  readonly table: TablePlan;
  readonly releases: ReleasesPlan;
  readonly functions: readonly FunctionPlan[];
  /** What `ghouls worker` needs for each queue that no function serves; nothing of it is made by the deployment. */
  readonly processes: readonly ProcessPlan[];
  readonly http: HttpPlan;
  /** Where events stream. */
  readonly events: { readonly function: "stream"; readonly url: Reference };
  readonly schedule: SchedulePlan;
  /** In this order: each only after the one before has succeeded. The last is the code of all other functions. */
  readonly deploy: readonly ["migrate", "preflight", "switch"];
  readonly network: NetworkPlan | null;
  readonly alarms: readonly AlarmPlan[];
  readonly dashboard: readonly WidgetPlan[];
  readonly connections: ConnectionsPlan;
}

interface TablePlan {
  readonly keys: { readonly hash: "pk"; readonly range: "sk" };
  /** Attribute in epoch seconds after which DynamoDB removes an item. */
  readonly ttl: "expires_at";
  readonly billing: "PAY_PER_REQUEST";
  readonly arn: Reference;
}

interface HttpPlan {
  /** Function by route; `$default` answers what is no route with a problem document. */
  readonly routes: Readonly<Record<string, "admission" | "api">>;
  readonly throttle: PlanOptions["throttle"];
  readonly payload: "2.0";
  /** Its address, as services report to it. */
  readonly url: Reference;
}

interface SchedulePlan {
  readonly function: "reconciler";
  readonly expression: "rate(1 minute)";
  /** The next invocation comes in a minute anyway. */
  readonly retries: 0;
}

interface NetworkPlan {
  readonly subnets: Reference;
  readonly securityGroups: Reference;
  /** Without a way to the internet the functions reach AWS through these. */
  readonly endpoints: readonly { readonly service: string; readonly type: "Interface" | "Gateway" }[];
}

/**
 * Plans a deployment.
 * @throws GhoulsError configuration_invalid naming what cannot be deployed, and what to do
 */
export function planDeployment(config: PlannedConfig, given: PlanOptionsInput = {}): DeploymentPlan {
  const options = checked(given);
  const queues = planQueues(config.queues);
  const releases = planReleases();
  const parts = {
    queues,
    releases,
    settings: config.queues,
    schema: config.database.schema,
    hint: config.reconciler.hint,
    services: config.services,
    options,
  };
  const functions = planFunctions(parts);
  return {
    queues,
    table: {
      keys: { hash: "pk", range: "sk" },
      ttl: "expires_at",
      billing: "PAY_PER_REQUEST",
      arn: ref("table.arn"),
    },
    releases,
    functions,
    processes: planProcesses(parts),
    http: { routes: routes(), throttle: options.throttle, payload: "2.0", url: ref("http.url") },
    events: { function: "stream", url: ref("function.stream.url") },
    schedule: { function: "reconciler", expression: "rate(1 minute)", retries: 0 },
    deploy: ["migrate", "preflight", "switch"],
    network: network(options, functions),
    alarms: planAlarms(queues, functions, options),
    dashboard: planDashboard(queues, functions),
    connections: planConnections(functions, config.database.poolSize, options),
  };
}

function checked(given: PlanOptionsInput): PlanOptions {
  const parsed = PlanOptions.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    path: `/${issue.path.map(String).join("/")}`,
    message: issue.message,
  }));
  throw new GhoulsError("configuration_invalid", "the options of the deployment are not valid", {
    issues,
    fix: issues.map(({ path, message }) => `${path}: ${message}`).join("; "),
  });
}

function routes(): HttpPlan["routes"] {
  return Object.fromEntries([
    ...ROUTE_KEYS.admission.map((route) => [route, "admission"] as const),
    ...ROUTE_KEYS.api.map((route) => [route, "api"] as const),
    ["$default", "api"] as const,
  ]);
}

function network({ vpc, database }: PlanOptions, functions: readonly FunctionPlan[]): NetworkPlan | null {
  if (vpc === null) return null;
  const needed: NetworkPlan["endpoints"] = [
    { service: "sqs", type: "Interface" },
    { service: "dynamodb", type: "Gateway" },
    { service: "s3", type: "Gateway" },
    ...(database.auth === "secret" ? [{ service: "secretsmanager", type: "Interface" } as const] : []),
    // The egress function is outside, and is invoked from inside.
    ...(functions.some(({ entry }) => entry === "egress")
      ? [{ service: "lambda", type: "Interface" } as const]
      : []),
  ];
  return {
    subnets: ref("vpc.subnets"),
    securityGroups: ref("vpc.securityGroups"),
    endpoints: vpc.endpoints ? needed : [],
  };
}
