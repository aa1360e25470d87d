import { GhoulsError, type Clock, type FaultInjector } from "@ghouls/core";
import { databaseSecret } from "./database-secret.ts";
import { rdsTokens } from "./rds-token.ts";

/** Where the connection string comes from, and whether a token takes the place of its password. */
export interface DatabaseSettings {
  /** One of both. */
  readonly url: string | undefined;
  readonly secretId: string | undefined;
  readonly auth: "password" | "iam";
  readonly region: string;
  /** Of Secrets Manager. */
  readonly endpoint?: string;
}

export interface DatabaseAccess {
  readonly connectionString: string | (() => Promise<string>);
  readonly password?: () => Promise<string>;
}

/**
 * What the ledger connects with. Nothing is read before the first connection.
 * @throws GhoulsError configuration_invalid
 */
export function databaseAccess(
  settings: DatabaseSettings,
  { clock, faults }: { readonly clock: Clock; readonly faults: FaultInjector },
): DatabaseAccess {
  const { url, secretId, auth, region, endpoint } = settings;
  if ((url === undefined) === (secretId === undefined)) {
    throw refused("name a connection string or a secret, one of both");
  }
  if (url === undefined) {
    if (auth === "iam") throw refused("a token takes the place of a secret: give the connection string");
    const secret = { secretId: secretId ?? "", region, faults };
    return { connectionString: databaseSecret(endpoint === undefined ? secret : { ...secret, endpoint }) };
  }
  if (auth === "password") return { connectionString: url };
  const { hostname, port, username, searchParams } = parsed(url);
  if (username === "") throw refused("a token is signed for a user: write postgres://user@host/database");
  if (!["require", "verify-ca", "verify-full"].includes(searchParams.get("sslmode") ?? "")) {
    throw refused("a token must not travel in the clear: add ?sslmode=verify-full");
  }
  return {
    connectionString: url,
    password: rdsTokens({
      hostname,
      port: port === "" ? 5432 : Number(port),
      username: decodeURIComponent(username),
      region,
      clock,
    }),
  };
}

function parsed(url: string): URL {
  if (!URL.canParse(url)) throw refused("the connection string is no URL");
  return new URL(url);
}

function refused(fix: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `the database cannot be connected to: ${fix}`, { fix });
}
