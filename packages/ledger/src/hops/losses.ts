import { ENDING_RUN, sqlStates, type Claim, type OnWorkerLoss, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { lockRuns } from "../containment/endings.ts";
import { EFFECT_KEY } from "../sql/effect-key.ts";
import { recordRepairs, type RepairNote } from "../reconciler/repairs.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

/** A claim whose lease has lapsed: nobody has heard of its worker for that long. */
export interface LapsedClaim extends Claim {
  readonly runStatus: RunStatus;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly losses: number;
  readonly worker: string;
}

const LAPSED = dueStatements(
  "deliveries.lapsed",
  { time: "d.lease_until", id: "d.run_id", owner: "d.run_id", column: "run_id" },
  (due) => `
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${microsOf("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and ${due}`,
);

const SETTLE_LOST = writeStatement(
  "deliveries.settle-lost",
  `
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${sqlStates(ENDING_RUN)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${sqlStates(ENDING_RUN)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${EFFECT_KEY} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`,
);

/** What became of a run whose worker was lost. */
export interface JudgedLoss {
  readonly tenantId: string;
  readonly runId: string;
  readonly status: RunStatus;
  /** Of the delivery that recovers it, where there is one. */
  readonly enqueueSeq: number;
  readonly queue: string;
}

export interface LossSettings {
  /** The loss of this number ends a run that would resume. */
  readonly maxLosses: number;
  /** What a request that was sent may still do after its process has ended, in seconds. */
  readonly actsMarginSeconds: number;
  readonly publisherGraceSeconds: number;
}

/** Claims whose lease has lapsed, the longest first. Their owners are their runs. Spans tenants. */
export async function readLapsedClaims(executor: Executor, look: DueLook): Promise<PassPage<LapsedClaim>> {
  const found = await runDue(executor, LAPSED, look);
  return pageOf(found, look.limit, (row) => {
    const r = rows(row);
    return {
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      seq: r.number("seq"),
      token: r.text("token"),
      worker: r.text("claimed_by"),
      runStatus: r.text("status") as RunStatus,
      onWorkerLoss: r.text("on_worker_loss") as OnWorkerLoss,
      losses: r.number("losses"),
    };
  });
}

/**
 * Judges lapsed claims (design.md §3, Loss): each is settled as lost and leaves a worker item; its run resumes, or moves
 * to FAILING with an item for each effect whose outcome nobody knows. A claim that a beat revived meanwhile is left alone.
 * The runs are locked in a first statement, because intents and items may be new.
 */
export async function settleLostClaims(
  database: Database,
  claims: readonly (Claim & {
    readonly errorText: string;
    readonly errorDigest: string;
    /** Where it is a repair of the reconciler. */
    readonly repair?: RepairNote;
  })[],
  settings: LossSettings,
): Promise<JudgedLoss[]> {
  if (claims.length === 0) return [];
  return database.transaction("deliveries.settle-lost", async (transaction) => {
    await lockRuns(transaction, claims);
    const found = await transaction.run(SETTLE_LOST, [
      claims.map((claim) => claim.tenantId),
      claims.map((claim) => claim.runId),
      claims.map((claim) => claim.seq),
      claims.map((claim) => claim.token),
      claims.map((claim) => claim.errorText),
      claims.map((claim) => claim.errorDigest),
      settings.maxLosses,
      settings.actsMarginSeconds,
      settings.publisherGraceSeconds,
    ]);
    const judged = found.map((row) => {
      const r = rows(row);
      return {
        tenantId: r.text("tenant_id"),
        runId: r.text("run_id"),
        status: r.text("status") as RunStatus,
        enqueueSeq: r.number("enqueue_seq"),
        queue: r.text("queue"),
      };
    });
    const notes = new Map(claims.map(({ runId, repair }) => [runId, repair]));
    await recordRepairs(transaction, judged, ({ runId, status, enqueueSeq }) => {
      const note = notes.get(runId);
      return note && { ...note, after: status === "QUEUED" ? `QUEUED, delivery ${enqueueSeq}` : status };
    });
    return judged;
  });
}
