import type { Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { isPaused } from "../sql/paused.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

const BEAT = writeStatement(
  "deliveries.beat",
  `
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq, d.cause <> 'contain' and exists (
    select from ghouls.runs run
    where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${isPaused("run")}) as paused`,
);

const BEAT_OF_WORKER = writeStatement(
  "deliveries.beat-of-worker",
  `
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $2::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id`,
);

/**
 * Extends the leases of all that a worker holds, in its place: a supervisor sees that its process lives while a debugger
 * keeps it from beating. Once its end is recorded nothing is extended any more. Answers how many deliveries it holds.
 */
export async function beatOfWorker(
  executor: Executor,
  worker: string,
  leaseSeconds: number,
): Promise<number> {
  return (await executor.run(BEAT_OF_WORKER, [worker, leaseSeconds])).length;
}

/**
 * Extends the leases of everything that a process carries, in one statement that locks deliveries alone.
 * Answers by `<run id>:<seq>` what is still held, and whether its run is paused; what is missing has been fenced or judged
 * lost. A lease that has lapsed and is not yet judged is revived.
 */
export async function beatIfClaimed(
  executor: Executor,
  claims: readonly Claim[],
  leaseSeconds: number,
): Promise<ReadonlyMap<string, { readonly paused: boolean }>> {
  const found = await executor.run(BEAT, [
    claims.map((claim) => claim.tenantId),
    claims.map((claim) => claim.runId),
    claims.map((claim) => claim.seq),
    claims.map((claim) => claim.token),
    leaseSeconds,
  ]);
  return new Map(
    found.map((row) => {
      const r = rows(row);
      return [`${r.text("run_id")}:${r.number("seq")}`, { paused: r.boolean("paused") }];
    }),
  );
}
