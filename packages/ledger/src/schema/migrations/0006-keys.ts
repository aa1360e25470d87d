import type { Migration } from "./migration.ts";

/** API keys. Nothing that was there before is touched: engines of before know nothing of the table. */
export const keys: Migration = {
  number: 6,
  name: "keys",
  sql: `
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`,
};
