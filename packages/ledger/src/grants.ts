import { GhoulsError } from "@ghouls/core";
import type { Executor, Row } from "./connection/database.ts";
import { asManager } from "./manager.ts";
import { rows } from "./sql/rows.ts";
import { readStatement, writeStatement } from "./sql/statement.ts";

const GRANT = `g.tenant_id, g.grant_id, g.name, g.holder, g.created_by, g.created_at, g.expires_at, g.revoked_at, g.revoked_by,
  g.revocation_reason, coalesce(g.expires_at <= ghouls.clock(), false) as expired`;

/** The one that lasts longest of those that can be used now. */
const LIVE = readStatement(
  "grants.live",
  `
select ${GRANT}
from ghouls.grants g
where g.tenant_id = $1 and g.name = $2 and g.holder = any($3::text[]) and g.revoked_at is null
  and (g.expires_at is null or g.expires_at > ghouls.clock())
order by g.expires_at desc nulls first, g.grant_id
limit 1`,
);

const BY_ID = readStatement(
  "grants.by-id",
  `
select ${GRANT}
from ghouls.grants g
where g.grant_id = $1`,
);

const CREATE = writeStatement(
  "grants.create",
  `
insert into ghouls.grants (tenant_id, grant_id, name, holder, created_by, created_at, expires_at)
select q.tenant_id, q.grant_id, q.name, q.holder, coalesce(q.created_by, 'database role ' || session_user), ghouls.clock(),
  ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[])
  as q(tenant_id, grant_id, name, holder, created_by, expires_ms)
on conflict (grant_id) do nothing`,
);

const PAGE = readStatement(
  "grants.page",
  `
select ${GRANT}
from ghouls.grants g
order by g.created_at desc, g.grant_id
limit $1`,
);

const PAGE_OF_TENANT = readStatement(
  "grants.page-of-tenant",
  `
select ${GRANT}
from ghouls.grants g
where g.tenant_id = $1
order by g.created_at desc, g.grant_id
limit $2`,
);

/** By the id alone, as a key: whoever revokes a grant has read its row. */
const REVOKE = writeStatement(
  "grants.revoke",
  `
update ghouls.grants g
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where g.grant_id = $1 and g.revoked_at is null
returning g.tenant_id, g.grant_id`,
);

/** A capability of a user or a role, whether it can be used or has ended. */
export interface GrantRow {
  readonly tenantId: string;
  readonly grantId: string;
  /** Such as "reports:write". */
  readonly name: string;
  /** "user:<subject>" or "role:<name>". */
  readonly holder: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly revokedBy: string | null;
  readonly revocationReason: string | null;
  /** By the ledger's clock, when it was read. */
  readonly expired: boolean;
}

export interface NewGrant extends Pick<GrantRow, "tenantId" | "grantId" | "name" | "holder"> {
  /** Who makes it; the database's role where null. */
  readonly createdBy: string | null;
  /** Milliseconds from now, null for a grant without an end. */
  readonly expiresInMs: number | null;
}

/** A grant of this name that one of these holders has now, the one that lasts longest; null where none has one. */
export async function readLiveGrant(
  executor: Executor,
  { tenantId, name }: Pick<GrantRow, "tenantId" | "name">,
  holders: readonly string[],
): Promise<GrantRow | null> {
  const [row] = await executor.run(LIVE, [tenantId, name, holders]);
  return row === undefined ? null : grantOf(row);
}

/**
 * Makes a grant, and answers with it as it is: the same id and content is the same grant, and stays as it was.
 * @throws GhoulsError configuration_invalid where this role may not; idempotency_conflict where the id is another's
 */
export async function createGrant(executor: Executor, grant: NewGrant): Promise<GrantRow> {
  const { tenantId, grantId, name, holder, createdBy, expiresInMs } = grant;
  const columns = [tenantId, grantId, name, holder, createdBy, expiresInMs].map((value) => [value]);
  await asManager(executor, "grants", CREATE, columns);
  const made = await readGrant(executor, grantId);
  if (made?.tenantId === tenantId && made.name === name && made.holder === holder) return made;
  throw new GhoulsError("idempotency_conflict", `the id ${grantId} is another grant's`, {
    fix: "Make a grant anew: its id is random.",
  });
}

/** Grants, the newest first, those that have ended among them; of all tenants where none is named. */
export async function readGrantPage(
  executor: Executor,
  filter: { readonly tenantId?: string },
  limit: number,
): Promise<GrantRow[]> {
  const found =
    filter.tenantId === undefined
      ? await executor.run(PAGE, [limit])
      : await executor.run(PAGE_OF_TENANT, [filter.tenantId, limit]);
  return found.map(grantOf);
}

/**
 * Revokes a grant: no hop that starts after its commit gets it. Null where there is no such grant; `revoked` is false where
 * it had been revoked before, and then who did so and why stays as it was.
 * @throws GhoulsError configuration_invalid where this role may not
 */
export async function revokeGrant(
  executor: Executor,
  grantId: string,
  by: { readonly actor: string | null; readonly reason: string },
): Promise<{ readonly revoked: boolean; readonly grant: GrantRow } | null> {
  const changed = await asManager(executor, "grants", REVOKE, [grantId, by.actor, by.reason]);
  const grant = await readGrant(executor, grantId);
  return grant === null ? null : { revoked: changed.length > 0, grant };
}

async function readGrant(executor: Executor, grantId: string): Promise<GrantRow | null> {
  const [row] = await executor.run(BY_ID, [grantId]);
  return row === undefined ? null : grantOf(row);
}

function grantOf(row: Row): GrantRow {
  const r = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    grantId: r.text("grant_id"),
    name: r.text("name"),
    holder: r.text("holder"),
    createdBy: r.text("created_by"),
    createdAt: r.date("created_at"),
    expiresAt: r.dateOrNull("expires_at"),
    revokedAt: r.dateOrNull("revoked_at"),
    revokedBy: r.textOrNull("revoked_by"),
    revocationReason: r.textOrNull("revocation_reason"),
    expired: r.boolean("expired"),
  };
}
