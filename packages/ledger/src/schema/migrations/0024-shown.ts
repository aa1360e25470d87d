import type { Migration } from "./migration.ts";

/**
 * What people are shown of a run beside its timeline (design.md §3, Evidence): an engine of before writes neither skips nor the
 * numbers of emitted events, and whoever looks finds none.
 */
export const shown: Migration = {
  number: 24,
  name: "shown",
  sql: `
create table ghouls.skips (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  reason text not null,
  times integer not null check (times >= 1),
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (tenant_id, run_id, seq, reason)
);
comment on table ghouls.skips is
  'Messages of deliveries that were not claimed, one row a reason. Best effort, and written without the lock of its run, so it has no reference to it.';

alter table ghouls.evidence add column number integer check (number >= 1);
comment on column ghouls.evidence.number is
  'Of an emitted event: the place that its hop gave it in the live channel, so that whoever has missed it there is told once.';
create index evidence_of_event on ghouls.evidence (tenant_id, run_id, seq, number) where number is not null;
create index evidence_in_time on ghouls.evidence (tenant_id, run_id, completed_at, evidence_id) where class = 'durable_best_effort';
create index evidence_rejected on ghouls.evidence (tenant_id, run_id, recorded_at desc, evidence_id) where class = 'rejected';
create index seals_in_time on ghouls.seals (tenant_id, sealed_at);
`,
};
