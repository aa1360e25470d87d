import type { Migration } from "./migration.ts";

/**
 * Evidence: what is kept for people. Copies of steps are best effort; a terminal record is required of every ended run,
 * written after the commit that ended it and never changed. What is still to be done after that commit stands in rows that
 * a trigger makes in it, so that no engine of before, and no crash, forgets. Its text is made by one function here: whoever
 * writes it again writes the same.
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
  act text not null check (act in ('record', 'checkpoints', 'seal')),
  ended_at timestamptz not null,
  primary key (tenant_id, run_id, act)
);
comment on table ghouls.end_acts is
  'What is still to be done after the end of a run: a row goes when it is done. Written under the lock of its run.';
create index end_acts_due on ghouls.end_acts (act, ended_at, run_id);

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
comment on column ghouls.seals.digest is 'SHA-256 of tenant, number, previous digest and members, each on a line of its own.';

create function ghouls.note_end() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.end_acts (tenant_id, run_id, act, ended_at)
    select new.tenant_id, new.run_id, act, new.finished_at from unnest(array['record', 'checkpoints', 'seal']) as act
    where act <> 'checkpoints' or new.generation > 0
    on conflict (tenant_id, run_id, act) do nothing;
  return null;
end
$function$;
create trigger note_end after update of status on ghouls.runs
  for each row when (new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.note_end();

insert into ghouls.end_acts (tenant_id, run_id, act, ended_at)
select run.tenant_id, run.run_id, act, run.finished_at
from ghouls.runs run
cross join unnest(array['record', 'checkpoints', 'seal']) as act
where run.status in ('DONE', 'FAILED', 'CANCELLED') and (act <> 'checkpoints' or run.generation > 0);
`,
};
