import type { Migration } from "./migration.ts";

/**
 * A run that waits for units keeps its place between two hops: whoever takes or gives up the claim leaves it AWAY, in the same
 * commit. Engines of before know no such row: they keep the time of asking as they did, and ask anew. What ends the run, or parks
 * it, takes the place away.
 */
export const places: Migration = {
  number: 13,
  name: "places",
  sql: `
-- As engines lock them: who carries a run waits for no lock that is taken the other way round.
lock table ghouls.runs, ghouls.capacities, ghouls.reservations in access exclusive mode;

alter table ghouls.reservations
  add column inside integer not null default 0 check (inside >= 0),
  drop constraint reservations_status_check,
  add constraint reservations_status_check check (status in ('WAITING', 'AWAY', 'HELD', 'LEFT', 'RELEASED')),
  drop constraint reservations_held,
  add constraint reservations_held check (
    (status not in ('WAITING', 'AWAY') or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  drop constraint reservations_left,
  add constraint reservations_left check (status not in ('LEFT', 'AWAY') or left_at is not null);
comment on column ghouls.reservations.inside is
  'Units of the same capacity that are held around it: it can never be had where both come to more than there is.';
comment on column ghouls.reservations.left_at is
  'When its claim was lost or given up: a place is kept for a while after it, units until nothing of the claim can act.';
comment on column ghouls.capacities.units is
  'As a deploy said last (its preflight, or the host of one machine); a process adds only what is not here.';

alter table ghouls.capacities add column said_at timestamptz;
comment on column ghouls.capacities.said_at is 'When a deploy has said how many there are; null where only a process has.';
create function ghouls.keep_capacity() returns trigger
  language plpgsql
  as $function$
begin
  new.units := old.units;
  new.updated_at := old.updated_at;
  return new;
end
$function$;
comment on function ghouls.keep_capacity() is 'A process of before that starts late does not overrule a deploy.';
create trigger keep_capacity before update on ghouls.capacities
  for each row when (old.said_at is not null and new.said_at is not distinct from old.said_at)
  execute function ghouls.keep_capacity();

create or replace function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  if new.status = 'QUEUED' then
    update ghouls.reservations
      set status = case status when 'HELD' then 'LEFT' else 'AWAY' end, holder = null, left_at = ghouls.clock()
      where tenant_id = new.tenant_id and holder = new.run_id;
    -- A run that goes on as new asks for nothing of before.
    if new.epoch = old.epoch then
      return new;
    end if;
  end if;
  if new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED') then
    update ghouls.reservations
      set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
        left_at = case status when 'HELD' then ghouls.clock() end,
        released_at = case status when 'WAITING' then ghouls.clock() end
      where tenant_id = new.tenant_id and holder = new.run_id;
  end if;
  update ghouls.reservations
    set status = 'RELEASED', released_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'AWAY';
  return new;
end
$function$;
drop trigger leave_reservations on ghouls.runs;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and new.status <> old.status and new.status not in ('RUNNING', 'AWAITING_HARDWARE'))
  execute function ghouls.leave_reservations();

create or replace view ghouls.doctor_reservations as
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
select x.tenant_id, x.run_id, run.status, x.capacity, 'its place is kept, and it is not on its way'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
where x.status = 'AWAY' and run.status not in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE')
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`,
};
