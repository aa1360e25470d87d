import { GOING_ON_RUN, sqlStates, type RunStatus } from "@ghouls/core";
import { recordAudit } from "../audit.ts";
import type { Database } from "../connection/database.ts";
import { lockRuns, type RunKey } from "../containment/endings.ts";
import { isPaused } from "../sql/paused.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";
import type { Resumption } from "../waits/resumptions.ts";

const PAUSE = writeStatement(
  "runs.pause",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)
update ghouls.runs run
set paused_at = ghouls.clock(), paused_by = $3, pause_reason = $4
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and r.paused_at is null and r.status in (${sqlStates(GOING_ON_RUN)})
returning run.status`,
);

/** The flag goes, and what waited for that is due. The delivery may be new, so it is the second statement of its transaction. */
const UNPAUSE = writeStatement(
  "runs.unpause",
  `
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.paused_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue, d.due_at
), unpaused as (
  update ghouls.runs run
  set paused_at = null, paused_by = null, pause_reason = null, workflow_absent_since = null
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.workflow_name, run.status, run.quarantined_at, run.paused_at
)
select run.status, due.seq, due.queue,
  due.due_at <= ghouls.clock() and run.quarantined_at is null and not ${isPaused("run")} as goes_on
from unpaused run
left join due on due.tenant_id = run.tenant_id and due.run_id = run.run_id`,
);

export interface RunPauseAnswer {
  /** False where the run was paused before, or is ending or has ended. */
  readonly paused: boolean;
  readonly status: RunStatus;
}

export interface RunUnpauseAnswer {
  /** False where the run itself was not paused. */
  readonly unpaused: boolean;
  readonly status: RunStatus;
  /** What is to be published now; null also where another pause, a quarantine or a start that is ahead holds it. */
  readonly resumption: Resumption | null;
}

/** Pauses a run that goes on by its code (design.md §2, Run). Null where the tenant has no such run. */
export async function pauseRun(
  database: Database,
  key: RunKey,
  word: { readonly actor: string; readonly reason: string },
): Promise<RunPauseAnswer | null> {
  return database.transaction("runs.pause", async (transaction): Promise<RunPauseAnswer | null> => {
    const found = (await lockRuns(transaction, [key])).get(key.runId);
    if (found === undefined) return null;
    const [row] = await transaction.run(PAUSE, [key.tenantId, key.runId, word.actor, word.reason]);
    if (row === undefined) return { paused: false, status: found };
    await recordAudit(transaction, key, { ...word, act: "pause", subject: "run" });
    return { paused: true, status: found };
  });
}

/** Ends the pause of a run: its delivery is due. Null where the tenant has no such run. */
export async function unpauseRun(
  database: Database,
  key: RunKey,
  word: { readonly actor: string; readonly reason: string },
): Promise<RunUnpauseAnswer | null> {
  return database.transaction("runs.unpause", async (transaction): Promise<RunUnpauseAnswer | null> => {
    const found = (await lockRuns(transaction, [key])).get(key.runId);
    if (found === undefined) return null;
    const [row] = await transaction.run(UNPAUSE, [key.tenantId, key.runId]);
    if (row === undefined) return { unpaused: false, status: found, resumption: null };
    await recordAudit(transaction, key, { ...word, act: "unpause", subject: "run" });
    const r = rows(row);
    const [seq, queue] = [r.numberOrNull("seq"), r.textOrNull("queue")];
    const goesOn = seq !== null && queue !== null && r.boolean("goes_on");
    const { tenantId, runId } = key;
    const resumption = goesOn ? { tenantId, runId, enqueueSeq: seq, queue } : null;
    return { unpaused: true, status: found, resumption };
  });
}
