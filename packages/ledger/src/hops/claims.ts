import {
  ENDING_RUN,
  type Claim,
  type DeliveryCause,
  type DeliveryRef,
  type DeliveryStatus,
  type RunStatus,
  type UnclaimedDelivery,
  type WorkflowPin,
} from "@ghouls/core";
import { sqlStates } from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import { deliveryMayBecome } from "../sql/fence.ts";
import { isPaused, notPaused } from "../sql/paused.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** All that a worker needs to go on with a run. Bodies are still as stored. */
export interface ClaimedRun extends Claim {
  readonly cause: DeliveryCause;
  readonly workflow: WorkflowPin;
  readonly firstRunId: string;
  readonly queue: string;
  readonly agent: string | null;
  readonly requestedBy: string;
  readonly requestedRoles: readonly string[];
  readonly inputText: string;
  readonly inputDigest: string;
  /** The run for which its input was stored: another where it redrives that one's work. */
  readonly inputStoredFor: string;
  readonly journalLength: number;
  readonly journalBytes: number;
  readonly admittedAt: Date;
  /** When the code of this epoch began, where that is not its admission: a delayed start, a release, or the last restart. */
  readonly startsAt: Date | null;
  readonly deadlineAt: Date | null;
  /** The checkpoint that the hop before left, if it left one. */
  readonly checkpointGeneration: number | null;
  /** How often the run has continued as new. */
  readonly epoch: number;
  /** The journal of this epoch begins behind this ordinal. */
  readonly journalStart: number;
  /** Yields in a row that brought no new journal entry. */
  readonly idleYields: number;
  /** When builds without its workflow began to give it back, without a hop that started since; the ledger's time. */
  readonly workflowAbsentSince: Date | null;
  /** The ledger's time at the claim. */
  readonly claimedAt: Date;
  readonly actsUntil: Date | null;
  /** The run that has started it, if one has. */
  readonly parentRunId: string | null;
}

export interface ClaimRequest extends DeliveryRef {
  /** A new random UUID: every write under the claim carries it. */
  readonly token: string;
}

export interface ClaimSettings {
  /** Identity of the process; its supervisor reports its end under this name. */
  readonly worker: string;
  readonly leaseSeconds: number;
  /** Seconds for which anything of this claim can still act; null where nothing ends the process by force. */
  readonly actsForSeconds: number | null;
}

const CLAIMED = `d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation`;
const RUN_OF_CLAIM = `run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.requested_roles, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.starts_at, run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items,
  run.parent_run_id, coalesce(run.input_stored_for, run.run_id) as input_stored_for`;

const CLAIM = writeStatement(
  "deliveries.claim",
  `
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.workflow_name, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.quarantined_at is null and ${notPaused("r")})
      or (d.cause = 'contain' and r.status in (${sqlStates(ENDING_RUN)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${deliveryMayBecome("d.status", "CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${RUN_OF_CLAIM}
)
select ${CLAIMED}, ${RUN_OF_CLAIM}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`,
);

const CLAIMED_BY_TOKEN = readStatement(
  "deliveries.claimed-by-token",
  `
select ${CLAIMED}, ${RUN_OF_CLAIM}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`,
);

/** Whatever has become of them since. */
const TAKEN_BY_TOKEN = readStatement(
  "deliveries.taken-by-token",
  `
select d.tenant_id, d.run_id, d.seq, d.token
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token`,
);

const UNCLAIMED = readStatement(
  "deliveries.unclaimed",
  `
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  ${isPaused("run")} as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`,
);

/**
 * Claims the deliveries that may be claimed; what is missing in the answer was not claimed, and
 * {@link readUnclaimed} says why. A message carries no tenant: it comes from the row, so this is a system statement.
 */
export async function claimDeliveriesIfDue(
  executor: Executor,
  requests: readonly ClaimRequest[],
  settings: ClaimSettings,
): Promise<ClaimedRun[]> {
  const refs = arrays(requests);
  const tokens = requests.map((request) => request.token);
  const claimed = await executor.run(CLAIM, [
    ...refs,
    tokens,
    settings.worker,
    settings.leaseSeconds,
    settings.actsForSeconds,
  ]);
  if (claimed.length === requests.length) return claimed.map(claimedRun);
  // Less than asked for: a race is lost, or an earlier try of this statement was committed and its answer lost.
  const mine = await executor.run(CLAIMED_BY_TOKEN, [...refs, tokens]);
  return mine.map(claimedRun);
}

/** Those of these claims that were made, whether or not they still are. */
export async function readTaken(executor: Executor, requests: readonly ClaimRequest[]): Promise<Claim[]> {
  const tokens = requests.map((request) => request.token);
  const found = await executor.run(TAKEN_BY_TOKEN, [...arrays(requests), tokens]);
  return found.map((row) => {
    const r = rows(row);
    return {
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      seq: r.number("seq"),
      token: r.text("token"),
    };
  });
}

/** Why deliveries were not claimed, by `<run id>:<seq>`; absent where the ledger has no such delivery (yet). */
export async function readUnclaimed(
  executor: Executor,
  refs: readonly DeliveryRef[],
): Promise<ReadonlyMap<string, UnclaimedDelivery>> {
  const found = await executor.run(UNCLAIMED, arrays(refs));
  return new Map(
    found.map((row) => {
      const r = rows(row);
      return [
        `${r.text("run_id")}:${r.number("seq")}`,
        {
          runStatus: r.text("run_status") as RunStatus,
          deliveryStatus: r.text("delivery_status") as DeliveryStatus,
          cause: r.text("cause") as DeliveryCause,
          currentSeq: r.number("enqueue_seq"),
          seq: r.number("seq"),
          paused: r.boolean("paused"),
          quarantined: r.boolean("quarantined"),
          dueInSeconds: r.number("due_in"),
          leaseEndsInSeconds: r.numberOrNull("lease_ends_in"),
        },
      ];
    }),
  );
}

function arrays(refs: readonly DeliveryRef[]): [string[], number[]] {
  return [refs.map((ref) => ref.runId), refs.map((ref) => ref.enqueueSeq)];
}

function claimedRun(row: Row): ClaimedRun {
  const r = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    seq: r.number("seq"),
    token: r.text("token"),
    cause: r.text("cause") as DeliveryCause,
    workflow: {
      name: r.text("workflow_name"),
      version: r.number("workflow_version"),
      digest: r.text("workflow_digest"),
    },
    firstRunId: r.text("first_run_id"),
    queue: r.text("queue"),
    agent: r.textOrNull("agent"),
    requestedBy: r.text("requested_by"),
    requestedRoles: r.texts("requested_roles"),
    inputText: r.text("input_text"),
    inputDigest: r.text("input_digest"),
    inputStoredFor: r.text("input_stored_for"),
    journalLength: r.number("journal_length"),
    journalBytes: r.number("journal_bytes"),
    admittedAt: r.date("created_at"),
    startsAt: r.dateOrNull("starts_at"),
    deadlineAt: r.dateOrNull("deadline_at"),
    checkpointGeneration: r.numberOrNull("checkpoint_generation"),
    epoch: r.number("epoch"),
    journalStart: r.number("journal_start"),
    idleYields: r.number("idle_yields"),
    workflowAbsentSince: r.dateOrNull("workflow_absent_since"),
    claimedAt: r.date("claimed_at"),
    actsUntil: r.dateOrNull("acts_until"),
    parentRunId: r.textOrNull("parent_run_id"),
  };
}
