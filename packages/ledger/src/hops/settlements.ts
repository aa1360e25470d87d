import {
  ENDING_RUN,
  sqlStates,
  terminalStatesOf,
  type Claim,
  type DeliveryOutcome,
  type DeliveryStatus,
  type RunStatus,
  type AttentionText,
} from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { endRunIfContained, lockRuns } from "../containment/endings.ts";
import { CLAIM_STATES, heldBy, runMayBecome } from "../sql/fence.ts";
import { EFFECT_KEY } from "../sql/effect-key.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** How a hop ends its run. Bodies are already through the codec. */
export type Settlement =
  | { readonly status: "DONE"; readonly outputText: string | null; readonly outputDigest: string | null }
  | {
      readonly status: "FAILED";
      readonly errorCode: string;
      readonly errorText: string;
      readonly errorDigest: string;
    };

/** Where a claim stands after a write under it answered nothing. */
export type SettleAnswer =
  /** The settlement is committed, by this call or by an earlier try of it. */
  | { readonly settled: true; readonly runStatus: RunStatus }
  /** The claim is gone; nothing of this settlement was written. */
  | {
      readonly settled: false;
      readonly deliveryStatus: DeliveryStatus | null;
      readonly runStatus: RunStatus | null;
    };

/**
 * With something left to contain (an open item, an effect without an outcome) the run goes to COMPLETING or FAILING
 * instead. One statement is enough: items are counted in the
 * run's own row, and only the holder of this very token can announce an effect, which settles with none in flight.
 */
const SETTLE = writeStatement(
  "deliveries.settle",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${runMayBecome("r.status", "DONE")}) or ($5 = 'FAILED' and ${runMayBecome("r.status", "FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${EFFECT_KEY}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`,
);

/** A contain delivery ends without touching its run's status; the containment pass decides about that. */
const SETTLE_CONTAIN = writeStatement(
  "deliveries.settle-contain",
  `
with ${heldBy(ENDING_RUN)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`,
);

const STATE_OF_CLAIM = readStatement(
  "deliveries.state-of-claim",
  `
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`,
);

const QUARANTINE = writeStatement(
  "runs.quarantine",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`,
);

const ATTENTION = writeStatement(
  "runs.raise-attention",
  `
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${sqlStates(terminalStatesOf("run"))})
returning run.run_id`,
);

/**
 * Commits the run's end with its delivery, under the claim's token. Repeating it after a lost answer is harmless: the row
 * keeps the token, so the claim's own settlement is recognised.
 */
export async function settleDeliveryIfClaimed(
  executor: Executor,
  claim: Claim,
  settlement: Settlement,
): Promise<SettleAnswer> {
  const outcome: DeliveryOutcome = settlement.status === "DONE" ? "done" : "failed";
  const bodies =
    settlement.status === "DONE"
      ? [settlement.outputText, settlement.outputDigest, null, null, null]
      : [null, null, settlement.errorCode, settlement.errorText, settlement.errorDigest];
  const written = await executor.run(SETTLE, [...keyOf(claim), settlement.status, outcome, ...bodies]);
  const [row] = written;
  if (row !== undefined) return { settled: true, runStatus: rows(row).text("status") as RunStatus };
  return readClaim(executor, claim, outcome);
}

/**
 * Ends a contain delivery, and its run in the same commit where nothing is left to contain. `settled` is false where the
 * claim is gone. `done` where its work was done, `refused` where it could not be begun.
 */
export async function settleContainIfClaimed(
  database: Database,
  claim: Claim,
  outcome: "done" | "failed" | "refused",
): Promise<{ readonly settled: boolean; readonly ended: RunStatus | null }> {
  return database.transaction("deliveries.settle-contain", async (transaction) => {
    await lockRuns(transaction, [claim]);
    const written = await transaction.run(SETTLE_CONTAIN, [...keyOf(claim), outcome]);
    const settled = written.length === 1 || (await readClaim(transaction, claim, outcome)).settled;
    return { settled, ended: settled ? await endRunIfContained(transaction, claim) : null };
  });
}

/**
 * A run with missing or contradictory truth: quarantined, and its delivery given back, in one commit. No loss is counted,
 * and the relay leaves the new delivery alone until a person has cleared the run.
 * False where the claim is gone.
 */
export async function quarantineRunIfClaimed(
  executor: Executor,
  claim: Claim,
  reason: string,
): Promise<boolean> {
  const written = await executor.run(QUARANTINE, [...keyOf(claim), reason]);
  if (written.length === 1) return true;
  return (await readClaim(executor, claim, "given_back")).settled;
}

/** Asks for a person; the first reason stays. False where there is one already, where the run has ended, or no such run. */
export async function raiseAttention(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
  reason: AttentionText,
): Promise<boolean> {
  return (await executor.run(ATTENTION, [key.tenantId, key.runId, reason])).length === 1;
}

/** Whether the claim ended with this outcome, or where it stands instead. */
async function readClaim(executor: Executor, claim: Claim, outcome: DeliveryOutcome): Promise<SettleAnswer> {
  const [row] = await executor.run(STATE_OF_CLAIM, keyOf(claim));
  if (row === undefined) return { settled: false, deliveryStatus: null, runStatus: null };
  const r = rows(row);
  const runStatus = r.text("run_status") as RunStatus;
  if (row["mine"] === true && r.textOrNull("outcome") === outcome) return { settled: true, runStatus };
  return { settled: false, deliveryStatus: r.text("delivery_status") as DeliveryStatus, runStatus };
}

function keyOf(claim: Claim): [string, string, number, string] {
  return [claim.tenantId, claim.runId, claim.seq, claim.token];
}
