import type { Migration } from "./migration.ts";

/**
 * What a lost or fenced worker leaves: containment items, intents of effects that happen once, checkpoints of yields, and
 * rejected evidence. Columns have defaults, so that code of migration 1 goes on admitting: a run whose admission did not
 * say what a lost worker means ends at its loss.
 */
export const containment: Migration = {
  number: 2,
  name: "containment",
  sql: `
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`,
};
