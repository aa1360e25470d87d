import type { Graph } from "@ghouls/localstack-utils";
import * as alarms from "./alarms.ts";
import type { Check, Expected } from "./check.ts";
import * as edges from "./edges.ts";
import * as egress from "./egress.ts";
import * as functions from "./functions.ts";
import * as lifecycle from "./lifecycle.ts";
import * as network from "./network.ts";
import * as permissions from "./permissions.ts";
import * as queues from "./queues.ts";
import * as releases from "./releases.ts";
import * as secrets from "./secrets.ts";

/** By what they hold. Each has a mutation that makes it speak (graph.test.ts). */
const CHECKS = {
  "every queue has a dead-letter queue of its own that it redrives to late": queues.redrive,
  "dead-letter queues keep messages for 14 days": queues.retention,
  "a queue's visibility timeout is not below its function's timeout": queues.visibility,
  "every queue is taken from by one function of its own": queues.consumption,
  "mappings report failures by item, and limit batch and concurrency": queues.mapping,
  "a queue's policy admits its senders only, over TLS": queues.queueGuards,
  "functions run on Node 24 and arm64": functions.runtimes,
  "nothing is reserved unless it is set": functions.reservations,
  "logs are kept for as long as it is set": functions.logs,
  "a deploy migrates, judges, and only then switches code": functions.deployOrder,
  "only the API calls functions by a right of their own": functions.callers,
  "every function has a role of its own": permissions.ownRoles,
  "a role is taken on by its service only": permissions.trust,
  "no action is a pattern, and no resource that nobody has argued for": permissions.patterns,
  "roles may do what is written down and nothing else": permissions.permissions,
  "nothing is added to a role from outside of it": permissions.attachments,
  "questions to services leave from where nothing of the deployment is reached": egress.isolation,
  "only workers and the reconciler ask services": egress.asking,
  "releases are there before the preflight, and stay when a build has them no more": releases.uploads,
  "where releases lie is private": releases.privacy,
  "workers and the preflight are told where releases lie": releases.places,
  "no variable holds a secret": secrets.secretsInVariables,
  "no secret stands in state or outputs": secrets.secretsInState,
  "the table expires its items": lifecycle.expiry,
  "production is protected and kept, other stages are removed": lifecycle.removal,
  "dead letters are heard of": alarms.deadLetterAlarms,
  "waiting messages are heard of": alarms.waitingAlarms,
  "errors of every function are heard of": alarms.errorAlarms,
  "a silent reconciler is heard of": alarms.silenceAlarm,
  "what the ledger waits for is heard of, of this deployment": alarms.ledgerAlarms,
  "dead letters are held against the ledger": queues.deadLettersRead,
  "alarms tell the topic that is set": alarms.alarmActions,
  "every function and queue is on the dashboard": alarms.dashboard,
  "every route leads to its function with payload 2.0": edges.httpRoutes,
  "no other origin is let in": edges.cors,
  "requests are throttled": edges.throttling,
  "the reconciler comes every minute, one at a time": edges.schedule,
  "functions are in the given subnets and groups": network.placement,
  "the endpoints that functions in a VPC need are there": network.vpcEndpoints,
  "endpoints let HTTPS of the functions in and nothing else": network.ingress,
} as const satisfies Readonly<Record<string, Check>>;

export type CheckName = keyof typeof CHECKS;
export const CHECK_NAMES = Object.keys(CHECKS) as CheckName[];

/** What the checks say of a graph; those that say nothing are left out. */
export function problemsOf(graph: Graph, expected: Expected): Partial<Record<CheckName, string[]>> {
  const said = CHECK_NAMES.map((name) => [name, CHECKS[name](graph, expected)] as const);
  return Object.fromEntries(said.filter(([, problems]) => problems.length > 0));
}
