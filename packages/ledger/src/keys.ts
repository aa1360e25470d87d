import { GhoulsError, isSameDigest } from "@ghouls/core";
import type { Executor, Row } from "./connection/database.ts";
import { asManager } from "./manager.ts";
import { rows } from "./sql/rows.ts";
import { readStatement, writeStatement } from "./sql/statement.ts";

const KEY = `k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`;

/** A token carries no tenant: it comes from the row. */
const BY_ID = readStatement(
  "keys.by-id",
  `
select ${KEY}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`,
);

const MARK_USED = writeStatement(
  "keys.mark-used",
  `
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`,
);

const CREATE = writeStatement(
  "keys.create",
  `
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`,
);

const PAGE = readStatement(
  "keys.page",
  `
select ${KEY}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`,
);

const PAGE_OF_TENANT = readStatement(
  "keys.page-of-tenant",
  `
select ${KEY}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`,
);

/** By the id alone, as the lookup: whoever revokes a key has its text, or its row. */
const REVOKE = writeStatement(
  "keys.revoke",
  `
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`,
);

const ROLES_OF_SUBJECT = readStatement(
  "keys.roles-of-subject",
  `
select k.roles
from ghouls.api_keys k
where k.tenant_id = $1 and k.subject = $2 and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > ghouls.clock())`,
);

/** A key without what proves it. */
export interface ApiKey {
  readonly tenantId: string;
  readonly keyId: string;
  readonly subject: string;
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** To the hour. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly revokedBy: string | null;
  readonly revocationReason: string | null;
  /** By the ledger's clock, when it was read. */
  readonly expired: boolean;
}

export interface StoredKey extends ApiKey {
  readonly digest: string;
  /** Whether its last use is older than the hour that `lastUsedAt` is kept to. */
  readonly useIsDue: boolean;
}

export interface NewKey extends Pick<ApiKey, "tenantId" | "keyId" | "subject" | "roles" | "permissions"> {
  readonly digest: string;
  /** Who makes it; the database's role where null. */
  readonly createdBy: string | null;
  /** Milliseconds from now, null for a key without an end. */
  readonly expiresInMs: number | null;
}

/** The key of an id, whoever's it is and whether it has ended or not; null where there is none. */
export async function readKey(executor: Executor, keyId: string): Promise<StoredKey | null> {
  const [row] = await executor.run(BY_ID, [keyId]);
  if (row === undefined) return null;
  const r = rows(row);
  return { ...keyOf(row), digest: r.text("digest"), useIsDue: r.boolean("use_is_due") };
}

/** Says that a key was used, at most once an hour: a write for each request would cost more than the request's own. */
export async function markKeyUsed(
  executor: Executor,
  key: Pick<ApiKey, "tenantId" | "keyId">,
): Promise<void> {
  await executor.run(MARK_USED, [key.tenantId, key.keyId]);
}

/**
 * Makes keys, and answers with them as they are: the same id with the same digest is the same key, and stays as it was.
 * @throws GhoulsError configuration_invalid where this role may not; idempotency_conflict where an id is another key's
 */
export async function createKeys(executor: Executor, keys: readonly NewKey[]): Promise<ApiKey[]> {
  const column = <T>(pick: (key: NewKey) => T): T[] => keys.map(pick);
  await asManager(executor, "keys", CREATE, [
    column((key) => key.tenantId),
    column((key) => key.keyId),
    column((key) => key.digest),
    column((key) => key.subject),
    column((key) => JSON.stringify(key.roles)),
    column((key) => JSON.stringify(key.permissions)),
    column((key) => key.createdBy),
    column((key) => key.expiresInMs),
  ]);
  return Promise.all(keys.map((key) => readMade(executor, key)));
}

async function readMade(executor: Executor, { tenantId, keyId, digest }: NewKey): Promise<ApiKey> {
  const stored = await readKey(executor, keyId);
  if (stored !== null && stored.tenantId === tenantId && isSameDigest(stored.digest, digest))
    return shown(stored);
  throw new GhoulsError("idempotency_conflict", `the id ${keyId} is another key's`, {
    fix: "Make a key anew: its id is random.",
  });
}

/** Keys, the newest first, those that have ended among them; of all tenants where none is named. */
export async function readKeyPage(
  executor: Executor,
  filter: { readonly tenantId?: string },
  limit: number,
): Promise<ApiKey[]> {
  const found =
    filter.tenantId === undefined
      ? await executor.run(PAGE, [limit])
      : await executor.run(PAGE_OF_TENANT, [filter.tenantId, limit]);
  return found.map(keyOf);
}

/**
 * Revokes a key: from its commit on no lookup takes it. Null where there is no such key; `revoked` is false where it had been
 * revoked before, and then who did so and why stays as it was.
 * @throws GhoulsError configuration_invalid where this role may not
 */
export async function revokeKey(
  executor: Executor,
  keyId: string,
  by: { readonly actor: string | null; readonly reason: string },
): Promise<{ readonly revoked: boolean; readonly key: ApiKey } | null> {
  const changed = await asManager(executor, "keys", REVOKE, [keyId, by.actor, by.reason]);
  const stored = await readKey(executor, keyId);
  if (stored === null) return null;
  return { revoked: changed.length > 0, key: shown(stored) };
}

/** The roles of all keys of a subject that can be used now; null where it has none that can. */
export async function readRolesOfSubject(
  executor: Executor,
  { tenantId, subject }: Pick<ApiKey, "tenantId" | "subject">,
): Promise<readonly string[] | null> {
  const usable = await executor.run(ROLES_OF_SUBJECT, [tenantId, subject]);
  return usable.length === 0 ? null : [...new Set(usable.flatMap((row) => rows(row).texts("roles")))];
}

/** Without what a lookup alone needs. */
function shown({ digest: _digest, useIsDue: _useIsDue, ...key }: StoredKey): ApiKey {
  return key;
}

function keyOf(row: Row): ApiKey {
  const r = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    keyId: r.text("key_id"),
    subject: r.text("subject"),
    roles: r.texts("roles"),
    permissions: r.texts("permissions"),
    createdBy: r.text("created_by"),
    createdAt: r.date("created_at"),
    expiresAt: r.dateOrNull("expires_at"),
    lastUsedAt: r.dateOrNull("last_used_at"),
    revokedAt: r.dateOrNull("revoked_at"),
    revokedBy: r.textOrNull("revoked_by"),
    revocationReason: r.textOrNull("revocation_reason"),
    expired: r.boolean("expired"),
  };
}
