import type { CallId, Claim, OnWorkerLoss, ParentClose, WorkflowPin } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A run that another run starts. Its input has passed the codec; who asks for it, and its agent, are its parent's. */
export interface NewChild {
  readonly armId: string;
  readonly call: CallId;
  readonly runId: string;
  readonly requestDigest: string;
  readonly workflow: WorkflowPin;
  readonly queue: string;
  /** Null: its parent's. */
  readonly priority: number | null;
  readonly inputText: string;
  readonly inputDigest: string;
  /** Milliseconds from its start, null for none. */
  readonly deadlineMs: number | null;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly parentClose: ParentClose;
}

/**
 * The child with its first delivery, and the arm on which its parent waits, under the fence. One statement is enough: the
 * arm is opened by the holder of this very claim alone, and the child's row is new.
 * A parent that redrives another's work starts the child of a call again, whose steps keep the keys that they had then.
 */
const START = writeStatement(
  "children.start",
  `
with ${heldBy(CLAIM_STATES)}, arm as (
  insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at)
  select held.tenant_id, held.run_id, $5::uuid, $6, $7, 'child', $8, $9, 'child', held.generation + 1, held.seq, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null do nothing
  returning tenant_id, run_id, arm_id, created_at
), parent as (
  update ghouls.runs run
  set children = run.children + 1, losses = 0, idle_yields = 0
  from arm
  where run.tenant_id = arm.tenant_id and run.run_id = arm.run_id
  returning run.tenant_id, run.run_id, run.first_run_id, run.priority, run.agent, run.requested_by, run.requested_roles, arm.arm_id, arm.created_at
), before as materialized (
  select c.first_run_id
  from parent
  join ghouls.arms a on a.tenant_id = parent.tenant_id and a.run_id in (
      select parent.first_run_id
      union all
      select again.run_id from ghouls.runs again
      where again.tenant_id = parent.tenant_id and again.first_run_id = parent.first_run_id and again.redrive_of is not null)
    and a.epoch = $6 and a.scope = $7 and a.kind = 'child' and a.name = $8 and a.nth = $9
  join ghouls.runs c on c.tenant_id = a.tenant_id and c.parent_run_id = a.run_id and c.parent_arm_id = a.arm_id
  where parent.first_run_id <> parent.run_id and c.workflow_name = $12
  limit 1
), child as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
    queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, deadline_at, created_at,
    on_worker_loss, parent_run_id, parent_arm_id, parent_close)
  select parent.tenant_id, $10::uuid, coalesce(before.first_run_id, $10::uuid), $11, $12, $13::integer, $14, $15, coalesce($16::smallint, parent.priority), parent.agent,
    parent.requested_by, parent.requested_roles, 'QUEUED', 1, $17, $18,
    parent.created_at + $19::double precision * interval '1 millisecond', parent.created_at, $20, parent.run_id, parent.arm_id, $21
  from parent
  left join before on true
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select child.tenant_id, child.run_id, child.enqueue_seq, 'admitted', 'PENDING', child.queue, child.priority, child.created_at,
  child.created_at + $22::double precision * interval '1 second', child.created_at
from child
returning run_id`,
);

const STARTED = readStatement(
  "children.started",
  `
select child.run_id
from ghouls.runs child
where child.tenant_id = $1 and child.parent_run_id = $2 and child.parent_arm_id = $3::uuid`,
);

/** False where the claim is gone: then nothing was written. */
export async function startChildIfClaimed(
  executor: Executor,
  claim: Claim,
  child: NewChild,
  settings: { readonly publisherGraceSeconds: number },
): Promise<boolean> {
  const { call, workflow } = child;
  const [started] = await executor.run(START, [
    claim.tenantId,
    claim.runId,
    claim.seq,
    claim.token,
    child.armId,
    call.epoch,
    call.scope,
    call.name,
    call.nth,
    child.runId,
    child.requestDigest,
    workflow.name,
    workflow.version,
    workflow.digest,
    child.queue,
    child.priority,
    child.inputText,
    child.inputDigest,
    child.deadlineMs,
    child.onWorkerLoss,
    child.parentClose,
    settings.publisherGraceSeconds,
  ]);
  if (started !== undefined) return true;
  // The answer of an earlier try of this very start may have been lost.
  const [before] = await executor.run(STARTED, [claim.tenantId, claim.runId, child.armId]);
  return before !== undefined && rows(before).text("run_id") === child.runId;
}
