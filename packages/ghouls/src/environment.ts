import { GhoulsError, queueUrlVariable, type Principal } from "@ghouls/core";
import { DRIVERS, type DriverName } from "@ghouls/ledger";
import * as z from "zod";

/** Where the database is, and how to sign in to it. */
interface DatabaseEnvironment {
  /** One of both. */
  readonly url: string | undefined;
  readonly secretId: string | undefined;
  readonly auth: "password" | "iam";
  readonly region: string;
  /** Of Secrets Manager. */
  readonly endpoint?: string;
  readonly driver: DriverName;
  /** Of a WebSocket proxy of one's own, for the driver neon. */
  readonly neonProxy: string | undefined;
}

/** What a process of Ghouls reads from its environment, once. */
export interface Environment {
  readonly database: DatabaseEnvironment;
  readonly schema: string | undefined;
  readonly region: string;
  readonly endpoint: string | undefined;
  /** URLs of those queues of the configuration that have one. */
  readonly queueUrls: Readonly<Record<string, string>>;
  /** Identity of this process for its supervisor; undefined where it makes its own. */
  readonly workerId: string | undefined;
  /** The tokens of a local host; none elsewhere. */
  readonly devTokens: ReadonlyMap<string, Principal>;
  readonly build: string;
}

/** Exactly one of both says where the connection string is. */
const MISSING =
  "is missing: the connection string of the application's role (or DATABASE_SECRET_ARN, a secret that holds it)";

const Variables = z
  .object({
    DATABASE_URL: z.string().optional(),
    DATABASE_SECRET_ARN: z.string().optional(),
    DATABASE_DRIVER: z.enum(DRIVERS, { error: 'must be "pg" or "neon"' }).default("pg"),
    DATABASE_AUTH: z.enum(["password", "iam"], { error: 'must be "password" or "iam"' }).default("password"),
    NEON_WS_PROXY: z.string().min(1).optional(),
    AWS_ENDPOINT_URL_SECRETS_MANAGER: z.url().optional(),
    GHOULS_SCHEMA: z.string().min(1).optional(),
    AWS_REGION: z.string().min(1).default("us-east-1"),
    AWS_ENDPOINT_URL: z.url().optional(),
    GHOULS_WORKER_ID: z.string().min(1).max(200).optional(),
    GHOULS_BUILD: z.string().min(1).max(200).default("dev"),
    GHOULS_DEV_TOKENS: z
      .string()
      .transform((text, context): unknown => {
        try {
          return JSON.parse(text);
        } catch {
          context.addIssue({ code: "custom", message: "is not JSON" });
          return z.NEVER;
        }
      })
      .pipe(
        z.record(
          z.string().min(16),
          z.object({ tenantId: z.string(), subject: z.string(), roles: z.array(z.string()) }),
        ),
      )
      .optional(),
  })
  .superRefine((variables, context) => {
    const { DATABASE_URL: url, DATABASE_SECRET_ARN: secret, DATABASE_AUTH: auth } = variables;
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (!url && !secret) refuse("DATABASE_URL", MISSING);
    if (url && secret) refuse("DATABASE_SECRET_ARN", "is given beside DATABASE_URL: give one of both");
    if (auth !== "iam") return;
    if (!url) refuse("DATABASE_AUTH", "is iam, which needs host, port and user of a DATABASE_URL");
    if (variables.DATABASE_DRIVER !== "pg")
      refuse("DATABASE_AUTH", 'is iam, which only the driver "pg" knows');
    if (url && !/[?&]sslmode=(?:require|verify-ca|verify-full)\b/.test(url)) {
      refuse("DATABASE_URL", "has no sslmode=verify-full: a token must not travel in the clear");
    }
  });

/**
 * Reads the environment for a configuration's queues.
 * @throws GhoulsError configuration_invalid naming each variable; values are never repeated
 */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  queues: readonly string[],
): Environment {
  const parsed = Variables.safeParse(variables);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => ({
      path: String(issue.path[0] ?? ""),
      message: issue.message,
    }));
    throw new GhoulsError("configuration_invalid", "the environment is not complete", {
      issues,
      fix: issues.map((issue) => `${issue.path} ${issue.message}`).join("; "),
    });
  }
  const { data } = parsed;
  return {
    database: databaseOf(data),
    schema: data.GHOULS_SCHEMA,
    region: data.AWS_REGION,
    endpoint: data.AWS_ENDPOINT_URL,
    queueUrls: Object.fromEntries(
      queues.flatMap((queue) => {
        const url = variables[queueUrlVariable(queue)];
        return url === undefined || url === "" ? [] : [[queue, url]];
      }),
    ),
    workerId: data.GHOULS_WORKER_ID,
    devTokens: new Map(Object.entries(data.GHOULS_DEV_TOKENS ?? {})),
    build: data.GHOULS_BUILD,
  };
}

function databaseOf(data: z.output<typeof Variables>): DatabaseEnvironment {
  const endpoint = data.AWS_ENDPOINT_URL_SECRETS_MANAGER ?? data.AWS_ENDPOINT_URL;
  return {
    url: data.DATABASE_URL || undefined,
    secretId: data.DATABASE_SECRET_ARN || undefined,
    auth: data.DATABASE_AUTH,
    region: data.AWS_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    driver: data.DATABASE_DRIVER,
    neonProxy: data.NEON_WS_PROXY,
  };
}
