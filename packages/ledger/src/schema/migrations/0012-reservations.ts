import type { Migration } from "./migration.ts";

/**
 * Units of a capacity that a claim holds, or waits for (design.md §3, Reservations). They refer to their run by a key that it
 * has only while a worker carries it: no statement of any engine can park a holder. A commit that takes the claim away is not
 * to fail by that: a trigger lets go in it, so that no engine of before has to know. What a lost claim has held stays in use
 * until the item of its worker is acknowledged, which no further write says.
 */
export const reservations: Migration = {
  number: 12,
  name: "reservations",
  sql: `
create table ghouls.capacities (
  name text primary key check (name <> ''),
  units integer not null check (units >= 1),
  updated_at timestamptz not null
);
comment on table ghouls.capacities is
  'What runs may reserve units of, as a configuration said last. Belongs to the deployment, so it has no tenant.';
comment on column ghouls.capacities.updated_at is 'When its units changed last: what was granted before may be more.';

alter table ghouls.runs
  add column reservations integer not null default 0 check (reservations >= 0),
  add column holder_key uuid
    generated always as (case when status in ('RUNNING', 'AWAITING_HARDWARE') then run_id end) stored,
  add constraint runs_holder_key unique (tenant_id, holder_key);
comment on column ghouls.runs.reservations is 'How often it has asked for units.';
comment on column ghouls.runs.holder_key is 'Its id while a worker carries it: only then it may hold units, or wait for them.';

create table ghouls.reservations (
  tenant_id text not null,
  run_id uuid not null,
  reservation_id uuid not null,
  epoch integer not null,
  scope text not null,
  name text not null,
  nth integer not null,
  capacity text not null references ghouls.capacities (name),
  units integer not null check (units >= 1),
  seq integer not null,
  token uuid not null,
  holder uuid,
  status text not null check (status in ('WAITING', 'HELD', 'LEFT', 'RELEASED')),
  asked_at timestamptz not null,
  held_at timestamptz,
  left_at timestamptz,
  released_at timestamptz,
  primary key (tenant_id, run_id, reservation_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  foreign key (tenant_id, holder) references ghouls.runs (tenant_id, holder_key),
  constraint reservations_holder check (
    (status in ('WAITING', 'HELD')) = (holder is not null) and (holder is null or holder = run_id)),
  constraint reservations_held check (
    (status <> 'WAITING' or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  constraint reservations_left check ((status <> 'LEFT' or left_at is not null)),
  constraint reservations_released check ((status = 'RELEASED') = (released_at is not null))
);
comment on table ghouls.reservations is
  'Units that a claim holds, waits for, or has left: those are in use while the item of its worker is open.';
comment on column ghouls.reservations.asked_at is 'The first ask in a row of its call, over all hops: its place among those that wait.';
create unique index reservations_one_open on ghouls.reservations (tenant_id, run_id, epoch, scope, name, nth)
  where status in ('WAITING', 'HELD');
create index reservations_of_holder on ghouls.reservations (tenant_id, holder) where holder is not null;
create index reservations_in_use on ghouls.reservations (capacity, asked_at, reservation_id) where status <> 'RELEASED';

create function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.reservations
    set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
      left_at = case status when 'HELD' then ghouls.clock() end,
      released_at = case status when 'WAITING' then ghouls.clock() end
    where tenant_id = new.tenant_id and holder = new.run_id;
  return new;
end
$function$;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and old.status in ('RUNNING', 'AWAITING_HARDWARE')
    and new.status in ('QUEUED', 'COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.leave_reservations();

create view ghouls.units_in_use as
select x.capacity, x.units, x.tenant_id, x.run_id, x.scope, x.name, x.nth, x.seq, x.status, x.held_at as since,
  item.over_at
from ghouls.reservations x
left join ghouls.containment_items item on x.status = 'LEFT' and item.tenant_id = x.tenant_id and item.run_id = x.run_id
  and item.kind = 'worker' and item.key = x.seq::text and item.acknowledged_at is null
where x.status = 'HELD' or item.run_id is not null;
comment on view ghouls.units_in_use is
  'Who holds units, and whose are still in use though their claim is lost: over_at is when nothing of it can act any more.';

create view ghouls.doctor_reservations as
select u.tenant_id, u.run_id, null as status, u.capacity, 'of ' || c.units || ' units more are in use' as problem
from ghouls.units_in_use u
join ghouls.capacities c on c.name = u.capacity
where (select sum(o.units) from ghouls.units_in_use o where o.capacity = u.capacity) > c.units
  and exists (select from ghouls.units_in_use o where o.capacity = u.capacity and o.since > c.updated_at)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, lower(x.status) || ' under a claim that is gone'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
where x.status in ('WAITING', 'HELD') and (d.status <> 'CLAIMED' or d.token is distinct from x.token)
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`,
};
