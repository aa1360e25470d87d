import type { Claim, WorkflowPin } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** The next delivery of a run, to be published. */
export interface NextDelivery {
  readonly enqueueSeq: number;
  readonly queue: string;
}

/** A hop that ends before its run does: a checkpoint, and the next delivery, at once or due later, in one commit. */
const YIELD = writeStatement(
  "deliveries.yield",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $10, settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, greatest(moved.settled_at, $11::timestamptz),
  case when $11::timestamptz is null then moved.settled_at + $9::double precision * interval '1 second'
    else greatest(moved.settled_at, $11::timestamptz) end,
  moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`,
);

/**
 * A hop that cannot go on yet gives its delivery back: the same work, due later; no loss and no yield is counted. Of
 * give-backs for want of the workflow the first in a row stays.
 */
const GIVE_BACK = writeStatement(
  "deliveries.give-back",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`,
);

/** A delivery that was given back because an earlier claim could still act is due once that claim is acknowledged. */
const DUE_NOW = writeStatement(
  "deliveries.due-now",
  `
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`,
);

/** A hop has started: the build that carries it has the workflow, and what comes later is counted anew. */
const CLEAR_ABSENCE = writeStatement(
  "runs.clear-absence",
  `
with ${heldBy(CLAIM_STATES)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`,
);

/**
 * The run goes on under another pin. A checkpoint proves what the next hop starts from: where the delivery needs one, there
 * is a new one under the new digest, of the same journal. Repeating it changes nothing but the generation.
 */
const ADOPT = writeStatement(
  "runs.adopt",
  `
with ${heldBy(CLAIM_STATES)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`,
);

const HANDED_OVER = readStatement(
  "deliveries.handed-over",
  `
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`,
);

const CHECKPOINT = readStatement(
  "checkpoints.read",
  `
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`,
);

/** What a hop leaves for the next one: the pinned digest, and the journal so far with a digest over it. */
export interface Checkpoint {
  readonly workflowDigest: string;
  readonly journalLength: number;
  readonly journalDigest: string;
}

export interface YieldSettings {
  /** Whether the hop has come no further than its journal said. */
  readonly idle: boolean;
  readonly publisherGraceSeconds: number;
  /** When the next delivery is due, where this one is given back, by the ledger's clock; at once where absent. */
  readonly dueAt?: Date;
}

/** Null where the claim is gone, or where the journal is longer than the checkpoint says. */
export async function yieldDeliveryIfClaimed(
  executor: Executor,
  claim: Claim,
  checkpoint: Checkpoint,
  { idle, publisherGraceSeconds, dueAt }: YieldSettings,
): Promise<NextDelivery | null> {
  const { workflowDigest, journalLength, journalDigest } = checkpoint;
  const outcome = dueAt === undefined ? "continued" : "given_back";
  const [row] = await executor.run(YIELD, [
    ...keyOf(claim),
    workflowDigest,
    journalLength,
    journalDigest,
    idle,
    publisherGraceSeconds,
    outcome,
    dueAt ?? null,
  ]);
  return row === undefined ? handedOver(executor, claim, outcome) : nextOf(row);
}

/**
 * Null where the claim is gone. `dueAt` is the ledger's time, as it was read from the ledger; `workflowAbsent` says that
 * this build does not have the run's workflow.
 */
export async function giveDeliveryBackIfClaimed(
  executor: Executor,
  claim: Claim,
  dueAt: Date,
  workflowAbsent = false,
): Promise<NextDelivery | null> {
  const [row] = await executor.run(GIVE_BACK, [...keyOf(claim), dueAt, workflowAbsent]);
  return row === undefined ? handedOver(executor, claim, "given_back") : nextOf(row);
}

/** False where the claim is gone. Repeating it changes nothing more. */
export async function clearAbsenceIfClaimed(executor: Executor, claim: Claim): Promise<boolean> {
  return (await executor.run(CLEAR_ABSENCE, keyOf(claim))).length === 1;
}

/**
 * Pins a claimed run to other code that carries it on from this journal. False where the claim is gone, or the run is
 * pinned to neither its old nor its new digest.
 */
export async function adoptIfClaimed(
  executor: Executor,
  claim: Claim & { readonly workflow: WorkflowPin; readonly checkpointGeneration: number | null },
  pin: WorkflowPin,
  { journalLength, journalDigest }: Checkpoint,
): Promise<boolean> {
  const moved = await executor.run(ADOPT, [
    ...keyOf(claim),
    [claim.workflow.digest, pin.digest],
    pin.version,
    pin.digest,
    claim.checkpointGeneration !== null,
    journalLength,
    journalDigest,
  ]);
  return moved.length === 1;
}

/** The checkpoint of a generation, or null where it is missing. */
export async function readCheckpoint(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
  generation: number,
): Promise<Checkpoint | null> {
  const [row] = await executor.run(CHECKPOINT, [key.tenantId, key.runId, generation]);
  if (row === undefined) return null;
  const r = rows(row);
  return {
    workflowDigest: r.text("workflow_digest"),
    journalLength: r.number("journal_length"),
    journalDigest: r.text("journal_digest"),
  };
}

/** Whether an earlier try of this handover was committed and its answer lost. */
export async function handedOver(
  executor: Executor,
  claim: Claim,
  outcome: string,
): Promise<NextDelivery | null> {
  const [row] = await executor.run(HANDED_OVER, [...keyOf(claim), outcome]);
  return row === undefined ? null : nextOf(row);
}

/** The delivery that a statement has made. */
export function nextOf(row: Record<string, unknown>): NextDelivery {
  return { enqueueSeq: rows(row).number("seq"), queue: rows(row).text("queue") };
}

function keyOf(claim: Claim): [string, string, number, string] {
  return [claim.tenantId, claim.runId, claim.seq, claim.token];
}

/** To be called in the transaction that acknowledges the worker of an earlier claim. */
export async function makeGivenBackDue(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
): Promise<void> {
  await executor.run(DUE_NOW, [key.tenantId, key.runId]);
}
