import {
  isPermission,
  isSameDigest,
  parseApiKey,
  type Logger,
  type Principal,
  errorInLog,
} from "@ghouls/core";
import type { Ledger, StoredKey } from "@ghouls/ledger";

export interface KeyAuthenticatorOptions {
  readonly ledger: Ledger;
  readonly log: Logger;
}

/** What is compared with where there is no such key: no text has it as its SHA-256 that anybody knows. */
const NOBODYS_DIGEST = "0".repeat(64);

/**
 * An authenticator of the keys in the ledger. Nothing is cached: the lookup is one row by its index, and a key that is revoked
 * is refused from the next request on.
 *
 * An id that is not there, a wrong secret, an expired and a revoked key get the same answer after the same work: one
 * statement and one comparison. A text whose form or checksum is wrong gets it without the statement, which tells nothing
 * that the text itself does not.
 * @throws LedgerError where the ledger cannot say: a known key is not taken for an unknown one
 */
export function createKeyAuthenticator({
  ledger,
  log,
}: KeyAuthenticatorOptions): (text: string) => Promise<Principal | undefined> {
  return async (text) => {
    const presented = parseApiKey(text);
    if (presented === undefined) return undefined;
    const stored = await ledger.keys.byId(presented.keyId);
    const proven = isSameDigest(presented.digest, stored?.digest ?? NOBODYS_DIGEST);
    if (stored === null || !proven || stored.expired || stored.revokedAt !== null) return undefined;
    if (stored.useIsDue) await markUsed(stored, ledger, log);
    const { tenantId, subject, roles, permissions } = stored;
    // A later version may have made it, with permissions that this one does not know.
    return { tenantId, subject, roles, permissions: permissions.filter(isPermission) };
  };
}

/** For people who look for keys that nobody uses. A request does not fail for it. */
async function markUsed(key: StoredKey, ledger: Ledger, log: Logger): Promise<void> {
  try {
    await ledger.keys.markUsed(key);
  } catch (error) {
    log.warn("the use of a key could not be recorded", {
      keyId: key.keyId,
      error: errorInLog(error),
    });
  }
}
