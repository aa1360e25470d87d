import type { Migration } from "./migration.ts";

/**
 * Delegated jobs. An attempt is defined by the commit that parks its run, and sent only under a submission claim of its own.
 * One that may still act when its run ends becomes an item of containment in that very commit; a trigger does it, so that
 * no engine of before forgets: it cannot end a run directly that has one.
 */
export const attempts: Migration = {
  number: 9,
  name: "attempts",
  sql: `
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check check (owner in ('consent', 'delegate', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt'));

create table ghouls.attempts (
  tenant_id text not null,
  run_id uuid not null,
  attempt_id uuid not null,
  arm_id uuid not null,
  call_key text not null,
  status text not null check (status in ('DEFINED', 'SUBMITTING', 'SUBMITTED', 'RUNNING', 'UNCERTAIN', 'SUCCEEDED',
    'FAILED', 'CANCELLED')),
  service text not null,
  adapter text not null,
  adapter_version text not null,
  service_digest text not null,
  lookup text not null check (lookup in ('authoritative', 'advisory', 'none')),
  submit text not null check (submit in ('idempotent', 'once')),
  cancel text not null check (cancel in ('final', 'advisory', 'none')),
  delay_seconds double precision not null check (delay_seconds >= 0),
  poll_seconds double precision check (poll_seconds > 0),
  heartbeat_seconds double precision check (heartbeat_seconds > 0),
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  idempotency_key text not null,
  token uuid,
  submitter text,
  sends_until timestamptz,
  submissions integer not null default 0 check (submissions >= 0),
  acknowledged_at timestamptz,
  callback_digest text,
  callback_expires_at timestamptz,
  callback_used_at timestamptz,
  heartbeat_at timestamptz,
  deadline_at timestamptz,
  cancel_asked_at timestamptz,
  cancel_reason text check (cancel_reason in ('deadline', 'ended', 'restart')),
  next_look_at timestamptz,
  looks integer not null default 0 check (looks >= 0),
  misses integer not null default 0 check (misses >= 0),
  uncertain_reason text,
  unsent boolean not null default false,
  trouble text,
  trouble_at timestamptz,
  report_text text,
  report_digest text,
  contradiction text,
  created_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, attempt_id),
  constraint attempts_attempt_id_key unique (attempt_id),
  constraint attempts_idempotency_key unique (tenant_id, idempotency_key),
  constraint attempts_of_call unique (tenant_id, run_id, call_key),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint attempts_closed check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (closed_at is not null)
    and num_nulls(closed_at, closed_by) <> 1),
  constraint attempts_sent check (
    (submissions > 0) = (token is not null) and num_nulls(token, sends_until, submitter) in (0, 3)
    and (status in ('DEFINED', 'CANCELLED') or token is not null) and (status <> 'DEFINED' or token is null)),
  constraint attempts_looked_at check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (next_look_at is null)),
  constraint attempts_report check (
    (status in ('SUCCEEDED', 'FAILED')) = (report_digest is not null)
    and (report_text is null or report_digest is not null)),
  constraint attempts_uncertain check ((status = 'UNCERTAIN') = (uncertain_reason is not null)),
  constraint attempts_cancel check (num_nulls(cancel_asked_at, cancel_reason) <> 1),
  constraint attempts_trouble check (num_nulls(trouble, trouble_at) <> 1)
);
comment on table ghouls.attempts is 'ServiceJobAttempt: one delegated job at another service.';
comment on column ghouls.attempts.sends_until is
  'The latest moment at which whoever holds the token, or held it last, can still send.';
comment on column ghouls.attempts.service_digest is 'Of what identifies its service: the executor that was meant.';
comment on column ghouls.attempts.unsent is
  'Whoever holds the token says that nothing of its submission was sent.';
comment on column ghouls.attempts.trouble is 'Why the last question came to nothing.';
create unique index attempts_of_arm on ghouls.attempts (tenant_id, run_id, arm_id);
create index attempts_newest on ghouls.attempts (tenant_id, created_at desc, attempt_id desc);
create index attempts_due on ghouls.attempts (next_look_at, run_id)
  where status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
create index attempts_by_submitter on ghouls.attempts (submitter) where status = 'SUBMITTING';

create function ghouls.contain_attempts() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  update ghouls.attempts set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run',
      next_look_at = null
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'DEFINED';
  update ghouls.attempts set next_look_at = ghouls.clock(), looks = 0,
      cancel_asked_at = coalesce(cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(cancel_reason, 'ended')
    where tenant_id = new.tenant_id and run_id = new.run_id and status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select a.tenant_id, a.run_id, 'attempt', a.call_key, arm.seq, a.token, 'service ' || a.service, ghouls.clock(),
      ghouls.clock()
    from ghouls.attempts a
    join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
    where a.tenant_id = new.tenant_id and a.run_id = new.run_id
      and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_attempts before update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_attempts();

create view ghouls.doctor_attempts as
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status as attempt_status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED')
  and (run.status in ('DONE', 'FAILED', 'CANCELLED')
    or (run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.kind = 'attempt' and i.key = a.call_key
        and i.acknowledged_at is null)))
union all
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
where a.status in ('SUCCEEDED', 'FAILED', 'CANCELLED') and arm.closed_at is null and run.quarantined_at is null
  and run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select i.tenant_id, i.run_id, null, null, i.key
from ghouls.containment_items i
where i.kind = 'attempt' and i.acknowledged_at is null and not exists (
  select from ghouls.attempts a
  where a.tenant_id = i.tenant_id and a.run_id = i.run_id and a.call_key = i.key
    and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED'));

create view ghouls.doctor_contradicted_attempts as
select a.tenant_id, a.run_id, a.attempt_id, a.status, a.contradiction
from ghouls.attempts a
where a.contradiction is not null;
`,
};
