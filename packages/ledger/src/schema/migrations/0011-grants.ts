import type { Migration } from "./migration.ts";

/** Capabilities that hops may hold. Nothing that was there before is touched but for an index: engines of before know nothing of it. */
export const grants: Migration = {
  number: 11,
  name: "grants",
  sql: `
create table ghouls.grants (
  tenant_id text not null check (tenant_id <> ''),
  grant_id text not null check (grant_id <> ''),
  name text not null check (name <> ''),
  holder text not null check (holder ~ '^(user|role):.'),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, grant_id),
  constraint grants_grant_id_key unique (grant_id),
  constraint grants_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.grants is
  'A row stays when its grant has ended, and tells who made and who revoked it. The application only reads it.';
comment on column ghouls.grants.holder is
  'Of whose runs: "user:<subject>" or "role:<name>", as the admission has recorded them.';
create index grants_live on ghouls.grants (tenant_id, name, holder) where revoked_at is null;
create index api_keys_by_subject on ghouls.api_keys (tenant_id, subject) where revoked_at is null;
`,
};
