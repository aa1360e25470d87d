import {
  GhoulsError,
  callerOf,
  parseApiKey,
  principalIssues,
  type Authenticator,
  type Caller,
  type Logger,
  type Principal,
} from "@ghouls/core";
import { createKeyAuthenticator } from "@ghouls/engine";
import type { Ledger } from "@ghouls/ledger";
import type { Config } from "./config.ts";

/**
 * Who speaks with a bearer token, and all that they may do. A text of the form of our keys is looked up in the ledger and
 * nowhere else; any other is the configured authenticator's, and nobody's where there is none.
 * @throws GhoulsError configuration_invalid where that authenticator answers with something that is no principal
 */
export function authenticatorOf(
  { auth, roles }: Pick<Config, "auth" | "roles">,
  parts: { readonly ledger: Ledger; readonly log: Logger },
): (token: string) => Promise<Caller | undefined> {
  const byKey = createKeyAuthenticator(parts);
  return async (token) => {
    const isOurs = auth === undefined || parseApiKey(token) !== undefined;
    const principal = isOurs ? await byKey(token) : await askedOf(auth, token);
    return principal && callerOf(principal, roles);
  };
}

async function askedOf(auth: Authenticator, token: string): Promise<Principal | undefined> {
  const principal = await auth(token);
  if (principal === undefined) return undefined;
  const issues = principalIssues(principal);
  if (issues.length === 0) return principal;
  throw new GhoulsError("configuration_invalid", "`auth` of the configuration gave no whole principal", {
    issues,
    fix: "Let it answer with { tenantId, subject, roles: [ … ] }, or with undefined for a token that it does not know.",
  });
}
