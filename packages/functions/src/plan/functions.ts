import {
  GhoulsError,
  deadLettersUrlVariable,
  durationMs,
  queueUrlVariable,
  type QueueSettings,
  type ServicePermission,
} from "@ghouls/core";
import { ref, type Reference } from "./names.ts";
import type { PlanOptions } from "./options.ts";
import type { QueuePlan } from "./queues.ts";
import type { ReleasesPlan } from "./releases.ts";
import {
  allowedBy,
  asksServices,
  connects,
  consumes,
  entersVpc,
  followsEvents,
  hint,
  readsDeadLetters,
  readsReleases,
  removesReleases,
  saysEvents,
  sends,
  writesLog,
  type StatementPlan,
} from "./statements.ts";

/** The bundles; a worker's serves every queue. */
export const ENTRIES = [
  "admission",
  "api",
  "events",
  "worker",
  "reconciler",
  "migrate",
  "preflight",
  "egress",
] as const;
export type Entry = (typeof ENTRIES)[number];

export interface FunctionPlan {
  readonly id: string;
  /** Which bundle it runs. */
  readonly entry: Entry;
  readonly handler: "index.handler";
  readonly runtime: "nodejs24.x";
  readonly architecture: "arm64";
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** Whether it has a URL of its own, of everybody, on which it streams what it answers. */
  readonly streams: boolean;
  /** Executions that are reserved for it; null where none are. */
  readonly reserved: number | null;
  /** Executions at the same time at most; null where only the account's limit ends them. */
  readonly executions: number | null;
  /** Whether it connects to the database. One that does not stays outside of the VPC, where there is one. */
  readonly connects: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly statements: readonly StatementPlan[];
  readonly logDays: number;
  /** Whether its code is switched only after the migration and the preflight. */
  readonly afterPreflight: boolean;
  readonly arn: Reference;
}

/** Below the limit of API Gateway's integrations, which is 30 s. Source: "Quotas for HTTP APIs". */
const HTTP_TIMEOUT_SECONDS = 29;
/** Of one stream: whoever reads it connects again, and a quiet one does not hold an environment for long. */
const EVENTS_TIMEOUT_SECONDS = 300;
/** Below the minute between two invocations, so that they do not overlap. */
const RECONCILER_TIMEOUT_SECONDS = 50;
const MIGRATE_TIMEOUT_SECONDS = 900;
const PREFLIGHT_TIMEOUT_SECONDS = 120;
/** At least: a service may have more time to answer than that. */
const EGRESS_TIMEOUT_SECONDS = 30;
/** Above a service's own time, for its adapter to let go and for the answer. */
const EGRESS_MARGIN_SECONDS = 5;
/** The scheduler delivers at least once: two may run at the same time. */
const RECONCILER_EXECUTIONS = 2;

/**
 * Lambda's certificates, those of RDS among them, which Node 20 and later do not load there by themselves.
 * Source: AWS Lambda, "Building Lambda functions with Node.js".
 */
const LAMBDA_CA_FILE = "/var/runtime/ca-cert.pem";

export interface Parts {
  readonly queues: readonly QueuePlan[];
  readonly settings: Readonly<Record<string, QueueSettings>>;
  readonly schema: string;
  readonly hint: boolean;
  readonly services: Readonly<Record<string, PlannedService>>;
  readonly releases: ReleasesPlan;
  readonly options: PlanOptions;
}

/** What a plan reads of a service. */
export interface PlannedService {
  readonly times: { readonly timeoutMs: number };
  readonly permissions?: readonly ServicePermission[];
}

/** @throws GhoulsError configuration_invalid for a reservation of a function that is none */
export function planFunctions(parts: Parts): FunctionPlan[] {
  const planned = [
    httpFunction("admission", parts),
    httpFunction("api", parts),
    eventsFunction(parts),
    // Before those that invoke it: they name it, and their code is switched after its own.
    ...(hasServices(parts) ? [egressFunction(parts)] : []),
    ...parts.queues.flatMap((queue) => workerFunction(queue, parts)),
    reconcilerFunction(parts),
    deployFunction("migrate", MIGRATE_TIMEOUT_SECONDS, parts),
    deployFunction("preflight", PREFLIGHT_TIMEOUT_SECONDS, parts),
  ];
  const unknown = Object.keys(parts.options.concurrency.reserved).find(
    (id) => !planned.some((one) => one.id === id),
  );
  if (unknown === undefined) return planned;
  throw new GhoulsError(
    "configuration_invalid",
    `concurrency.reserved names "${unknown}", which is no function`,
    {
      fix: `Name one of: ${planned.map(({ id }) => id).join(", ")}.`,
    },
  );
}

