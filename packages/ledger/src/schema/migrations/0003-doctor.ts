import type { Migration } from "./migration.ts";

/**
 * The invariants of design.md §4 as far as their tables exist: each view holds the rows that break one, so that anybody
 * with SQL can look at any moment. A later migration replaces a view whose invariant grows.
 */
export const doctor: Migration = {
  number: 3,
  name: "doctor",
  sql: `
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`,
};
