import type { Migration } from "./migration.ts";

/**
 * What the reconciler knows of its own work: how far each pass has come, which owners it could not look after, and what it
 * has repaired. None of it decides about a run; losing all of it costs a look from the start.
 */
export const reconciler: Migration = {
  number: 17,
  name: "reconciler",
  sql: `
drop index ghouls.deliveries_publishable;
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at, run_id) where status = 'PENDING';
comment on index ghouls.deliveries_publishable is
  'With the run, because the end of a pause makes any number of publications due at one moment, and a page begins among them.';

create table ghouls.passes (
  pass text primary key,
  round bigint not null default 1 check (round >= 1),
  round_until timestamptz,
  cursor_micros bigint,
  cursor_owner text,
  reconciler text,
  started_at timestamptz,
  ended_at timestamptz,
  pages integer not null default 0,
  found integer not null default 0,
  repaired integer not null default 0,
  failed integer not null default 0,
  error text,
  constraint passes_cursor check (num_nulls(cursor_micros, cursor_owner) <> 1)
);
comment on table ghouls.passes is 'How far each pass has come, and what its last turn did. Belongs to the deployment, so it has no tenant.';
comment on column ghouls.passes.round is 'A round goes once over all that was due when it began.';
comment on column ghouls.passes.round_until is 'What becomes due after it belongs to the next round; null: none has begun.';
comment on column ghouls.passes.cursor_micros is 'Where the next page begins; null: at the first.';

create table ghouls.degraded_owners (
  pass text not null,
  owner text not null,
  tenant_id text not null,
  run_id uuid,
  page_id uuid not null,
  degraded_at timestamptz not null,
  tries integer not null default 1 check (tries >= 1),
  next_turn_at timestamptz not null,
  reason text not null,
  primary key (pass, owner)
);
comment on table ghouls.degraded_owners is
  'Owners that a pass could not look after: they take turns of their own. Their page is degraded while one of it is here.';
create index degraded_owners_due on ghouls.degraded_owners (pass, next_turn_at, owner);

create view ghouls.degraded_pages as
select pass, page_id, min(degraded_at) as degraded_at, count(*)::integer as owners, max(tries) as tries, min(next_turn_at) as next_turn_at
from ghouls.degraded_owners
group by pass, page_id;

create table ghouls.repairs (
  tenant_id text not null,
  run_id uuid not null,
  repair_id uuid not null,
  pass text not null,
  rule text not null,
  before_state text not null,
  after_state text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, repair_id)
);
comment on table ghouls.repairs is
  'What the reconciler has repaired, each in the commit of its repair. Some are written without the lock of their run, so it has no reference to it.';
create index repairs_newest on ghouls.repairs (at desc, repair_id desc);
create index repairs_of_tenant on ghouls.repairs (tenant_id, at desc, repair_id desc);
`,
};