function httpFunction(id: "admission" | "api", parts: Parts): FunctionPlan {
  const { queues, options } = parts;
  return planned(id, id, parts, {
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    memoryMb: options.memory.http,
    executions: null,
    environment: { ...(id === "admission" ? queueUrls(queues) : {}), ...TABLE },
    statements:
      id === "admission"
        ? [sends(queues), saysEvents, ...(parts.hint ? [hint("lowers")] : [])]
        : [followsEvents],
  });
}

/** The one that streams, which API Gateway cannot: it has a URL of its own, and asks for a token as the API does. */
function eventsFunction(parts: Parts): FunctionPlan {
  const made = planned("stream", "events", parts, {
    timeoutSeconds: EVENTS_TIMEOUT_SECONDS,
    memoryMb: parts.options.memory.http,
    executions: null,
    environment: TABLE,
    statements: [followsEvents],
  });
  return { ...made, streams: true };
}

function workerFunction(queue: QueuePlan, parts: Parts): FunctionPlan[] {
  const { mapping } = queue;
  if (mapping === null) return [];
  const settings = parts.settings[queue.name];
  const one = planned(mapping.function, "worker", parts, {
    timeoutSeconds: Math.ceil(durationMs(settings?.functionTimeout ?? "15m") / 1_000),
    memoryMb: parts.options.memory.worker,
    executions: mapping.maximumConcurrency,
    ...worksOn(queue, parts),
  });
  return [one];
}

/** What whoever works on a queue is given: a hop's next delivery goes into the queue that it came from. */
function worksOn(queue: QueuePlan, parts: Parts): Pick<FunctionPlan, "environment" | "statements"> {
  return {
    environment: {
      ...queueUrls([queue]),
      ...TABLE,
      ...releases(parts),
      ...delegation(parts),
      ...MEASURED,
    },
    statements: [
      consumes(queue),
      sends([queue]),
      saysEvents,
      ...readsReleases(parts.releases),
      ...(parts.hint ? [hint("lowers")] : []),
      ...(hasServices(parts) ? [asksServices] : []),
    ],
  };
}

/** What `ghouls worker` needs for a queue that no function serves. Whoever runs it gives it both. */
export interface ProcessPlan {
  readonly queue: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly statements: readonly StatementPlan[];
}

export function planProcesses(parts: Parts): ProcessPlan[] {
  const { schema, options } = parts;
  return parts.queues
    .filter(({ mapping }) => mapping === null)
    .map((queue) => {
      const { environment, statements } = worksOn(queue, parts);
      const { driver } = options.database;
      const reaches = { DATABASE_DRIVER: driver, ...connection("application", options.database) };
      return {
        queue: queue.name,
        environment: { ...reaches, GHOULS_SCHEMA: schema, ...environment },
        statements: [...connects("application", options.database), ...statements],
      };
    });
}

function reconcilerFunction(parts: Parts): FunctionPlan {
  return planned("reconciler", "reconciler", parts, {
    timeoutSeconds: RECONCILER_TIMEOUT_SECONDS,
    memoryMb: parts.options.memory.reconciler,
    executions: RECONCILER_EXECUTIONS,
    environment: {
      ...queueUrls(parts.queues),
      ...deadLetterUrls(parts.queues),
      ...TABLE,
      ...delegation(parts),
      ...MEASURED,
    },
    statements: [
      sends(parts.queues),
      readsDeadLetters(parts.queues),
      saysEvents,
      ...(parts.hint ? [hint("keeps")] : []),
      ...(hasServices(parts) ? [asksServices] : []),
    ],
  });
}

/**
 * Where questions to services leave from. It has its log and what its services name: no connection, no queue, no table. It never
 * enters the VPC: inside, it would reach the database and, without a NAT, no service; outside, it is the other way round.
 */
