import { isTerminalRun, sourcesOf, sqlStates, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "../containment/endings.ts";
import { acknowledgeOver } from "../containment/items.ts";
import { behind, microsOf, pageOf, positionOf, type PassPage, type Position } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { resumeIfClosed, type Resumption } from "../waits/resumptions.ts";

/** A child that has ended, and whose parent may not know. */
export interface ChildEnd extends RunKey {
  readonly parentRunId: string;
}

const DUE = readStatement(
  "children.due",
  `
select e.tenant_id, e.run_id, e.parent_run_id, ${microsOf("e.next_look_at")}
from ghouls.child_ends e
where e.next_look_at <= ghouls.clock() and ${behind("e.next_look_at", "e.run_id", 2)}
order by e.next_look_at, e.run_id
limit $1`,
);

/** Whether the parent, which is locked, still waits for this end, or contains it. */
const AWAITED = readStatement(
  "children.awaited",
  `
select exists (
  select from ghouls.runs child
  join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id and arm.arm_id = child.parent_arm_id
  where child.tenant_id = $1 and child.run_id = $2 and arm.closed_at is null
) or exists (
  select from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $3 and i.kind = 'child' and i.key = $2::uuid::text and i.acknowledged_at is null
) as awaited`,
);

const FORGET = writeStatement(
  "children.forget-end",
  `delete from ghouls.child_ends e where e.tenant_id = $1 and e.run_id = $2 returning e.run_id`,
);

/** Its parent works, or is quarantined: its next park finds the end, or its clearance does. */
const LATER = writeStatement(
  "children.look-later",
  `
update ghouls.child_ends e
set looks = e.looks + 1, next_look_at = ghouls.clock() + least(600, 5 * power(2, least(e.looks, 8))) * interval '1 second'
where e.tenant_id = $1 and e.run_id = $2
returning e.looks`,
);

/** Children that are to be cancelled with their parent, and that nobody has cancelled yet. */
const TO_CANCEL = readStatement(
  "children.to-cancel",
  `
select child.tenant_id, child.run_id
from ghouls.containment_items i
join ghouls.runs child on child.tenant_id = i.tenant_id and child.run_id = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'child' and i.acknowledged_at is null and child.parent_close = 'cancel'
  and child.status in (${sqlStates(sourcesOf("run", "CANCELLING"))})
order by child.run_id`,
);

/** A page of ends that are to be told, the oldest first, behind the page before. Spans tenants. */
export async function readChildEnds(
  executor: Executor,
  limit: number,
  after?: Position,
): Promise<PassPage<ChildEnd>> {
  const found = await executor.run(DUE, [limit, ...positionOf(after)]);
  return pageOf(found, limit, (row) => {
    const r = rows(row);
    return { tenantId: r.text("tenant_id"), runId: r.text("run_id"), parentRunId: r.text("parent_run_id") };
  });
}

export interface ToldParent {
  /** The delivery that brings the parent back, where it waited. */
  readonly resumption: Resumption | null;
  /** The parent's end, where this was the last that it had to contain. */
  readonly ended: RunStatus | null;
}

/**
 * Tells a parent of a child's end (design.md §3, Children): acknowledges the child's item, brings the parent back where it
 * waits, and forgets the end once nothing waits for it. Locks the parent alone: the child's end is committed, and final.
 */
export async function tellParent(
  database: Database,
  { tenantId, runId, parentRunId }: ChildEnd,
  publisherGraceSeconds: number,
): Promise<ToldParent> {
  const parent = { tenantId, runId: parentRunId };
  return database.transaction("children.tell-parent", async (transaction) => {
    const status = (await lockRuns(transaction, [parent])).get(parentRunId);
    const open = status !== undefined && !isTerminalRun(status);
    const ended =
      open && (await acknowledgeOver(transaction, parent))
        ? await endRunIfContained(transaction, parent)
        : null;
    const resumption = open ? await resumeIfClosed(transaction, parent, publisherGraceSeconds) : null;
    const [awaited] = await transaction.run(AWAITED, [tenantId, runId, parentRunId]);
    const keep = open && awaited !== undefined && rows(awaited).boolean("awaited");
    await transaction.run(keep ? LATER : FORGET, [tenantId, runId]);
    return { resumption, ended };
  });
}

/** The children of a run that its containment has to cancel. */
export async function readChildrenToCancel(executor: Executor, key: RunKey): Promise<RunKey[]> {
  const found = await executor.run(TO_CANCEL, [key.tenantId, key.runId]);
  return found.map((row) => ({ tenantId: rows(row).text("tenant_id"), runId: rows(row).text("run_id") }));
}
