import { randomBytes } from "node:crypto";
import { API_KEY_BYTES, mintApiKey, type Principal } from "@ghouls/core";
import { openLedger, type Ledger } from "@ghouls/ledger";

/** Something with a ledger's schema, such as a test's database. */
interface WithMigrator {
  readonly migratorUrl: string;
}

export interface MadeKey {
  readonly keyId: string;
  readonly text: string;
}

/** Carries something out as the role that owns the schema: only it may make and revoke keys. */
export async function asMigrator<T>(
  { migratorUrl }: WithMigrator,
  act: (keys: Ledger["keys"]) => Promise<T>,
): Promise<T> {
  const ledger = openLedger({ connectionString: migratorUrl, maxConnections: 1 });
  try {
    return await act(ledger.keys);
  } finally {
    await ledger.close();
  }
}

/** A key of the ledger, as `ghouls keys create` makes it. */
export async function makeKey(
  db: WithMigrator,
  principal: Principal,
  expiresInMs: number | null = null,
): Promise<MadeKey> {
  const { keyId, text, digest } = mintApiKey(randomBytes(API_KEY_BYTES));
  const { tenantId, subject, roles, permissions = [] } = principal;
  await asMigrator(db, (keys) =>
    keys.create([{ tenantId, keyId, digest, subject, roles, permissions, createdBy: "a test", expiresInMs }]),
  );
  return { keyId, text };
}
