import type { Parts } from "./parts.ts";

const CHUNK = 50_000;
const COLUMNS = `tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name, workflow_version,
  workflow_digest, queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at`;
const VALUES = `'default', made.id, made.id, made.id::text, 'r', 'zero-step', 1, 'grown', 'runs', 5, 'submitter',
  '{submitter}'`;

const FINISHED = `
with made as (
  select gen_random_uuid() as id, ghouls.clock() - n * interval '1 second' as at from generate_series(1, $1::integer) as n
), run as (
  insert into ghouls.runs (${COLUMNS}, started_at, finished_at, output_text, output_digest)
  select ${VALUES}, 'DONE', 1, 'null', 'd', made.at, made.at, made.at, 'null', 'd'
  from made returning tenant_id, run_id, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at, publications,
  published_at, next_publication_at, token, claimed_by, claimed_at, lease_until, created_at, settled_at)
select tenant_id, run_id, 1, 'admitted', 'SETTLED', 'done', queue, priority, created_at, 1, created_at,
  created_at + interval '30 seconds', gen_random_uuid(), 'worker', created_at, created_at + interval '2 minutes',
  created_at, created_at
from run`;

const WAITING = `
with made as (
  select gen_random_uuid() as id, ghouls.clock() - n * interval '1 second' as at from generate_series(1, $1::integer) as n
), run as (
  insert into ghouls.runs (${COLUMNS})
  select ${VALUES}, 'QUEUED', 1, 'null', 'd', made.at
  from made returning tenant_id, run_id, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select tenant_id, run_id, 1, 'admitted', 'PENDING', queue, priority, created_at + interval '1 year',
  ghouls.clock() + interval '1 day', created_at
from run`;

/** Loads finished runs with their settled deliveries, and waiting ones: queued, and due in a year. */
export async function grow(parts: Parts, finished: number, waiting: number): Promise<void> {
  for (const [text, count] of [
    [FINISHED, finished],
    [WAITING, waiting],
  ] as const) {
    for (let left = count; left > 0; left -= CHUNK) await parts.admin.query(text, [Math.min(left, CHUNK)]);
  }
  await settleDown(parts);
}

/** What earlier writes left to do is done before anything is measured. */
export async function settleDown({ admin }: Parts): Promise<void> {
  await admin.query("vacuum (analyze) ghouls.runs, ghouls.deliveries, ghouls.journal");
  await admin.query("checkpoint");
}

/** Takes away the runs of the queue that no worker serves, and the relay's work with them. */
export async function clearIdle({ admin }: Parts): Promise<void> {
  await admin.query("delete from ghouls.deliveries where queue = 'idle'");
  await admin.query("delete from ghouls.runs where queue = 'idle'");
}
