import type { Migration } from "./migration.ts";

/**
 * Children: runs that another run has started, and waits for. A run has no foreign key to another: no transaction holds
 * both. A child that ends leaves a word for its parent beside both, which a second transaction takes; and one that may
 * still act when its parent ends becomes an item of containment in that very commit. Triggers do both, so that no engine
 * of before forgets.
 */
export const children: Migration = {
  number: 10,
  name: "children",
  sql: `
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check
  check (owner in ('consent', 'delegate', 'child', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child'));

alter table ghouls.runs
  add column parent_run_id uuid,
  add column parent_arm_id uuid,
  add column parent_close text check (parent_close in ('cancel', 'wait', 'abandon')),
  add column children integer not null default 0 check (children >= 0),
  add constraint runs_parent check (num_nulls(parent_run_id, parent_arm_id, parent_close) in (0, 3));
comment on column ghouls.runs.parent_arm_id is 'The arm on which its parent waits for it.';
comment on column ghouls.runs.parent_close is 'What becomes of it when its parent ends.';
comment on column ghouls.runs.children is 'How many runs it has started.';
create unique index runs_of_arm on ghouls.runs (tenant_id, parent_run_id, parent_arm_id)
  where parent_run_id is not null;

create table ghouls.child_ends (
  tenant_id text not null,
  run_id uuid not null,
  parent_run_id uuid not null,
  ended_at timestamptz not null,
  primary key (tenant_id, run_id)
);
comment on table ghouls.child_ends is
  'Children that have ended, until their parents know. Written under the lock of the child alone, so it has no reference to either.';
create index child_ends_due on ghouls.child_ends (ended_at, run_id);

create function ghouls.tell_parent() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.child_ends (tenant_id, run_id, parent_run_id, ended_at)
    values (new.tenant_id, new.run_id, new.parent_run_id, new.finished_at)
    on conflict (tenant_id, run_id) do nothing;
  return null;
end
$function$;
create trigger tell_parent after update of status on ghouls.runs
  for each row when (new.parent_run_id is not null
    and new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.tell_parent();

create function ghouls.contain_children() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, arm.seq, child.run_id,
      'run ' || child.run_id, ghouls.clock(), ghouls.clock()
    from ghouls.runs child
    join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
      and arm.arm_id = child.parent_arm_id
    where child.tenant_id = new.tenant_id and child.parent_run_id = new.run_id and child.parent_close <> 'abandon'
      and child.status not in ('DONE', 'FAILED', 'CANCELLED')
    on conflict (tenant_id, run_id, kind, key) do nothing;
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
create trigger contain_children before update of status on ghouls.runs
  for each row when (new.children > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_children();

drop trigger close_waits on ghouls.runs;
create trigger close_waits after update of status on ghouls.runs
  for each row when ((new.generation > 0 or new.children > 0)
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_children as
select parent.tenant_id, parent.run_id, parent.status, child.run_id as child_run_id, child.status as child_status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
where child.parent_close <> 'abandon' and child.status not in ('DONE', 'FAILED', 'CANCELLED')
  and parent.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
  and not exists (
    select from ghouls.containment_items i
    where i.tenant_id = child.tenant_id and i.run_id = parent.run_id and i.kind = 'child' and i.key = child.run_id::text
      and i.acknowledged_at is null)
union all
select parent.tenant_id, parent.run_id, parent.status, child.run_id, child.status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
  and arm.arm_id = child.parent_arm_id
where child.status in ('DONE', 'FAILED', 'CANCELLED') and arm.closed_at is null and parent.quarantined_at is null
  and parent.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not exists (
    select from ghouls.child_ends e where e.tenant_id = child.tenant_id and e.run_id = child.run_id)
union all
select arm.tenant_id, arm.run_id, null, null, 'arm ' || arm.arm_id
from ghouls.arms arm
where arm.owner = 'child' and arm.closed_at is null and not exists (
  select from ghouls.runs child
  where child.tenant_id = arm.tenant_id and child.parent_run_id = arm.run_id and child.parent_arm_id = arm.arm_id);
`,
};
