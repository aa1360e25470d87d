import type { CallId, Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { callOf, callValues } from "../sql/call.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** An effect that was announced and whose outcome is not known yet. */
export interface OpenIntent extends CallId {
  readonly number: number;
  readonly seq: number;
  readonly token: string;
  /** Whether the claim that wrote it is over: ended by its own worker, acknowledged, or past the time it could act. */
  readonly over: boolean;
  /** When it will be, null where only a word can tell. */
  readonly overAt: Date | null;
}

/** Commits the intent of an effect under the fence, before its call. One is open for each call at most. */
const OPEN = writeStatement(
  "intents.open",
  `
with ${heldBy(CLAIM_STATES)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`,
);

const INTENT_OF_CALL = readStatement(
  "intents.of-call",
  `
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`,
);

/** The call did not happen, as its own code or its probe says: only then may it be made again. */
const CLOSE = writeStatement(
  "intents.close",
  `
with ${heldBy(CLAIM_STATES)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`,
);

const OPEN_OF_RUN = readStatement(
  "intents.open-of-run",
  `
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`,
);

const LAST_NUMBERS = readStatement(
  "intents.last-numbers",
  `
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`,
);

/** False where the claim is gone, or where another intent of this call is open. */
export async function openIntentIfClaimed(
  executor: Executor,
  claim: Claim,
  call: CallId,
  number: number,
): Promise<boolean> {
  const written = await executor.run(OPEN, [
    claim.tenantId,
    claim.runId,
    claim.seq,
    claim.token,
    ...callValues(call),
    number,
  ]);
  if (written.length === 1) return true;
  const mine = await executor.run(INTENT_OF_CALL, [
    claim.tenantId,
    claim.runId,
    ...callValues(call),
    number,
    claim.token,
  ]);
  return mine.length === 1;
}

/** False where the claim is gone, or where the intent has an outcome already. */
export async function closeIntentIfClaimed(
  executor: Executor,
  claim: Claim,
  call: CallId,
  number: number,
  outcome: "not_done" | "cannot_happen",
): Promise<boolean> {
  const key = [claim.tenantId, claim.runId, claim.seq, claim.token];
  return (await executor.run(CLOSE, [...key, ...callValues(call), number, outcome])).length === 1;
}

/** The effects of a run whose outcome nobody knows yet, in the order of their start. */
export async function readOpenIntents(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
): Promise<OpenIntent[]> {
  const found = await executor.run(OPEN_OF_RUN, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      ...callOf(row),
      number: r.number("number"),
      seq: r.number("seq"),
      token: r.text("token"),
      over: row["over"] === true,
      overAt: r.dateOrNull("over_at"),
    };
  });
}

/**
 * The number of the last intent of each call that has any, and how many of its intents were tries: one that a lost worker
 * left behind is a loss of its run, no try of the step.
 */
export async function readLastIntents(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
): Promise<(CallId & { readonly number: number; readonly tries: number })[]> {
  const found = await executor.run(LAST_NUMBERS, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      ...callOf(row),
      number: r.number("number"),
      tries: r.number("tries"),
    };
  });
}
