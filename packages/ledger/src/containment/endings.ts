import { ENDING_RUN, OPEN_DELIVERY, sqlStates, type AttentionReason, type RunStatus } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A run of a tenant. */
export interface RunKey {
  readonly tenantId: string;
  readonly runId: string;
}

/**
 * The first statement of every transaction whose result depends on rows that others may add: it locks the runs by id, and
 * what follows has a snapshot of its own.
 */
const LOCK = readStatement(
  "runs.lock",
  `
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`,
);

/** Locks runs, in order of their ids. Answers their states by id. */
export async function lockRuns(
  executor: Executor,
  keys: readonly RunKey[],
): Promise<ReadonlyMap<string, RunStatus>> {
  const found = await executor.run(LOCK, [keys.map((key) => key.tenantId), keys.map((key) => key.runId)]);
  return new Map(found.map((row) => [rows(row).text("run_id"), rows(row).text("status") as RunStatus]));
}

/** Whether a run asks for a person because of what is left to contain. */
export const ABOUT_CONTAINMENT = `(${(["containment", "effect_unknown"] satisfies AttentionReason[])
  .map((reason) => `starts_with(run.attention_reason, '${reason}')`)
  .join(" or ")})`;

/**
 * Ends a run that is contained: no open item, no claimed delivery. A PENDING contain delivery is fenced by the ending, a
 * CLAIMED one is waited for. Where only steps are left to be undone, a look at them is due. A statement of its own after the
 * lock: it tests for rows that may be new.
 */
const END = writeStatement(
  "runs.end-if-contained",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(ENDING_RUN)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), undo_due as (
  update ghouls.containment_items i
  set next_look_at = ghouls.clock()
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.undoable and run.status in (${sqlStates(ENDING_RUN)})
    and i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'undo' and i.acknowledged_at is null
    and i.next_look_at > ghouls.clock() and not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind <> 'undo' and other.acknowledged_at is null)
  returning i.run_id
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${sqlStates(OPEN_DELIVERY.filter((state) => state !== "CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock(),
  attention_reason = case when ${ABOUT_CONTAINMENT} then null else run.attention_reason end,
  attention_at = case when ${ABOUT_CONTAINMENT} then null else run.attention_at end
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0 and (select count(*) from undo_due) >= 0
returning run.status`,
);

/** Answers the terminal status where this call ended the run, else null. The run must be locked by the transaction. */
export async function endRunIfContained(executor: Executor, key: RunKey): Promise<RunStatus | null> {
  const [row] = await executor.run(END, [key.tenantId, key.runId]);
  return row === undefined ? null : (rows(row).text("status") as RunStatus);
}