function egressFunction({ services, options }: Parts): FunctionPlan {
  const slowest = Math.max(...Object.values(services).map(({ times }) => Math.ceil(times.timeoutMs / 1_000)));
  return {
    ...FOR_ALL,
    id: "egress",
    entry: "egress",
    timeoutSeconds: Math.max(EGRESS_TIMEOUT_SECONDS, slowest + EGRESS_MARGIN_SECONDS),
    memoryMb: options.memory.egress,
    reserved: options.concurrency.reserved["egress"] ?? null,
    executions: null,
    connects: false,
    environment: { GHOULS_BUILD: ref("build") },
    statements: [writesLog("egress"), ...allowedBy(services)],
    logDays: options.logDays,
    arn: ref("function.egress.arn"),
  };
}

function hasServices({ services }: Parts): boolean {
  return Object.keys(services).length > 0;
}

/** Where those that ask services find the function for it, and where a service may report. */
function delegation(parts: Parts): Record<string, string> {
  if (!hasServices(parts)) return {};
  return { GHOULS_EGRESS_FUNCTION: ref("function.egress.arn"), GHOULS_PUBLIC_URL: ref("http.url") };
}

/** The two that a deploy invokes: they stand before the switch of code, and nobody else calls them. */
function deployFunction(id: "migrate" | "preflight", timeoutSeconds: number, parts: Parts): FunctionPlan {
  const shape = { timeoutSeconds, memoryMb: parts.options.memory.deploy, executions: 1 };
  if (id === "preflight")
    return {
      ...planned(id, id, parts, {
        ...shape,
        environment: releases(parts),
        statements: [...readsReleases(parts.releases), removesReleases(parts.releases)],
      }),
      afterPreflight: false,
    };
  const { applicationRole } = parts.options.database;
  const made = planned(id, id, parts, { ...shape, environment: {}, statements: [] }, "migrator");
  return {
    ...made,
    afterPreflight: false,
    environment: { ...made.environment, GHOULS_APPLICATION_ROLE: applicationRole },
  };
}

/** What every function is, whatever its part. */
const FOR_ALL = {
  handler: "index.handler",
  runtime: "nodejs24.x",
  architecture: "arm64",
  streams: false,
  afterPreflight: true,
} as const;

function planned(
  id: string,
  entry: Entry,
  { schema, options }: Parts,
  shape: Pick<FunctionPlan, "timeoutSeconds" | "memoryMb" | "executions" | "environment" | "statements">,
  as: "application" | "migrator" = "application",
): FunctionPlan {
  return {
    ...FOR_ALL,
    id,
    entry,
    reserved: options.concurrency.reserved[id] ?? null,
    connects: true,
    logDays: options.logDays,
    arn: ref(`function.${id}.arn`),
    ...shape,
    environment: {
      NODE_EXTRA_CA_CERTS: LAMBDA_CA_FILE,
      DATABASE_DRIVER: options.database.driver,
      ...connection(as, options.database),
      GHOULS_SCHEMA: schema,
      GHOULS_BUILD: ref("build"),
      ...shape.environment,
    },
    statements: [
      writesLog(id),
      ...connects(as, options.database),
      ...(options.vpc === null ? [] : [entersVpc]),
      ...shape.statements,
    ],
  };
}

/** Where the connection string comes from. No variable holds a password. */
function connection(
  as: "application" | "migrator",
  { auth }: PlanOptions["database"],
): Record<string, string> {
  const name = as === "application" ? "DATABASE" : "GHOULS_MIGRATION_DATABASE";
  if (auth === "secret") return { [`${name}_SECRET_ARN`]: ref(`database.${as}.secret.arn`) };
  return { [`${name}_URL`]: ref(`database.${as}.url`), DATABASE_AUTH: "iam" };
}

function queueUrls(queues: readonly QueuePlan[]): Record<string, string> {
  return Object.fromEntries(queues.map(({ name, url }) => [queueUrlVariable(name), url]));
}

function deadLetterUrls(queues: readonly QueuePlan[]): Record<string, string> {
  return Object.fromEntries(
    queues.map(({ name, deadLetterUrl }) => [deadLettersUrlVariable(name), deadLetterUrl]),
  );
}

/** Of those that write measures: into their log, from which CloudWatch takes them. */
const MEASURED = { GHOULS_DEPLOYMENT: ref("deployment") };

function releases({ releases: { place } }: Parts): Record<string, string> {
  return { GHOULS_RELEASES: place };
}

/** Of those that say or tell what happens. */
const TABLE = { EVENTS_TABLE: ref("table.name") };
