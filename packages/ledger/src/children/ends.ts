import { isTerminalRun, GOING_ON_RUN, sqlStates, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "../containment/endings.ts";
import { acknowledgeOver } from "../containment/items.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { PARKED_STATES, resumedAs, resumeIfClosed, type Resumption } from "../waits/resumptions.ts";

/** A child that has ended, and whose parent may not know. */
export interface ChildEnd extends RunKey {
  readonly parentRunId: string;
}

const DUE = dueStatements(
  "children.due",
  { time: "e.ended_at", id: "e.run_id", owner: "e.run_id", column: "run_id" },
  (due) => `
select e.tenant_id, e.run_id, e.parent_run_id, ${microsOf("e.ended_at")}
from ghouls.child_ends e
where ${due}`,
);

const FORGET = writeStatement(
  "children.forget-end",
  `delete from ghouls.child_ends e where e.tenant_id = $1 and e.run_id = $2 returning e.run_id`,
);

/** Children that are to be cancelled with their parent, and that nobody has cancelled yet. */
const TO_CANCEL = readStatement(
  "children.to-cancel",
  `
select child.tenant_id, child.run_id
from ghouls.containment_items i
join ghouls.runs child on child.tenant_id = i.tenant_id and child.run_id = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'child' and i.acknowledged_at is null and child.parent_close = 'cancel'
  and child.status in (${sqlStates(GOING_ON_RUN)})
order by child.run_id`,
);

/** Ends that are to be told, the oldest first. Their owners are the children. Spans tenants. */
export async function readChildEnds(executor: Executor, look: DueLook): Promise<PassPage<ChildEnd>> {
  const found = await runDue(executor, DUE, look);
  return pageOf(found, look.limit, (row) => {
    const r = rows(row);
    return { tenantId: r.text("tenant_id"), runId: r.text("run_id"), parentRunId: r.text("parent_run_id") };
  });
}

export interface ToldParent {
  /** The delivery that brings the parent back, where it waited. */
  readonly resumption: Resumption | null;
  /** The parent's end, where this was the last that it had to contain. */
  readonly ended: RunStatus | null;
  /** False where somebody else has told it before. */
  readonly told: boolean;
}

/**
 * Tells a parent of a child's end (design.md §3, Children): acknowledges the child's item, and brings the parent back where
 * it waits. Whatever the parent does after its lock sees the end by itself: the park of one that works, the clearance of one
 * that is quarantined. So it is told once. Locks the parent alone: the child's end is committed, and final.
 */
export async function tellParent(
  database: Database,
  { tenantId, runId, parentRunId }: ChildEnd,
  publisherGraceSeconds: number,
  repair?: RepairNote,
): Promise<ToldParent> {
  const parent = { tenantId, runId: parentRunId };
  return database.transaction("children.tell-parent", async (transaction) => {
    const status = (await lockRuns(transaction, [parent])).get(parentRunId);
    const open = status !== undefined && !isTerminalRun(status);
    const parked = status !== undefined && PARKED_STATES.includes(status);
    const ended =
      open && (await acknowledgeOver(transaction, parent))
        ? await endRunIfContained(transaction, parent)
        : null;
    const resumption = parked ? await resumeIfClosed(transaction, parent, publisherGraceSeconds) : null;
    const told = (await transaction.run(FORGET, [tenantId, runId])).length === 1;
    if (told && repair !== undefined) {
      const after = ended ?? (resumption === null ? (status ?? "gone") : resumedAs(resumption));
      await recordRepair(transaction, parent, { ...repair, after });
    }
    return { resumption, ended, told };
  });
}

/** The children of a run that its containment has to cancel. */
export async function readChildrenToCancel(executor: Executor, key: RunKey): Promise<RunKey[]> {
  const found = await executor.run(TO_CANCEL, [key.tenantId, key.runId]);
  return found.map((row) => ({ tenantId: rows(row).text("tenant_id"), runId: rows(row).text("run_id") }));
}
