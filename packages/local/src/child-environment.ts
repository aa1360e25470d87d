import { queueUrlVariable } from "@ghouls/core";
import type { Queues } from "./queues.ts";
import type { DevState } from "./state.ts";

/** Not for functions: the migrator's URL is the host's alone, and no DynamoDB runs here, so no table is another's. */
const HOST_ONLY = ["GHOULS_MIGRATION_DATABASE_URL", "GHOULS_DEV_TOKENS", "GHOULS_WORKER_ID", "EVENTS_TABLE"];

/** They would come before the ones that a server on this machine is given. */
const OTHER_CREDENTIALS = ["AWS_PROFILE", "AWS_SESSION_TOKEN"];

/** What every function of the host finds in its environment, as the infrastructure would set it on AWS. */
export function functionEnvironment(
  env: NodeJS.ProcessEnv,
  databaseUrl: string,
  schema: string,
  queues: Pick<Queues, "urls" | "connection">,
): NodeJS.ProcessEnv {
  const { region, endpoint, credentials } = queues.connection;
  const dropped = credentials === undefined ? HOST_ONLY : [...HOST_ONLY, ...OTHER_CREDENTIALS];
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.includes(name)));
  return {
    ...kept,
    DATABASE_URL: databaseUrl,
    GHOULS_SCHEMA: schema,
    AWS_REGION: region,
    ...(endpoint === undefined ? {} : { AWS_ENDPOINT_URL: endpoint }),
    ...(credentials === undefined
      ? {}
      : { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey }),
    ...Object.fromEntries(Object.entries(queues.urls).map(([queue, url]) => [queueUrlVariable(queue), url])),
  };
}

/** The tokens of a start, as the API's development authenticator takes them. */
export function devTokens(tokens: DevState["tokens"]): string {
  const entries = Object.entries(tokens).map(([role, token]) => [
    token,
    { tenantId: "default", subject: role, roles: [role] },
  ]);
  return JSON.stringify(Object.fromEntries(entries));
}
