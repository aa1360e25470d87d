import { recordSubmitterEnd } from "../attempts/submissions.ts";
import { recordAudit } from "../audit.ts";
import type { Database, Executor } from "../connection/database.ts";
import { lockRuns } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const WORKER_ENDED = writeStatement(
  "deliveries.record-worker-end",
  `
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`,
);

/** What its earlier claims left is over sooner: once what it had sent has had its time. */
const WORKER_ITEMS = writeStatement(
  "items.record-worker-end",
  `
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`,
);

/**
 * A supervisor's word that the process of this name has ended. Its claims' leases end with it, so that the next judgement
 * need not wait for them; answers how many deliveries it held. Locks deliveries and items only, like every mark.
 */
export async function recordWorkerEnd(
  executor: Executor,
  end: { readonly worker: string; readonly how: string; readonly actsMarginSeconds?: number },
): Promise<number> {
  const held = await executor.run(WORKER_ENDED, [end.worker, end.how]);
  const marginSeconds = end.actsMarginSeconds ?? DEFAULT_ACTS_MARGIN_SECONDS;
  await executor.run(WORKER_ITEMS, [end.worker, marginSeconds]);
  await recordSubmitterEnd(executor, end.worker, marginSeconds);
  return held.length;
}

/** A request that was sent may act for as long as requests commonly wait for their answer. */
const DEFAULT_ACTS_MARGIN_SECONDS = 60;

/** Who holds something under a name, or under one that begins with it. Of the rows that are open there are few. */
const HOLDERS = readStatement(
  "deliveries.holders",
  `
select d.tenant_id, d.run_id, d.claimed_by as worker
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.worker_ended_at is null and (d.claimed_by = $1 or starts_with(d.claimed_by, $2))
union
select i.tenant_id, i.run_id, i.worker
from ghouls.containment_items i
where i.kind = 'worker' and i.acknowledged_at is null and (i.worker = $1 or starts_with(i.worker, $2))
union
select a.tenant_id, a.run_id, a.submitter
from ghouls.attempts a
where a.status = 'SUBMITTING' and (a.submitter = $1 or starts_with(a.submitter, $2))
order by worker, tenant_id, run_id`,
);

/** What a word about the end of a worker has come to. */
export interface WorkerEndAnswer {
  /** The processes of that name that held something. */
  readonly workers: readonly string[];
  /** How many runs they held something of. */
  readonly runs: number;
}

/**
 * Somebody's word that a process has ended, or all processes whose names begin with its name and a slash, as those of one
 * supervisor do. It ends nothing: what the process has sent may still act for the margin. Audited in every run concerned,
 * which is why the runs are locked first. Spans tenants.
 */
export async function sayWorkerEnded(
  database: Database,
  word: {
    readonly worker: string;
    readonly actor: string;
    readonly reason: string;
    readonly actsMarginSeconds: number;
  },
): Promise<WorkerEndAnswer> {
  const { worker, actor, reason, actsMarginSeconds } = word;
  return database.transaction("deliveries.say-worker-ended", async (transaction) => {
    const found = await transaction.run(HOLDERS, [worker, `${worker}/`]);
    const holders = found.map((row) => {
      const r = rows(row);
      return { tenantId: r.text("tenant_id"), runId: r.text("run_id"), worker: r.text("worker") };
    });
    const runs = [...new Map(holders.map((one) => [one.runId, one])).values()];
    if (runs.length > 0) await lockRuns(transaction, runs);
    const workers = [...new Set(holders.map((one) => one.worker))];
    const how = `${actor}: ${reason}`;
    for (const name of workers) await recordWorkerEnd(transaction, { worker: name, how, actsMarginSeconds });
    for (const one of holders)
      await recordAudit(transaction, one, { actor, act: "worker_ended", subject: one.worker, reason });
    return { workers, runs: runs.length };
  });
}
