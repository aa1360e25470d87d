import { deadLettersUrlVariable, queueUrlVariable } from "@ghouls/core";
import type { Events } from "./events.ts";
import type { Queues } from "./queues.ts";

/** Not for functions: the migrator's URL is the host's alone, and the database's they get from the host. */
const HOST_ONLY = [
  "GHOULS_MIGRATION_DATABASE_URL",
  "GHOULS_MIGRATION_DATABASE_SECRET_ARN",
  "GHOULS_WORKER_ID",
  "GHOULS_INSPECT",
  "DATABASE_SECRET_ARN",
];

/** How a database of one's own is reached; the embedded one has a password and no WebSocket. */
const OWN_DATABASE = ["DATABASE_DRIVER", "DATABASE_AUTH", "NEON_WS_PROXY"];

/** They would come before the ones that a server on this machine is given. */
const OTHER_CREDENTIALS = ["AWS_PROFILE", "AWS_SESSION_TOKEN"];

/** What every function of the host finds in its environment, as the infrastructure would set it on AWS. */
export function functionEnvironment(
  env: NodeJS.ProcessEnv,
  databaseUrl: string,
  schema: string,
  queues: Pick<Queues, "urls" | "deadLetterUrls" | "connection">,
  events: Pick<Events, "table" | "endpoint">,
  releases: string,
): NodeJS.ProcessEnv {
  const { region, endpoint, credentials } = queues.connection;
  const dropped = [
    ...HOST_ONLY,
    ...(env["DATABASE_URL"] ? [] : OWN_DATABASE),
    ...(credentials === undefined ? [] : OTHER_CREDENTIALS),
  ];
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.includes(name)));
  return {
    ...kept,
    DATABASE_URL: databaseUrl,
    GHOULS_SCHEMA: schema,
    GHOULS_RELEASES: env["GHOULS_RELEASES"] || releases,
    // Here workflows are written; who does not want it says 0.
    GHOULS_REPLAY_CHECK: env["GHOULS_REPLAY_CHECK"] ?? "1",
    AWS_REGION: region,
    EVENTS_TABLE: events.table,
    AWS_ENDPOINT_URL_DYNAMODB: events.endpoint,
    // A reconciler on this machine never sleeps.
    GHOULS_HINT: "0",
    ...(endpoint === undefined ? {} : { AWS_ENDPOINT_URL: endpoint }),
    ...(credentials === undefined
      ? {}
      : { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey }),
    ...Object.fromEntries(Object.entries(queues.urls).map(([queue, url]) => [queueUrlVariable(queue), url])),
    ...Object.fromEntries(
      Object.entries(queues.deadLetterUrls).map(([queue, url]) => [deadLettersUrlVariable(queue), url]),
    ),
  };
}

/** Not for services: what reaches the database, the queues and AWS. */
const FUNCTIONS_ONLY = /^(AWS_|DATABASE_|GHOULS_|PG[A-Z]+$|NEON_WS_PROXY$|EVENTS_TABLE$)/;

/** What a service of the user's finds in its environment: the user's own, and where it listens and keeps what it keeps. */
export function serviceEnvironment(
  env: NodeJS.ProcessEnv,
  { port, dataDir }: { readonly port: number; readonly dataDir: string },
): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !FUNCTIONS_ONLY.test(name));
  return { ...Object.fromEntries(kept), PORT: String(port), DATA_DIR: dataDir };
}

/** The variable that functions find the address of a service in. */
export function serviceUrlVariable(name: string): string {
  return `GHOULS_SERVICE_${name.toUpperCase().replaceAll("-", "_")}_URL`;
}

/** Whose the runs are that are asked for with the keys of this host. */
export const DEV_TENANT = "default";
