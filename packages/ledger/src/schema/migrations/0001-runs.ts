import type { Migration } from "./migration.ts";

/**
 * Runs, their deliveries and their journal. Status lists are frozen here as text: a later change of a table of moves is
 * a later migration.
 */
export const runs: Migration = {
  number: 1,
  name: "runs",
  sql: `
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
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
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`,
};
