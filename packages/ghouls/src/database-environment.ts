import { DRIVERS, type DriverName } from "@ghouls/ledger";
import * as z from "zod";

/**
 * How a process comes to PostgreSQL. Written out here: a user's compiler reads these declarations, and those of the AWS SDK
 * are none of theirs.
 */
export interface DatabaseEnvironment {
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

/** Variables that say how, whoever connects. */
export const CONNECTION_VARIABLES = {
  DATABASE_DRIVER: z.enum(DRIVERS, { error: 'must be "pg" or "neon"' }).default("pg"),
  DATABASE_AUTH: z.enum(["password", "iam"], { error: 'must be "password" or "iam"' }).default("password"),
  NEON_WS_PROXY: z.string().min(1).optional(),
  AWS_ENDPOINT_URL: z.url().optional(),
  AWS_ENDPOINT_URL_SECRETS_MANAGER: z.url().optional(),
  AWS_REGION: z.string().min(1).default("us-east-1"),
};
type ConnectionVariables = z.output<z.ZodObject<typeof CONNECTION_VARIABLES>>;

/** The two of a role, of which exactly one says where its connection string is. */
export interface RoleVariables {
  readonly url: string;
  readonly secret: string;
  /** Whose connection string it is, in words. */
  readonly role: string;
}

/** Refuses what cannot be connected with. Values are never repeated. */
export function checkConnection(
  data: ConnectionVariables & Readonly<Record<string, unknown>>,
  names: RoleVariables,
  refuse: (variable: string, message: string) => void,
): void {
  const [url, secret] = [data[names.url], data[names.secret]];
  if (!url && !secret) {
    refuse(
      names.url,
      `is missing: the connection string of the ${names.role} (or ${names.secret}, a secret that holds it)`,
    );
  }
  if (url && secret) refuse(names.secret, `is given beside ${names.url}: give one of both`);
  if (data.DATABASE_AUTH !== "iam") return;
  if (!url) refuse("DATABASE_AUTH", `is iam, which needs host, port and user of a ${names.url}`);
  if (data.DATABASE_DRIVER !== "pg") {
    refuse("DATABASE_AUTH", 'is iam, which only the driver "pg" knows');
  }
  if (typeof url === "string" && url !== "" && !/[?&]sslmode=(?:require|verify-ca|verify-full)\b/.test(url)) {
    refuse(names.url, "has no sslmode=verify-full: a token must not travel in the clear");
  }
}

export function databaseOf(
  data: ConnectionVariables,
  url: string | undefined,
  secret: string | undefined,
): DatabaseEnvironment {
  const endpoint = data.AWS_ENDPOINT_URL_SECRETS_MANAGER ?? data.AWS_ENDPOINT_URL;
  return {
    url: url || undefined,
    secretId: secret || undefined,
    auth: data.DATABASE_AUTH,
    region: data.AWS_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    driver: data.DATABASE_DRIVER,
    neonProxy: data.NEON_WS_PROXY,
  };
}
