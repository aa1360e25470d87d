import { GhoulsError, type FaultInjector } from "@ghouls/core";

export interface DatabaseSecretOptions {
  /** Name or ARN of a secret of Secrets Manager. */
  readonly secretId: string;
  readonly region: string;
  /** Where the API listens; AWS's own where absent. */
  readonly endpoint?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly faults: FaultInjector;
}

/** What RDS writes into a secret; the last two are ours, for a server whose certificate is not to be verified like RDS's. */
interface RdsSecret {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly host?: unknown;
  readonly port?: unknown;
  readonly dbname?: unknown;
  readonly sslmode?: unknown;
  readonly sslrootcert?: unknown;
}

/**
 * A function that fetches the connection string from Secrets Manager at each call: the ledger calls it once, and once more
 * after a rotation. The SDK is loaded by the first call.
 * @throws GhoulsError configuration_invalid; neither it nor its cause holds a part of the secret
 */
export function databaseSecret(options: DatabaseSecretOptions): () => Promise<string> {
  return async () => connectionStringOf(await readSecret(options), options.secretId);
}

async function readSecret(options: DatabaseSecretOptions): Promise<string> {
  const { secretId, faults } = options;
  const sdk = await import("@aws-sdk/client-secrets-manager");
  const client = new sdk.SecretsManagerClient({
    region: options.region,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
  });
  try {
    await faults("secrets.before-read", secretId);
    const answer = await client.send(new sdk.GetSecretValueCommand({ SecretId: secretId }));
    await faults("secrets.after-read", secretId);
    return answer.SecretString ?? "";
  } catch (error) {
    const name = error instanceof Error ? error.name : "unknown";
    throw new GhoulsError("configuration_invalid", `the secret ${secretId} cannot be read (${name})`, {
      fix: "Let this function's role call secretsmanager:GetSecretValue on it (and kms:Decrypt, where it has a key of its own).",
      cause: error,
    });
  } finally {
    client.destroy();
  }
}

/** The string itself, or what RDS's members say. TLS is verified unless the secret says otherwise. */
export function connectionStringOf(secret: string, secretId: string): string {
  if (/^postgres(?:ql)?:\/\//.test(secret)) return secret;
  const { username, password, host, port, dbname, sslmode, sslrootcert } = membersOf(secret, secretId);
  const missing = Object.entries({ username, password, host }).filter(([, value]) => !isText(value));
  if (missing.length > 0) throw unusable(secretId, `has no ${missing.map(([name]) => name).join(", ")}`);
  const url = new URL(`postgres://${String(host)}`);
  url.username = encodeURIComponent(String(username));
  url.password = encodeURIComponent(String(password));
  url.port = String(isText(port) || typeof port === "number" ? port : 5432);
  url.pathname = `/${encodeURIComponent(isText(dbname) ? dbname : "postgres")}`;
  url.searchParams.set("sslmode", isText(sslmode) ? sslmode : "verify-full");
  if (isText(sslrootcert)) url.searchParams.set("sslrootcert", sslrootcert);
  return url.href;
}

function membersOf(secret: string, secretId: string): RdsSecret {
  let value: unknown;
  try {
    value = JSON.parse(secret);
  } catch {
    throw unusable(secretId, "is neither a connection string nor JSON");
  }
  if (typeof value !== "object" || value === null) throw unusable(secretId, "is no JSON object");
  return value;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function unusable(secretId: string, why: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `the secret ${secretId} ${why}`, {
    fix: "Store a connection string (postgres://…), or JSON with username, password, host, port and dbname.",
  });
}
