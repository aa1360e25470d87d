import type { Migration } from "./migration.ts";

/**
 * Steps that can be undone. Their start is committed before the call; where the run fails or is cancelled, each that is not
 * proven never to have happened becomes an item, in the very commit that ends the run: a trigger does it, so that no engine of
 * before forgets.
 */
export const undo: Migration = {
  number: 14,
  name: "undo",
  sql: `
-- As engines lock them.
lock table ghouls.runs, ghouls.containment_items in access exclusive mode;

alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child', 'undo'));

alter table ghouls.runs
  add column undoable boolean not null default false,
  add column contain_from timestamptz;
comment on column ghouls.runs.contain_from is
  'When its containment came further, or an operator spoke about it: what was tried in vain before it does not count any more.';
comment on column ghouls.runs.undoable is 'Whether it has started a step that has an undo.';

create table ghouls.undos (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  once boolean not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  cleared_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
comment on table ghouls.undos is 'Starts of steps that have an undo, committed before their calls.';
comment on column ghouls.undos.once is 'Whether it is an effect that happens once, whose intents tell more.';
comment on column ghouls.undos.started_at is 'Of its first try.';
comment on column ghouls.undos.cleared_at is 'When its own code had said of every try that it has not happened.';

create view ghouls.steps_to_undo as
select u.tenant_id, u.run_id, u.epoch, u.scope, u.kind, u.name, u.nth, u.seq, u.token, u.started_at,
  json_build_array(u.epoch, u.scope, u.kind, u.name, u.nth)::text as key
from ghouls.undos u
where u.cleared_at is null and (not u.once or exists (
  select from ghouls.intents i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.epoch = u.epoch and i.scope = u.scope and i.kind = u.kind
    and i.name = u.name and i.nth = u.nth and (i.outcome is null or i.outcome not in ('not_done', 'cannot_happen'))));
comment on view ghouls.steps_to_undo is 'Steps with an undo that are not proven never to have happened.';

create function ghouls.contain_undos() returns trigger
  language plpgsql
  as $function$
declare
  started integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select u.tenant_id, u.run_id, 'undo', u.key, u.seq, u.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
    from ghouls.steps_to_undo u
    join ghouls.deliveries d on d.tenant_id = u.tenant_id and d.run_id = u.run_id and d.seq = u.seq
    where u.tenant_id = new.tenant_id and u.run_id = new.run_id
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics started = row_count;
  if started > 0 then
    new.open_items := new.open_items + started;
    if new.status = 'FAILED' then
      new.status := 'FAILING';
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_undos before update of status on ghouls.runs
  for each row when (new.undoable and new.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_undos();

create view ghouls.doctor_undos as
select u.tenant_id, u.run_id, run.status, u.name, u.key
from ghouls.steps_to_undo u
join ghouls.runs run on run.tenant_id = u.tenant_id and run.run_id = u.run_id
where run.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED') and not exists (
  select from ghouls.containment_items i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.kind = 'undo' and i.key = u.key)
union all
select u.tenant_id, u.run_id, run.status, u.name, j.ordinal::text
from ghouls.undos u
join ghouls.runs run on run.tenant_id = u.tenant_id and run.run_id = u.run_id
join ghouls.journal j on j.tenant_id = u.tenant_id and j.run_id = u.run_id and j.epoch = u.epoch and j.scope = u.scope
  and j.kind = u.kind and j.name = u.name and j.nth = u.nth and j.outcome = 'ok'
where run.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED') and not exists (
  select from ghouls.containment_items i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.kind = 'undo'
    and i.key = json_build_array(u.epoch, u.scope, u.kind, u.name, u.nth)::text);
`,
};
