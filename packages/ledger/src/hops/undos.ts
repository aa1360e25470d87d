import type { CallId, Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { callOf, callValues } from "../sql/call.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** Commits under the fence that a step with an undo is about to be called. Each try says it again, which changes nothing. */
const START = writeStatement(
  "undos.start",
  `
with ${heldBy(CLAIM_STATES)}, before as materialized (
  select u.run_id
  from held
  join ghouls.undos u on u.tenant_id = held.tenant_id and u.run_id = held.run_id and u.epoch = $5 and u.scope = $6 and u.kind = $7
    and u.name = $8 and u.nth = $9
), started as (
  insert into ghouls.undos as u (tenant_id, run_id, epoch, scope, kind, name, nth, once, seq, token, started_at)
  select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth)
    -- Whose code calls it as a plain step now has no intents that tell more.
    do update set seq = excluded.seq, token = excluded.token, cleared_at = null, once = u.once and excluded.once
  returning tenant_id, run_id
), marked as (
  update ghouls.runs run
  set undoable = true
  from started
  where run.tenant_id = started.tenant_id and run.run_id = started.run_id and not run.undoable
  returning run.run_id
)
select exists (select from before) as again from started where (select count(*) from marked) >= 0`,
);

const CLEAR = writeStatement(
  "undos.clear",
  `
with ${heldBy(CLAIM_STATES)}
update ghouls.undos u
set cleared_at = ghouls.clock()
from held
where u.tenant_id = held.tenant_id and u.run_id = held.run_id and u.epoch = $5 and u.scope = $6 and u.kind = $7 and u.name = $8
  and u.nth = $9
returning u.run_id`,
);

const TO_UNDO = readStatement(
  "undos.of-run",
  `
select u.epoch, u.scope, u.kind, u.name, u.nth, u.key
from ghouls.steps_to_undo u
where u.tenant_id = $1 and u.run_id = $2
order by u.started_at desc, u.key desc`,
);

/** A step that may have happened and has an undo. */
export interface StepToUndo extends CallId {
  /** Of its containment item. */
  readonly key: string;
}

/** Null where the claim is gone: the step must not be called. `again` where an earlier hop, or an earlier try of this, has said it. */
export async function startUndoableIfClaimed(
  executor: Executor,
  claim: Claim,
  call: CallId,
  once: boolean,
): Promise<{ readonly again: boolean } | null> {
  const key = [claim.tenantId, claim.runId, claim.seq, claim.token];
  const [row] = await executor.run(START, [...key, ...callValues(call), once]);
  return row === undefined ? null : { again: row["again"] === true };
}

/** Its own code has said of every try that it has not happened. False where the claim is gone. */
export async function clearUndoableIfClaimed(
  executor: Executor,
  claim: Claim,
  call: CallId,
): Promise<boolean> {
  const key = [claim.tenantId, claim.runId, claim.seq, claim.token];
  return (await executor.run(CLEAR, [...key, ...callValues(call)])).length === 1;
}

/** The steps of a run that are not proven never to have happened, the last one that was started first. */
export async function readStepsToUndo(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
): Promise<StepToUndo[]> {
  const found = await executor.run(TO_UNDO, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      ...callOf(row),
      key: r.text("key"),
    };
  });
}
