import { sqlStates, terminalStatesOf, type Claim } from "@ghouls/core";
import { FINAL_ATTEMPT } from "../attempts/attempt.ts";
import type { Executor } from "../connection/database.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { handedOver, nextOf, type NextDelivery } from "../hops/handovers.ts";
import { writeStatement } from "../sql/statement.ts";

/** What a run goes on with. The input has passed the codec. */
export interface NewEpoch {
  readonly inputText: string;
  readonly inputDigest: string;
  readonly workflowDigest: string;
  /** Digest of an empty journal. */
  readonly journalDigest: string;
  /** The epoch that ends. */
  readonly epoch: number;
}

/**
 * Continues as new: another input, an empty journal, the next epoch; what stands open is closed, jobs that were sent are to be
 * cancelled, and children become items of containment while the run goes on. One statement is enough:
 * arms are opened by a park alone, which holds this very delivery, and what closes one meanwhile is found closed.
 */
const RESTART = writeStatement(
  "runs.restart",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), attempts_dropped as (
  update ghouls.attempts t
  set status = case when t.status = 'DEFINED' then 'CANCELLED' else t.status end,
    closed_at = case when t.status = 'DEFINED' then settled.settled_at end,
    closed_by = case when t.status = 'DEFINED' then 'the restart of its run' end,
    next_look_at = case when t.status = 'DEFINED' then null else settled.settled_at end, looks = 0,
    cancel_asked_at = coalesce(t.cancel_asked_at, settled.settled_at), cancel_reason = coalesce(t.cancel_reason, 'restart')
  from settled
  where t.tenant_id = settled.tenant_id and t.run_id = settled.run_id and t.status not in (${sqlStates(FINAL_ATTEMPT)})
  returning t.run_id
), child_items as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, settled.seq, child.run_id, 'run ' || child.run_id,
    settled.settled_at, settled.settled_at
  from settled
  join ghouls.runs child on child.tenant_id = settled.tenant_id and child.parent_run_id = settled.run_id
  where child.parent_close <> 'abandon' and child.status not in (${sqlStates(terminalStatesOf("run"))})
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8,
    starts_at = settled.settled_at, open_items = run.open_items + (select count(*) from child_items)::integer
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
    and (select count(*) from attempts_dropped) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`,
);

/** Null where the claim is gone. */
export async function restartIfClaimed(
  executor: Executor,
  claim: Claim,
  next: NewEpoch,
  settings: { readonly publisherGraceSeconds: number },
): Promise<NextDelivery | null> {
  const [row] = await executor.run(RESTART, [
    claim.tenantId,
    claim.runId,
    claim.seq,
    claim.token,
    next.workflowDigest,
    next.journalDigest,
    next.inputText,
    next.inputDigest,
    next.epoch,
    settings.publisherGraceSeconds,
  ]);
  return row === undefined ? handedOver(executor, claim, "continued") : nextOf(row);
}
