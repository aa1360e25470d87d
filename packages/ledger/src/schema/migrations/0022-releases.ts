import type { Migration } from "./migration.ts";

/** Code that deploys have left where a worker finds it: one bundle for a workflow's digest (design.md §5, Releases). */
export const releases: Migration = {
  number: 22,
  name: "releases",
  sql: `
create table ghouls.releases (
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  bundle_digest text not null check (bundle_digest ~ '^[0-9a-f]{64}$'),
  bytes integer not null check (bytes > 0),
  on_worker_loss text not null check (on_worker_loss in ('resume', 'fail')),
  deadline_ms bigint,
  basis_text text not null,
  starts text[] not null,
  build text not null,
  recorded_at timestamptz not null,
  deployed_at timestamptz not null,
  removed_at timestamptz,
  deleted_at timestamptz,
  primary key (workflow_name, workflow_digest, bundle_digest),
  constraint releases_deleted check (deleted_at is null or removed_at is not null)
);
comment on table ghouls.releases is
  'Code that a worker may load for runs that are pinned to it. Belongs to the deployment, so it has no tenant. A row stays when its bundle is removed.';
comment on column ghouls.releases.bundle_digest is 'SHA-256 of the bundle: its name in the store, and what a worker compares its bytes with.';
comment on column ghouls.releases.basis_text is 'Canonical JSON of what the workflow digest is made of; that digest is the SHA-256 of this text.';
comment on column ghouls.releases.starts is 'Digests of the workflows whose runs this code may start as children: their releases are kept as long as this one.';
comment on column ghouls.releases.deployed_at is 'When a deploy last had it.';
comment on column ghouls.releases.removed_at is 'When it was given up, because no open run needed it. A deploy that has it again takes that back.';
comment on column ghouls.releases.deleted_at is 'When its bundle was taken out of the store.';
create index releases_to_delete on ghouls.releases (bundle_digest) where removed_at is not null and deleted_at is null;
`,
};
