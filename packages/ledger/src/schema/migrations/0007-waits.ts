import type { Migration } from "./migration.ts";

/**
 * Runs that wait: one wait per generation, one arm per standing call, and the owners of arms: consents with their
 * decisions, signals, and timers, which are the arm itself. Whatever ends a run closes them in its commit; a trigger does
 * it, so that no engine of before forgets.
 */
export const waits: Migration = {
  number: 7,
  name: "waits",
  sql: `
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`,
};
