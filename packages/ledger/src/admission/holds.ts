import type { RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "../containment/endings.ts";
import { deliveryMayBecome, runMayBecome } from "../sql/fence.ts";
import { recordRepairs, type RepairNote } from "../reconciler/repairs.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

/** A held delivery whose time is over. */
export interface ExpiredHold extends RunKey {
  readonly expiredAt: Date;
}

const EXPIRED = dueStatements(
  "deliveries.expired-holds",
  { time: "d.hold_expires_at", id: "d.run_id", owner: "d.run_id", column: "run_id" },
  (due) => `
select d.tenant_id, d.run_id, d.hold_expires_at, ${microsOf("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null and ${due}`,
);

/** The second statement of its transaction: the runs are locked, and a release, a cancel or a clock may have moved them. */
const EXPIRE = writeStatement(
  "deliveries.expire-holds",
  `
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${runMayBecome("run.status", "FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${deliveryMayBecome("d.status", "FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`,
);

/** Holds whose time is over, the longest first. Their owners are their runs. Spans tenants. */
export async function readExpiredHolds(executor: Executor, look: DueLook): Promise<PassPage<ExpiredHold>> {
  const found = await runDue(executor, EXPIRED, look);
  return pageOf(found, look.limit, (row) => ({
    ...keyOf(row),
    expiredAt: rows(row).date("hold_expires_at"),
  }));
}

/**
 * Ends held runs whose time is over (design.md §2, Delivery): the delivery FENCED and the run FAILING `hold_expired`, and
 * FAILED in the same commit where nothing of it can act, as it cannot of a run that was never claimed. What was released or
 * cancelled meanwhile is left alone.
 */
export async function expireHolds(
  database: Database,
  holds: readonly (RunKey & {
    readonly errorText: string;
    readonly errorDigest: string;
    /** Where it is a repair of the reconciler. */
    readonly repair?: RepairNote;
  })[],
): Promise<(RunKey & { readonly status: RunStatus })[]> {
  if (holds.length === 0) return [];
  return database.transaction("deliveries.expire-holds", async (transaction) => {
    await lockRuns(transaction, holds);
    const found = await transaction.run(EXPIRE, [
      holds.map((hold) => hold.tenantId),
      holds.map((hold) => hold.runId),
      holds.map((hold) => hold.errorText),
      holds.map((hold) => hold.errorDigest),
    ]);
    const ended: (RunKey & { readonly status: RunStatus })[] = [];
    for (const row of found) {
      const key = keyOf(row);
      const status = rows(row).text("status") as RunStatus;
      ended.push({ ...key, status: (await endRunIfContained(transaction, key)) ?? status });
    }
    const notes = new Map(holds.map(({ runId, repair }) => [runId, repair]));
    await recordRepairs(transaction, ended, ({ runId, status }) => {
      const note = notes.get(runId);
      return note && { ...note, after: status };
    });
    return ended;
  });
}

function keyOf(row: Record<string, unknown>): RunKey {
  return { tenantId: rows(row).text("tenant_id"), runId: rows(row).text("run_id") };
}
