import type { Migration } from "./migration.ts";

/**
 * Evidence: what is kept for people. Copies of steps are best effort; a terminal record is required of every ended run,
 * written after the commit that ended it and never changed. What is still to be done after that commit stands in rows that
 * a trigger makes in it, so that no engine of before, and no crash, forgets. Its text is made by one function here: whoever
 * writes it again writes the same. Retention empties bodies by a function too, because nobody may rewrite a journal.
 */
export const evidence: Migration = {
  number: 18,
  name: "evidence",
  sql: `
alter table ghouls.evidence drop constraint evidence_class_check;
alter table ghouls.evidence add constraint evidence_class_check check (class in ('rejected', 'durable_best_effort'));
alter table ghouls.evidence
  add column ordinal integer check (ordinal >= 1),
  add column tries integer check (tries >= 1),
  add column started_at timestamptz,
  add column completed_at timestamptz;
comment on table ghouls.evidence is
  'Copies of steps, and what came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';
create unique index evidence_of_entry on ghouls.evidence (tenant_id, run_id, ordinal) where class = 'durable_best_effort';

create table ghouls.end_acts (
  tenant_id text not null,
  run_id uuid not null,
  act text not null check (act in ('record', 'checkpoints', 'seal', 'doubt')),
  ended_at timestamptz not null,
  due_at timestamptz not null,
  primary key (tenant_id, run_id, act)
);
comment on table ghouls.end_acts is
  'What is still to be done after the end of a run: a row goes when it is done. Made under the lock of its run.';
comment on column ghouls.end_acts.act is
  'A doubt takes the place of a seal while the record of the run disagrees with it.';
create index end_acts_due on ghouls.end_acts (act, due_at, run_id);
create index end_acts_to_seal on ghouls.end_acts (tenant_id, due_at, run_id) where act = 'seal';

create table ghouls.terminal_records (
  tenant_id text not null,
  run_id uuid not null,
  record_text text not null,
  record_digest text not null check (record_digest ~ '^[0-9a-f]{64}$'),
  written_at timestamptz not null,
  primary key (tenant_id, run_id)
);
comment on table ghouls.terminal_records is
  'One of each ended run, append only: the digest is SHA-256 of the exact text. Written without the lock of its run, so it has no reference to it.';

create table ghouls.seals (
  tenant_id text not null,
  number integer not null check (number >= 1),
  previous_digest text,
  records integer not null check (records >= 1),
  members_text text not null,
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  sealed_at timestamptz not null,
  primary key (tenant_id, number),
  constraint seals_chained check ((number = 1) = (previous_digest is null))
);
comment on table ghouls.seals is 'A chain for each tenant, append only, also logged outside of the database.';
comment on column ghouls.seals.members_text is 'Position, run and digest of each record in it, a line each.';
comment on column ghouls.seals.digest is
  'SHA-256 of tenant (as JSON), number, previous digest (or -) and members, each on a line of its own.';

create table ghouls.seal_checks (
  name text primary key check (name = 'rolling'),
  tenant_id text,
  number integer,
  next_at timestamptz not null,
  constraint seal_checks_position check (num_nulls(tenant_id, number) <> 1)
);
comment on table ghouls.seal_checks is 'How far the rolling check of the seals has come. Belongs to the deployment.';
comment on column ghouls.seal_checks.tenant_id is 'Of the seal that was checked last; null: none was in this round.';
insert into ghouls.seal_checks (name, next_at) values ('rolling', ghouls.clock());

alter table ghouls.runs add column bodies_emptied_at timestamptz, add column steps_emptied_at timestamptz;
comment on column ghouls.runs.bodies_emptied_at is 'When retention has emptied its bodies and those of its journal, waits and jobs.';
comment on column ghouls.runs.steps_emptied_at is 'When retention has emptied the copies of its steps.';
create index runs_with_bodies on ghouls.runs (finished_at, run_id) where finished_at is not null and bodies_emptied_at is null;
create index runs_with_steps on ghouls.runs (finished_at, run_id) where finished_at is not null and steps_emptied_at is null;

alter table ghouls.consents alter column request_text drop not null;
alter table ghouls.consents add constraint consents_request check (request_text is not null or closed_at is not null);
alter table ghouls.attempts alter column request_text drop not null;
alter table ghouls.attempts add constraint attempts_request check (request_text is not null or closed_at is not null);

create or replace function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if old.bodies_emptied_at is null then allowed.bodies_emptied_at := null; end if;
  if old.steps_emptied_at is null then allowed.steps_emptied_at := null; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;

alter table ghouls.audit add column after_end boolean not null default false;
comment on column ghouls.audit.after_end is 'Whether its run had ended before: then it is no part of the terminal record.';
update ghouls.audit word set after_end = true
from ghouls.runs run
where run.tenant_id = word.tenant_id and run.run_id = word.run_id and run.finished_at < word.at;

create function ghouls.place_word() returns trigger
  language plpgsql
  as $function$
begin
  new.after_end := exists (
    select from ghouls.runs run
    where run.tenant_id = new.tenant_id and run.run_id = new.run_id and run.finished_at is not null);
  return new;
end
$function$;
comment on function ghouls.place_word() is 'The run is locked by then. Times are no proof: clocks step, and one statement may be late.';
create trigger place_word before insert on ghouls.audit for each row execute function ghouls.place_word();

create function ghouls.micros(at timestamptz) returns bigint
  language sql stable parallel safe
  as $function$select (extract(epoch from at) * 1000000)::bigint$function$;
comment on function ghouls.micros(timestamptz) is 'Microseconds since 1970: whatever the time zone and the date style of a session are.';

create function ghouls.text_digest(of_text text) returns text
  language sql stable parallel safe
  as $function$select encode(sha256(convert_to(of_text, 'UTF8')), 'hex')$function$;

create function ghouls.terminal_text(of_tenant text, of_run uuid) returns text
  language sql stable
  as $function$
select jsonb_build_object(
  'format', 1,
  'tenant', run.tenant_id,
  'run', run.run_id,
  'status', run.status,
  'request', jsonb_build_object('digest', run.request_digest, 'key', run.idempotency_key, 'by', run.requested_by,
    'roles', to_jsonb(run.requested_roles), 'agent', run.agent, 'queue', run.queue, 'priority', run.priority),
  'workflow', jsonb_build_object('name', run.workflow_name, 'version', run.workflow_version, 'digest', run.workflow_digest),
  'links', jsonb_build_object('first', run.first_run_id, 'redriveOf', run.redrive_of, 'parent', run.parent_run_id,
    'parentArm', run.parent_arm_id, 'parentClose', run.parent_close),
  'bodies', jsonb_build_object('input', run.input_digest, 'output', run.output_digest, 'error', run.error_digest,
    'errorCode', run.error_code),
  'cancel', case when run.cancelled_by is not null then jsonb_build_object('by', run.cancelled_by, 'reason', run.cancel_reason) end,
  'times', jsonb_build_object('created', ghouls.micros(run.created_at), 'starts', ghouls.micros(run.starts_at),
    'started', ghouls.micros(run.started_at), 'deadline', ghouls.micros(run.deadline_at), 'finished', ghouls.micros(run.finished_at)),
  'journal', (
    select jsonb_build_object('length', run.journal_length, 'entries', count(*), 'epoch', run.epoch, 'digest', ghouls.text_digest(coalesce(string_agg(
      jsonb_build_array(j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.tries, j.result_digest)::text,
      chr(10) order by j.ordinal), '')))
    from ghouls.journal j
    where j.tenant_id = run.tenant_id and j.run_id = run.run_id),
  'deliveries', coalesce((
    select jsonb_agg(jsonb_build_array(d.seq, d.cause, d.status, d.outcome, d.claimed_by, ghouls.micros(d.created_at),
      ghouls.micros(d.claimed_at), ghouls.micros(d.settled_at), ghouls.micros(d.fenced_at)) order by d.seq)
    from ghouls.deliveries d
    where d.tenant_id = run.tenant_id and d.run_id = run.run_id), '[]'),
  'items', coalesce((
    select jsonb_agg(jsonb_build_array(i.kind, i.key, i.seq, i.acknowledged_by, i.acknowledgement, ghouls.micros(i.acknowledged_at))
      order by i.kind collate "C", i.key collate "C")
    from ghouls.containment_items i
    where i.tenant_id = run.tenant_id and i.run_id = run.run_id), '[]'),
  'consents', coalesce((
    select jsonb_agg(jsonb_build_object('consent', c.consent_id, 'status', c.status, 'digest', c.request_digest, 'by', c.closed_by,
      'closed', ghouls.micros(c.closed_at), 'decisions', coalesce((
        select jsonb_agg(jsonb_build_array(s.subject, s.verdict, s.comment_digest, ghouls.micros(s.decided_at)) order by s.subject collate "C")
        from ghouls.consent_decisions s
        where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id), '[]')) order by c.consent_id)
    from ghouls.consents c
    where c.tenant_id = run.tenant_id and c.run_id = run.run_id), '[]'),
  'attempts', coalesce((
    select jsonb_agg(jsonb_build_object('attempt', t.attempt_id, 'service', t.service, 'status', t.status, 'request', t.request_digest,
      'report', t.report_digest, 'by', t.closed_by, 'closed', ghouls.micros(t.closed_at)) order by t.attempt_id)
    from ghouls.attempts t
    where t.tenant_id = run.tenant_id and t.run_id = run.run_id), '[]'),
  'acts', coalesce((
    select jsonb_agg(jsonb_build_array(word.actor, word.act, word.subject, word.reason, ghouls.micros(word.at)) order by word.at, word.audit_id)
    from ghouls.audit word
    where word.tenant_id = run.tenant_id and word.run_id = run.run_id and not word.after_end), '[]')
)::text
from ghouls.runs run
where run.tenant_id = of_tenant and run.run_id = of_run and run.finished_at is not null
$function$;
comment on function ghouls.terminal_text(text, uuid) is
  'The text of a terminal record: only what can no longer change, and nothing that retention empties. Null while the run goes on.';

create function ghouls.seal_digest(of_tenant text, of_number integer, of_previous text, of_members text) returns text
  language sql stable
  as $function$
select ghouls.text_digest(concat_ws(chr(10), to_jsonb(of_tenant)::text, of_number::text, coalesce(of_previous, '-'), of_members))
$function$;

create function ghouls.seal_members(of_text text)
  returns table (place integer, run_id uuid, record_digest text)
  language sql stable
  as $function$
select split_part(line, ' ', 1)::integer, split_part(line, ' ', 2)::uuid, split_part(line, ' ', 3)
from string_to_table(of_text, chr(10)) as line
where line ~ '^[1-9][0-9]{0,3} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} [0-9a-f]{64}$'
$function$;
comment on function ghouls.seal_members(text) is 'Lines that are none are left out: a seal of which there are fewer than it says is altered.';

create function ghouls.may_be_emptied(of_tenant text, of_run uuid) returns boolean
  language plpgsql stable
  as $function$
begin
  return coalesce((
    select run.finished_at is not null and run.quarantined_at is null
      and exists (
        select from ghouls.terminal_records record where record.tenant_id = run.tenant_id and record.run_id = run.run_id)
      and not exists (
        select from ghouls.end_acts act
        where act.tenant_id = run.tenant_id and act.run_id = run.run_id and act.act in ('record', 'seal', 'doubt'))
      and not exists (
        select from ghouls.runs parent
        where parent.tenant_id = run.tenant_id and parent.run_id = run.parent_run_id and parent.finished_at is null)
      and not exists (
        select from ghouls.integrity_faults fault
        where fault.tenant_id = run.tenant_id and fault.run_id = run.run_id and fault.gone_at is null and fault.acknowledged_at is null)
    from ghouls.runs run
    where run.tenant_id = of_tenant and run.run_id = of_run), false);
end
$function$;
comment on function ghouls.may_be_emptied(text, uuid) is
  'Nobody needs its bodies: it is sealed, undoubted, and its parent, which reads its result, has ended too.';

create function ghouls.empty_bodies(of_tenant text, of_run uuid, at_most integer) returns integer
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $function$
declare
  emptied integer;
begin
  perform from ghouls.runs run where run.tenant_id = of_tenant and run.run_id = of_run for update;
  if not ghouls.may_be_emptied(of_tenant, of_run) then
    return null;
  end if;
  update ghouls.journal j set result_text = null
  from (
    select x.ordinal from ghouls.journal x
    where x.tenant_id = of_tenant and x.run_id = of_run and x.result_text is not null
    order by x.ordinal limit at_most) as full_one
  where j.tenant_id = of_tenant and j.run_id = of_run and j.ordinal = full_one.ordinal;
  get diagnostics emptied = row_count;
  if emptied >= at_most then
    return emptied;
  end if;
  update ghouls.signals set payload_text = null
    where tenant_id = of_tenant and run_id = of_run and payload_text is not null;
  update ghouls.consents set request_text = null
    where tenant_id = of_tenant and run_id = of_run and request_text is not null;
  update ghouls.consent_decisions set comment_text = null
    where tenant_id = of_tenant and run_id = of_run and comment_text is not null;
  update ghouls.attempts set request_text = null, report_text = null
    where tenant_id = of_tenant and run_id = of_run and (request_text is not null or report_text is not null);
  update ghouls.runs set input_text = null, output_text = null, error_text = null, bodies_emptied_at = ghouls.clock()
    where tenant_id = of_tenant and run_id = of_run;
  return emptied;
end
$function$;
comment on function ghouls.empty_bodies(text, uuid, integer) is
  'Empties bodies of an ended run, never digests: so many of its journal, and with the last of them all the others. Null: it may not be.';

create function ghouls.empty_steps(of_tenant text, of_run uuid, at_most integer) returns integer
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $function$
declare
  emptied integer;
begin
  perform from ghouls.runs run where run.tenant_id = of_tenant and run.run_id = of_run for update;
  if not ghouls.may_be_emptied(of_tenant, of_run) then
    return null;
  end if;
  update ghouls.evidence e set body_text = null
  from (
    select x.evidence_id from ghouls.evidence x
    where x.tenant_id = of_tenant and x.run_id = of_run and x.body_text is not null
    order by x.evidence_id limit at_most) as full_one
  where e.tenant_id = of_tenant and e.run_id = of_run and e.evidence_id = full_one.evidence_id;
  get diagnostics emptied = row_count;
  if emptied < at_most then
    update ghouls.runs set steps_emptied_at = ghouls.clock() where tenant_id = of_tenant and run_id = of_run;
  end if;
  return emptied;
end
$function$;
comment on function ghouls.empty_steps(text, uuid, integer) is 'The same of the copies of its steps, and of what fenced workers left.';

revoke execute on function ghouls.empty_bodies(text, uuid, integer) from public;
revoke execute on function ghouls.empty_steps(text, uuid, integer) from public;

create function ghouls.note_end() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
    select new.tenant_id, new.run_id, act, new.finished_at,
      new.finished_at + case act when 'seal' then interval '1 minute' else interval '0' end
    from unnest(array['record', 'checkpoints', 'seal']) as act
    where act <> 'checkpoints' or new.generation > 0
    on conflict (tenant_id, run_id, act) do nothing;
  return null;
end
$function$;
create trigger note_end after update of status on ghouls.runs
  for each row when (new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.note_end();

insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select run.tenant_id, run.run_id, act, run.finished_at, run.finished_at
from ghouls.runs run
cross join unnest(array['record', 'checkpoints', 'seal']) as act
where run.status in ('DONE', 'FAILED', 'CANCELLED') and (act <> 'checkpoints' or run.generation > 0);
`,
};
