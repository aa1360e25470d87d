import type { Migration } from "./migration.ts";

/**
 * Who has paused a run and why; and pauses of a tenant, a workflow or everything. Engines of before neither set nor see the
 * latter: they claim on until they are gone. A run that is ending is held by no pause, whoever moves it there.
 */
export const pauses: Migration = {
  number: 15,
  name: "pauses",
  sql: `
alter table ghouls.runs
  add column paused_by text,
  add column pause_reason text,
  add constraint runs_pause check (num_nulls(paused_by, pause_reason) <> 1 and (paused_by is null or paused_at is not null));

create table ghouls.pauses (
  pause_id uuid not null,
  scope text not null,
  tenant_id text check (tenant_id <> ''),
  workflow text check (workflow <> ''),
  actor text not null check (actor <> ''),
  reason text not null,
  at timestamptz not null,
  lifted_at timestamptz,
  lifted_by text,
  lift_reason text,
  primary key (pause_id),
  constraint pauses_scope check (case scope
    when 'all' then tenant_id is null and workflow is null
    when 'tenant' then tenant_id is not null and workflow is null
    when 'workflow' then workflow is not null
    else false end),
  constraint pauses_lifted check (num_nulls(lifted_at, lifted_by, lift_reason) in (0, 3))
);
comment on table ghouls.pauses is
  'What no worker takes up, beside single runs. A row stays when it has been lifted, and tells who set and who lifted it.';
comment on column ghouls.pauses.tenant_id is 'Null: in every tenant, so it belongs to the deployment.';
comment on column ghouls.pauses.workflow is 'Null: every workflow.';
create unique index pauses_one_set on ghouls.pauses ((coalesce(tenant_id, '')), (coalesce(workflow, '')))
  where lifted_at is null;

create function ghouls.end_pause() returns trigger
  language plpgsql
  as $function$
begin
  new.paused_at := null;
  new.paused_by := null;
  new.pause_reason := null;
  return new;
end
$function$;
create trigger end_pause before update of status on ghouls.runs
  for each row when (new.paused_at is not null and old.status not in ('DONE', 'FAILED', 'CANCELLED')
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.end_pause();
`,
};
