import type { Migration } from "./migration.ts";

/**
 * What a judgement of the ledger has found: a fault stays open until it is gone, or somebody has said with a reason that
 * they know of it. An open one stops a start and a deploy, and no run but its own, which is quarantined once for it.
 */
export const integrity: Migration = {
  number: 19,
  name: "integrity",
  sql: `
create table ghouls.integrity_faults (
  fault_id uuid primary key,
  check_name text not null,
  tenant_id text,
  run_id uuid,
  subject text not null,
  detail text not null,
  found_at timestamptz not null,
  found_by text not null,
  seen_at timestamptz not null,
  gone_at timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  quarantine text check (quarantine in ('made', 'standing', 'ended', 'absent')),
  constraint integrity_faults_acknowledged check (num_nulls(acknowledged_at, acknowledged_by, acknowledgement) in (0, 3)),
  constraint integrity_faults_run check (run_id is null or tenant_id is not null)
);
comment on table ghouls.integrity_faults is
  'Contradictions that were found. A row stays, and tells who acknowledged it or when it was gone; one that comes back is another row.';
comment on column ghouls.integrity_faults.tenant_id is 'Null: it belongs to the deployment.';
comment on column ghouls.integrity_faults.subject is 'What tells it from others of its check, such as a run or a workflow pin.';
comment on column ghouls.integrity_faults.quarantine is
  'What became of its run, once: quarantined for it; in quarantine before; ended, so that nothing is to be held; or there is none. Null: not yet looked at.';
create unique index integrity_faults_one_standing on ghouls.integrity_faults (check_name, coalesce(tenant_id, ''), subject) where gone_at is null;
create index integrity_faults_open on ghouls.integrity_faults (found_at, fault_id) where gone_at is null and acknowledged_at is null;
create index integrity_faults_of_tenant on ghouls.integrity_faults (coalesce(tenant_id, ''), found_at desc, fault_id desc);
create index integrity_faults_to_quarantine on ghouls.integrity_faults (run_id, fault_id) where gone_at is null and quarantine is null and run_id is not null;
`,
};
