import { sqlStates, statesOf, type RunStatus } from "@ghouls/core";
import { recordAudit } from "./audit.ts";
import type { Database } from "./connection/database.ts";
import { lockRuns, type RunKey } from "./containment/endings.ts";
import { rows } from "./sql/rows.ts";
import { readStatement, writeStatement } from "./sql/statement.ts";

/** Where no worker has it: queued, or parked. A resident run has its worker with it. */
const WITHOUT_A_WORKER = statesOf("run").filter(
  (status) => status === "QUEUED" || (status.startsWith("AWAITING_") && status !== "AWAITING_HARDWARE"),
);

/**
 * The checkpoint that the next hop starts from says the pinned digest too; its journal stays under its own digest, and is
 * still checked. What was given back for want of the code is due at once. The second statement of its transaction: the
 * checkpoint may be new.
 */
const REPIN = writeStatement(
  "runs.repin",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.generation, run.enqueue_seq, run.workflow_absent_since
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(WITHOUT_A_WORKER)})
    and run.quarantined_at is null and run.workflow_digest = $3 and run.workflow_digest <> $4
  for update
), checkpoint as (
  update ghouls.checkpoints c
  set workflow_digest = $4
  from r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id and c.generation = r.generation
  returning c.run_id
), due as (
  update ghouls.deliveries d
  set due_at = least(d.due_at, ghouls.clock()), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq and d.status = 'PENDING'
    and r.workflow_absent_since is not null
  returning d.run_id
)
update ghouls.runs run
set workflow_digest = $4, workflow_absent_since = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from checkpoint) >= 0
  and (select count(*) from due) >= 0
returning run.run_id`,
);

const PIN = readStatement(
  "runs.pin",
  `
select run.workflow_digest, run.quarantined_at is not null as quarantined
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

export interface RepinAnswer {
  readonly repinned: boolean;
  readonly status: RunStatus;
  /** What the run is pinned to now. */
  readonly digest: string;
  readonly quarantined: boolean;
}

/**
 * Lets another code carry a run on that no worker has: its digest takes the place of the pinned one, with an audited word.
 * Only whoever works on a workflow does so, as the role that owns the schema: to the application's, checkpoints are written
 * once. Null where the tenant has no such run.
 */
export async function repinRunIfUnclaimed(
  database: Database,
  key: RunKey,
  digests: { readonly from: string; readonly to: string },
  word: { readonly actor: string; readonly reason: string },
): Promise<RepinAnswer | null> {
  return database.transaction("runs.repin", async (transaction): Promise<RepinAnswer | null> => {
    const status = (await lockRuns(transaction, [key])).get(key.runId);
    if (status === undefined) return null;
    const { from, to } = digests;
    const moved = await transaction.run(REPIN, [key.tenantId, key.runId, from, to]);
    if (moved.length === 0) {
      const [found] = await transaction.run(PIN, [key.tenantId, key.runId]);
      const r = rows(found ?? {});
      return {
        repinned: false,
        status,
        digest: r.text("workflow_digest"),
        quarantined: r.boolean("quarantined"),
      };
    }
    await recordAudit(transaction, key, { ...word, act: "repin", subject: `workflow ${from} to ${to}` });
    return { repinned: true, status, digest: to, quarantined: false };
  });
}
