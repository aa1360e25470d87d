import { sourcesOf, sqlStates, type RunStatus } from "@ghouls/core";
import type { Database } from "./database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "./endings.ts";
import { EFFECT_KEY } from "./effect-key.ts";
import { rows } from "./rows.ts";
import { writeStatement } from "./statement.ts";

/**
 * One writer moves the run to CANCELLING; in the same commit its open delivery is fenced, and what a claim or an effect
 * may still do becomes an item. The second statement of its transaction: deliveries and intents may be new.
 */
const CANCEL = writeStatement(
  "runs.cancel",
  `
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(sourcesOf("run", "CANCELLING"))})
  for update
), open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $5::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${EFFECT_KEY}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`,
);

/** What a cancel found and did. */
export interface CancelAnswer {
  /** Whether this call elected itself. */
  readonly cancelled: boolean;
  readonly status: RunStatus;
}

/**
 * Cancels a run: CANCELLING with its fences in one commit, CANCELLED in the same one where nothing can still act. A run
 * that is ending or terminal keeps what was decided. Null where the tenant has no such run.
 */
export async function cancelRun(
  database: Database,
  key: RunKey,
  word: { readonly actor: string; readonly reason: string },
  actsMarginSeconds: number,
): Promise<CancelAnswer | null> {
  return database.transaction("runs.cancel", async (transaction) => {
    const found = (await lockRuns(transaction, [key])).get(key.runId);
    if (found === undefined) return null;
    const [row] = await transaction.run(CANCEL, [
      key.tenantId,
      key.runId,
      word.actor,
      word.reason,
      actsMarginSeconds,
    ]);
    if (row === undefined) return { cancelled: false, status: found };
    const ended = await endRunIfContained(transaction, key);
    return { cancelled: true, status: ended ?? (rows(row).text("status") as RunStatus) };
  });
}
