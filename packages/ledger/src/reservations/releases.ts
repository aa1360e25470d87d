import type { CallId, Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { journaled, type Journaled } from "./takes.ts";

/**
 * The end of a body, with what it held: one statement, because only this very claim has written the row. There is none where
 * the body had come to its end in an earlier hop, which did not write it any more.
 */
const RELEASE = writeStatement(
  "reservations.release",
  `
with ${heldBy(CLAIM_STATES)}, released as (
  update ghouls.reservations x
  set status = 'RELEASED', holder = null, released_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.run_id = held.run_id and x.epoch = $5 and x.scope = $6 and x.name = $7 and x.nth = $8
    and x.status = 'HELD' and x.token = held.token
  returning x.tenant_id, x.run_id, x.held_at
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at,
    completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $9, 'release', $7, $10, 'ok', 1, held.seq, held.token,
    date_trunc('milliseconds', coalesce(released.held_at, ghouls.clock())), date_trunc('milliseconds', ghouls.clock())
  from held
  left join released on released.tenant_id = held.tenant_id and released.run_id = held.run_id
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id`,
);

const RELEASED = readStatement(
  "reservations.released",
  `
select j.ordinal, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'release' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`,
);

/**
 * What the end of a hop does before it settles: only a run that waits for nothing may be DONE or FAILED. Its places stay, for the
 * hop that may come after it.
 */
const WITHDRAW = writeStatement(
  "reservations.withdraw",
  `
with ${heldBy(CLAIM_STATES)}, withdrawn as (
  update ghouls.reservations x
  set status = 'AWAY', holder = null, left_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.holder = held.run_id and x.status = 'WAITING'
  returning x.run_id
)
update ghouls.runs run
set status = 'RUNNING'
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id and (select count(*) from withdrawn) >= 0
returning run.run_id`,
);

/**
 * Gives back what a call holds, with the journal entry of its body's end. Null where the claim is gone.
 * @param end of the body: the call that its scope ends with
 */
export async function releaseIfClaimed(
  executor: Executor,
  claim: Claim,
  reserve: CallId,
  end: CallId,
): Promise<Journaled | null> {
  const [row] = await executor.run(RELEASE, [
    claim.tenantId,
    claim.runId,
    claim.seq,
    claim.token,
    reserve.epoch,
    reserve.scope,
    reserve.name,
    reserve.nth,
    end.scope,
    end.nth,
  ]);
  if (row !== undefined) return journaled(row);
  // The answer of an earlier try of this very release may have been lost.
  const { tenantId, runId, token } = claim;
  const [before] = await executor.run(RELEASED, [
    tenantId,
    runId,
    end.epoch,
    end.scope,
    end.name,
    end.nth,
    token,
  ]);
  return before === undefined ? null : journaled(before);
}

/** Waits no more under this claim, for anything. False where the claim is gone. */
export async function withdrawIfClaimed(executor: Executor, claim: Claim): Promise<boolean> {
  return (await executor.run(WITHDRAW, [claim.tenantId, claim.runId, claim.seq, claim.token])).length === 1;
}
