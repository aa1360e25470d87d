import { sourcesOf, sqlStates, type DeliveryStatus, type RunStatus } from "@ghouls/core";

/**
 * The fence, written once (design.md §3, Fences). Parameters $1 tenant, $2 run, $3 seq, $4 token in every statement that
 * uses it. The run is locked by key before its delivery, states are tested on locked rows only, and the lease is not
 * tested: a beat may revive one that has lapsed and is not yet judged.
 */
const LOCKED_RUN = `r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;

/** The delivery that the claim holds, locked after its run, only while the run is in one of the given states. */
export function heldBy(states: readonly RunStatus[]): string {
  return `${LOCKED_RUN}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${sqlStates(states)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`;
}

/** The run's states in which a claim that is not about containment works. */
export const CLAIM_STATES: readonly RunStatus[] = ["RUNNING", "AWAITING_HARDWARE"];

/** `status in (…)` with every state from which the table of moves allows a move to `to`. */
export function runMayBecome(column: string, to: RunStatus): string {
  return oneOf(column, sourcesOf("run", to));
}

export function deliveryMayBecome(column: string, to: DeliveryStatus): string {
  return oneOf(column, sourcesOf("delivery", to));
}

/** An empty list is no SQL: nothing moves to a state that has no sources. */
function oneOf(column: string, states: readonly string[]): string {
  return states.length === 0 ? "false" : `${column} in (${sqlStates(states)})`;
}
