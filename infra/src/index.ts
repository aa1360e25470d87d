import type { DeploymentPlan } from "@ghouls/functions";
import { deploy, functionOf } from "./deploy.ts";
import { makeAlarms, makeDashboard } from "./alarms.ts";
import { makeLogs } from "./functions.ts";
import { makeHttp, routeHttp } from "./http.ts";
import { makeEndpoints } from "./network.ts";
import type { GhoulsOptions, GhoulsOutputs, Platform } from "./options.ts";
import { nameGiven, planOptionsOf } from "./plan-options.ts";
import type { Components, Value } from "./platform.ts";
import { readProject } from "./project.ts";
import { guardQueue, makeQueues, subscribe } from "./queues.ts";
import { References } from "./references.ts";
import { makeReleases, uploadReleases } from "./releases.ts";
import { makeSchedule } from "./schedule.ts";
import { makeTable } from "./table.ts";

export type {
  DatabaseOptions,
  EgressOptions,
  GhoulsOptions,
  GhoulsOutputs,
  Input,
  Platform,
  VpcOptions,
} from "./options.ts";

/**
 * Ghouls on AWS: queues, functions, HTTP API, table, schedule, alarms and dashboard, planned by the project's own
 * `ghouls.config.ts` and built by its own `ghouls` (design.md §7).
 * @param platform `{ sst, aws }`, the globals of sst.config.ts
 * @throws Error where the configuration cannot be deployed, with what to do
 */
export function ghouls(platform: Platform, options: GhoulsOptions): GhoulsOutputs {
  const components = platform as Components;
  const references = new References();
  nameGiven(options, references);
  const project = readProject(options.config, planOptionsOf(options), options.built);
  const { plan } = project;
  refuseIdleEgress(options, plan);
  refuseUnknownWorkers(options, plan);
  references.set("build", project.built.build);
  references.set("deployment", `${$app.name}-${$app.stage}`);

  if (options.vpc !== undefined) makeEndpoints(components, plan, options.vpc);
  const table = makeTable(components, plan, references);
  const queues = makeQueues(components, plan, references);
  makeLogs(components, plan, references);
  const api = makeHttp(components, plan, references);
  const releases = uploadReleases(components, plan, project, makeReleases(components, references));
  const functions = deploy(plan, releases, {
    components,
    project,
    references,
    vpc: vpcOf(options),
    egress: options.egress,
  });

  const outside = (options.senders ?? []) as readonly Value<string>[];
  for (const queue of queues) {
    const { name, mapping } = queue.plan;
    if (mapping !== null) subscribe(queue, mapping, functionOf(functions, mapping.function).arn);
    const senders = queue.plan.senders.map((id) => functionOf(functions, id).nodes.role.arn);
    const workers = (options.workers?.[name] ?? []) as readonly Value<string>[];
    guardQueue(components, queue, [...senders, ...workers, ...outside]);
  }
  routeHttp(api, plan, functions);
  makeSchedule(components, plan, functions);
  makeAlarms(components, plan, references, options.alarms?.topic as Value<string> | undefined);
  makeDashboard(components, plan, references);
  return {
    api: api.url,
    events: references.fill(plan.events.url),
    table: table.name,
    queues: Object.fromEntries(queues.map(({ plan: { name }, queue }) => [name, queue.url])),
    connections: plan.connections.worst,
  };
}

/** @throws Error where something is given to an egress function that is not made */
function refuseIdleEgress({ egress }: GhoulsOptions, { functions }: DeploymentPlan): void {
  if (egress === undefined || functions.some(({ entry }) => entry === "egress")) return;
  throw new Error(
    "egress is given, and the configuration names no service: there is no egress function.\n  Fix: name a service in services, or leave egress out.",
  );
}

/** A worker that may not send leaves each next hop to the reconciler. @throws Error where one has no role, or no queue */
function refuseUnknownWorkers({ workers = {} }: GhoulsOptions, { queues }: DeploymentPlan): void {
  const served = queues.filter(({ mapping }) => mapping === null).map(({ name }) => name);
  const without = served.find((name) => (workers[name] ?? []).length === 0);
  if (without !== undefined)
    throw new Error(
      `the queue "${without}" is served by \`ghouls worker\`, and no role of it is named.\n  Fix: workers: { "${without}": ["arn:aws:iam::…:role/…"] }.`,
    );
  const other = Object.keys(workers).find((name) => !served.includes(name));
  if (other === undefined) return;
  throw new Error(
    `workers names "${other}", which is no queue that \`ghouls worker\` serves.\n  Fix: say worker: "process" in queues.${other}, or leave it out.`,
  );
}

function vpcOf({ vpc }: GhoulsOptions) {
  if (vpc === undefined) return undefined;
  return {
    privateSubnets: vpc.subnets as Value<string[]>,
    securityGroups: vpc.securityGroups as Value<string[]>,
  };
}
