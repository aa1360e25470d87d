import { GOING_ON_RUN, sqlStates, type RunStatus } from "@ghouls/core";
import type { Database } from "../connection/database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "./endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { takenAway } from "../sql/taken-away.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

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
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(GOING_ON_RUN)})
  for update
), ${takenAway("$5")}
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
  repair?: RepairNote,
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
    const status = (await endRunIfContained(transaction, key)) ?? (rows(row).text("status") as RunStatus);
    if (repair !== undefined) await recordRepair(transaction, key, { ...repair, after: status });
    return { cancelled: true, status };
  });
}
