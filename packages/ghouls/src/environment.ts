import { GhoulsError, deadLettersUrlVariable, queueUrlVariable } from "@ghouls/core";
import * as z from "zod";
import {
  CONNECTION_VARIABLES,
  checkConnection,
  databaseOf,
  type DatabaseEnvironment,
  type RoleVariables,
} from "./database-environment.ts";

/** What a process of Ghouls reads from its environment, once. */
export interface Environment {
  readonly database: DatabaseEnvironment;
  readonly schema: string | undefined;
  readonly region: string;
  readonly endpoint: string | undefined;
  readonly dynamodbEndpoint: string | undefined;
  /** The DynamoDB table of the events, which also holds the reconciler's hint. */
  readonly eventsTable: string | undefined;
  /** Whether the table has the reconciler's hint; not on one machine, where it never sleeps. */
  readonly hint: boolean;
  /** URLs of those queues of the configuration that have one. */
  readonly queueUrls: Readonly<Record<string, string>>;
  /** URLs of the dead-letter queues of those that have one here. */
  readonly deadLetterUrls: Readonly<Record<string, string>>;
  /** Where releases lie: a bucket or a folder; undefined where nobody has said so. */
  readonly releases: string | undefined;
  /** Which of an account's deployments this is; undefined where nobody measures it. */
  readonly deployment: string | undefined;
  /** Identity of this process for its supervisor; undefined where it makes its own. */
  readonly workerId: string | undefined;
  readonly build: string;
  /** Whether this process is a Lambda function. */
  readonly onLambda: boolean;
  /** Address of the API as other services reach it, for their callbacks. */
  readonly publicUrl: string | undefined;
  /** Name or ARN of the function that questions to services leave from; undefined where they leave from this process. */
  readonly egressFunction: string | undefined;
  /** Whether each hop is replayed once after its end: a local host says so. */
  readonly replayCheck: boolean;
  /** Whether this process has an inspector, and a local host that holds its leases and never ends it for its time. */
  readonly inspected: boolean;
}

const APPLICATION: RoleVariables = {
  url: "DATABASE_URL",
  secret: "DATABASE_SECRET_ARN",
  role: "application's role",
};

const Variables = z
  .object({
    ...CONNECTION_VARIABLES,
    DATABASE_URL: z.string().optional(),
    DATABASE_SECRET_ARN: z.string().optional(),
    AWS_ENDPOINT_URL_DYNAMODB: z.url().optional(),
    AWS_LAMBDA_FUNCTION_NAME: z.string().optional(),
    GHOULS_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
    GHOULS_EGRESS_FUNCTION: z.string().min(1).optional(),
    EVENTS_TABLE: z.string().min(1).optional(),
    GHOULS_SCHEMA: z.string().min(1).optional(),
    GHOULS_RELEASES: z.string().min(1).optional(),
    GHOULS_WORKER_ID: z.string().min(1).max(200).optional(),
    GHOULS_DEPLOYMENT: z.string().min(1).max(200).optional(),
    GHOULS_BUILD: z.string().min(1).max(200).default("dev"),
    GHOULS_HINT: z.enum(["0", "1"]).default("1"),
    GHOULS_INSPECT: z.string().optional(),
    GHOULS_REPLAY_CHECK: z.enum(["0", "1"]).default("0"),
  })
  .superRefine((data, context) => checkConnection(data, APPLICATION, refusalsOf(context)));

/**
 * Reads the environment for a configuration's queues.
 * @throws GhoulsError configuration_invalid naming each variable; values are never repeated
 */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  queues: readonly string[],
): Environment {
  const data = parsedBy(Variables, variables);
  return {
    database: databaseOf(data, data.DATABASE_URL, data.DATABASE_SECRET_ARN),
    schema: data.GHOULS_SCHEMA,
    releases: data.GHOULS_RELEASES,
    region: data.AWS_REGION,
    endpoint: data.AWS_ENDPOINT_URL,
    dynamodbEndpoint: data.AWS_ENDPOINT_URL_DYNAMODB ?? data.AWS_ENDPOINT_URL,
    eventsTable: data.EVENTS_TABLE,
    hint: data.GHOULS_HINT === "1",
    queueUrls: urlsOf(queues, queueUrlVariable, variables),
    deadLetterUrls: urlsOf(queues, deadLettersUrlVariable, variables),
    deployment: data.GHOULS_DEPLOYMENT,
    workerId: data.GHOULS_WORKER_ID,
    build: data.GHOULS_BUILD,
    onLambda: data.AWS_LAMBDA_FUNCTION_NAME !== undefined,
    publicUrl: data.GHOULS_PUBLIC_URL,
    egressFunction: data.GHOULS_EGRESS_FUNCTION,
    replayCheck: data.GHOULS_REPLAY_CHECK === "1",
    inspected: data.GHOULS_INSPECT !== undefined,
  };
}

function urlsOf(
  queues: readonly string[],
  variableOf: (queue: string) => string,
  variables: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    queues.flatMap((queue) => {
      const url = variables[variableOf(queue)];
      return url === undefined || url === "" ? [] : [[queue, url]];
    }),
  );
}

/** What the migrate function reads from its environment. */
export interface MigrationEnvironment {
  readonly database: DatabaseEnvironment;
  readonly schema: string | undefined;
  readonly applicationRole: string | undefined;
}

const MIGRATOR: RoleVariables = {
  url: "GHOULS_MIGRATION_DATABASE_URL",
  secret: "GHOULS_MIGRATION_DATABASE_SECRET_ARN",
  role: "role that owns the schema",
};

const MigrationVariables = z
  .object({
    ...CONNECTION_VARIABLES,
    GHOULS_MIGRATION_DATABASE_URL: z.string().optional(),
    GHOULS_MIGRATION_DATABASE_SECRET_ARN: z.string().optional(),
    GHOULS_SCHEMA: z.string().min(1).optional(),
    GHOULS_APPLICATION_ROLE: z.string().min(1).optional(),
  })
  .superRefine((data, context) => checkConnection(data, MIGRATOR, refusalsOf(context)));

/** @throws GhoulsError configuration_invalid naming each variable; values are never repeated */
export function readMigrationEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): MigrationEnvironment {
  const data = parsedBy(MigrationVariables, variables);
  return {
    database: databaseOf(data, data.GHOULS_MIGRATION_DATABASE_URL, data.GHOULS_MIGRATION_DATABASE_SECRET_ARN),
    schema: data.GHOULS_SCHEMA,
    applicationRole: data.GHOULS_APPLICATION_ROLE,
  };
}

function refusalsOf(context: z.RefinementCtx): (variable: string, message: string) => void {
  return (variable, message) => context.addIssue({ code: "custom", path: [variable], message });
}

function parsedBy<T>(schema: z.ZodType<T>, variables: Readonly<Record<string, string | undefined>>): T {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    path: String(issue.path[0] ?? ""),
    message: issue.message,
  }));
  throw new GhoulsError("configuration_invalid", "the environment is not complete", {
    issues,
    fix: issues.map((issue) => `${issue.path} ${issue.message}`).join("; "),
  });
}
