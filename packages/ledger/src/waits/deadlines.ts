import { sourcesOf, sqlStates, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "../containment/endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";
import { takenAway } from "../sql/taken-away.ts";

/** The states that a deadline ends: RUNNING is fenced, and what waits is closed. */
export const DEADLINE_STATES: readonly RunStatus[] = sourcesOf("run", "FAILING");

/**
 * A run that is held has not started: its deadline moves with its release, and its hold ends it in time. No run is held
 * again. By its key, so that no plan reads every hold. The run is `run`.
 */
export const NOT_HELD = `(
      select held.status from ghouls.deliveries held
      where held.tenant_id = run.tenant_id and held.run_id = run.run_id and held.seq = run.enqueue_seq
    ) is distinct from 'HELD'`;

/** A run whose deadline has passed. */
export interface OverdueRun extends RunKey {
  readonly status: RunStatus;
  readonly deadlineAt: Date;
}

const OVERDUE = dueStatements(
  "runs.overdue",
  { time: "run.deadline_at", id: "run.run_id", owner: "run.run_id", column: "run_id" },
  (due) => `
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${microsOf("run.deadline_at")}
from ghouls.runs run
where run.status in (${sqlStates(DEADLINE_STATES)}) and run.quarantined_at is null
  and ${NOT_HELD} and ${due}`,
);

/** The second statement of its transaction: deliveries and intents may be new. */
const FAIL = writeStatement(
  "runs.fail-overdue",
  `
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(DEADLINE_STATES)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${takenAway("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`,
);

/** Runs whose deadline has passed, the longest first. They are their own owners. Spans tenants. */
export async function readOverdueRuns(executor: Executor, look: DueLook): Promise<PassPage<OverdueRun>> {
  const found = await runDue(executor, OVERDUE, look);
  return pageOf(found, look.limit, (row) => {
    const r = rows(row);
    return {
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      status: r.text("status") as RunStatus,
      deadlineAt: r.date("deadline_at"),
    };
  });
}

/**
 * Ends a run whose deadline has passed: FAILING with its fences in one commit, FAILED in the same one where nothing can
 * still act. Null where it has moved meanwhile.
 */
export async function failOverdueRun(
  database: Database,
  run: RunKey & { readonly errorText: string; readonly errorDigest: string },
  actsMarginSeconds: number,
  repair?: RepairNote,
): Promise<RunStatus | null> {
  return database.transaction("runs.fail-overdue", async (transaction) => {
    await lockRuns(transaction, [run]);
    const { tenantId, runId, errorText, errorDigest } = run;
    const [row] = await transaction.run(FAIL, [tenantId, runId, errorText, errorDigest, actsMarginSeconds]);
    if (row === undefined) return null;
    const status = (await endRunIfContained(transaction, run)) ?? (rows(row).text("status") as RunStatus);
    if (repair !== undefined) await recordRepair(transaction, run, { ...repair, after: status });
    return status;
  });
}
