import { ENDING_RUN, sqlStates, type RunStatus } from "@ghouls/core";
import { recordAudit } from "../audit.ts";
import type { Database } from "../connection/database.ts";
import { ABOUT_CONTAINMENT, endRunIfContained, lockRuns, type RunKey } from "./endings.ts";
import { resumeIfClosed, type Resumption } from "../waits/resumptions.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

/** The flag goes, and what waited for that is due: its publication, or its look. */
const CLEAR = writeStatement(
  "runs.clear-quarantine",
  `
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`,
);

/** An ending whose probes and undos have been tried in vain: they are tried again. */
const TRY_AGAIN = writeStatement(
  "runs.contain-again",
  `
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(ENDING_RUN)}) and ${ABOUT_CONTAINMENT}
  for update
), due as (
  update ghouls.containment_items i
  set next_look_at = ghouls.clock()
  from r
  where i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.kind in ('effect', 'undo') and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
), delivery_due as (
  update ghouls.deliveries d
  set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.cause = 'contain' and d.status = 'PENDING'
  returning d.run_id
)
update ghouls.runs run
set contain_from = ghouls.clock(), attention_reason = null, attention_at = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and exists (select from due) and (select count(*) from delivery_due) >= 0
returning run.status`,
);

export interface ClearAnswer {
  /** False where the run was not quarantined, and no containment of it has been tried in vain. */
  readonly cleared: boolean;
  readonly status: RunStatus;
  /** What is to be published now. */
  readonly resumption: Resumption | null;
}

/**
 * An operator's word, with a reason, that the cause of a standstill is gone. It ends a quarantine: what arrived meanwhile brings the run back, and an ending that is contained passes. It has the
 * probes and undos of an ending tried again. Null where the tenant has no such run.
 */
export async function clearRun(
  database: Database,
  key: RunKey,
  word: { readonly actor: string; readonly reason: string },
  publisherGraceSeconds: number,
): Promise<ClearAnswer | null> {
  return database.transaction("runs.clear-quarantine", async (transaction): Promise<ClearAnswer | null> => {
    const found = (await lockRuns(transaction, [key])).get(key.runId);
    if (found === undefined) return null;
    const [row] = await transaction.run(CLEAR, [key.tenantId, key.runId]);
    if (row === undefined) {
      const again = (await transaction.run(TRY_AGAIN, [key.tenantId, key.runId])).length === 1;
      if (again) await recordAudit(transaction, key, { ...word, act: "clear", subject: "containment" });
      return { cleared: again, status: found, resumption: null };
    }
    await recordAudit(transaction, key, { ...word, act: "clear", subject: "quarantine" });
    const ended = await endRunIfContained(transaction, key);
    if (ended !== null) return { cleared: true, status: ended, resumption: null };
    const resumption = await resumeIfClosed(transaction, key, publisherGraceSeconds);
    if (resumption !== null) return { cleared: true, status: "QUEUED", resumption };
    const r = rows(row);
    const [seq, queue] = [r.numberOrNull("seq"), r.textOrNull("queue")];
    const pending = seq === null || queue === null ? null : { ...key, enqueueSeq: seq, queue };
    return { cleared: true, status: r.text("status") as RunStatus, resumption: pending };
  });
}
