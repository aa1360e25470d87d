import type { CallId, Claim } from "@ghouls/core";
import type { Database, Executor, Row } from "../connection/database.ts";
import { lockRuns } from "../containment/endings.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { lockCapacity } from "./capacities.ts";

/** Units that a call asks for. What its journal entry is to say comes with it: the ledger writes it with the grant. */
export interface Ask {
  /** Of a new row. */
  readonly reservationId: string;
  readonly call: CallId;
  readonly capacity: string;
  readonly units: number;
  /** Units of the same capacity that the code holds where it asks: it needs them beside. */
  readonly inside: number;
  /** Seconds from its first ask, over all hops, after which it is not to be had. */
  readonly waitSeconds: number;
  /** Whether its journal entry says already that it was had: nothing is journaled then, and it is not over. */
  readonly retake: boolean;
  readonly reserved: StoredResult;
  readonly unavailable: StoredResult;
}

interface StoredResult {
  readonly text: string;
  readonly digest: string;
}

/** Where a journal entry came to stand. */
export interface Journaled {
  readonly ordinal: number;
  readonly completedAt: Date;
}

export type TakeAnswer =
  /** Held from now on; the entry is null where there was one before. */
  | { readonly kind: "held"; readonly entry: Journaled | null }
  | {
      readonly kind: "waits";
      /** Its first ask in a row, over all hops, and how many seconds ago that was. */
      readonly askedAt: Date;
      readonly waitedSeconds: number;
      /** How many units there are at all. */
      readonly allUnits: number;
    }
  /** Its time is over. */
  | { readonly kind: "unavailable"; readonly entry: Journaled }
  /** No configuration has said that there is such a capacity. */
  | { readonly kind: "unknown_capacity" }
  /** The claim is gone. */
  | null;

/** For how long a place is kept between two hops: a run that does not come back to it holds nobody up for longer. In seconds. */
const PLACE_KEPT_SECONDS = 60;

/** The rows of the call are `x`. */
const OF_CALL = (
  x: string,
) => `${x}.tenant_id = held.tenant_id and ${x}.run_id = held.run_id and ${x}.epoch = $5
      and ${x}.scope = $6 and ${x}.name = $7 and ${x}.nth = $8`;

/**
 * Grants what is free to whoever asked first, else waits. Who asked first and is between two hops keeps its place for a while; who
 * asks for more than there is holds nobody up. Under the lock of the run and of the capacity, in the third statement
 * of its transaction: grants of others are seen, and what is given back meanwhile only frees. A reservation that was left is
 * marked as released once nothing of its claim acts, so that nobody looks at it again. The delivery is locked last: nothing
 * that holds one waits for a capacity, so beats do not wait for those who wait for a capacity.
 */
const TAKE = writeStatement(
  "reservations.take",
  `
with ${heldBy(CLAIM_STATES)}, asked as materialized (
  select x.reservation_id, x.status
  from held
  join ghouls.reservations x on ${OF_CALL("x")} and x.status in ('WAITING', 'HELD')
), since as materialized (
  select coalesce(min(x.asked_at), ghouls.clock()) as asked_at
  from held
  left join ghouls.reservations x on ${OF_CALL("x")} and x.held_at is null
    and x.asked_at > coalesce((select max(h.held_at) from ghouls.reservations h where ${OF_CALL("h")}), 'epoch')
), acting as materialized (
  select x.tenant_id, x.run_id, x.reservation_id, x.units, exists (
      select from ghouls.containment_items i
      where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
        and i.acknowledged_at is null) as acts
  from held
  join ghouls.reservations x on x.capacity = $9 and x.status = 'LEFT'
), ended as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from acting
  where x.tenant_id = acting.tenant_id and x.run_id = acting.run_id and x.reservation_id = acting.reservation_id and not acting.acts
  returning x.run_id
), free as materialized (
  select c.units as all_units, c.units
    - (select coalesce(sum(x.units), 0) from ghouls.reservations x where x.capacity = $9 and x.status = 'HELD')
    - (select coalesce(sum(a.units), 0) from acting a where a.acts) as units
  from ghouls.capacities c
  where c.name = $9
), judged as materialized (
  select held.tenant_id, held.run_id, held.seq, held.token, held.journal_length, since.asked_at, asked.status as stood,
    coalesce(asked.reservation_id, $12::uuid) as reservation_id, free.all_units,
    case
      when not $13::boolean and exists (select from ghouls.journal x where ${OF_CALL("x")} and x.kind = 'reserve') then 'said'
      when asked.status = 'HELD' then 'held'
      when free.units >= $10::integer and not exists (
        select from ghouls.reservations x
        join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
        where x.capacity = $9 and x.status in ('WAITING', 'AWAY') and x.run_id <> held.run_id and x.units + x.inside <= free.all_units
          and (x.asked_at, x.reservation_id) < (since.asked_at, coalesce(asked.reservation_id, $12::uuid))
          and case x.status
            when 'AWAY' then x.left_at > ghouls.clock() - ${PLACE_KEPT_SECONDS} * interval '1 second'
            else d.status = 'CLAIMED' and d.lease_until >= ghouls.clock()
          end) then 'taken'
      when not $13::boolean and since.asked_at + $11::double precision * interval '1 second' <= ghouls.clock() then 'over'
      else 'waits'
    end as answer
  from held
  cross join since
  cross join free
  left join asked on true
), changed as (
  update ghouls.reservations x
  set status = case judged.answer when 'taken' then 'HELD' else 'RELEASED' end,
    holder = case judged.answer when 'taken' then judged.run_id end,
    held_at = case judged.answer when 'taken' then ghouls.clock() end,
    released_at = case judged.answer when 'over' then ghouls.clock() end
  from judged
  where x.tenant_id = judged.tenant_id and x.run_id = judged.run_id and x.reservation_id = judged.reservation_id
    and judged.stood = 'WAITING' and judged.answer in ('taken', 'over')
  returning x.run_id
), back as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from held
  where ${OF_CALL("x")} and x.status = 'AWAY'
  returning x.run_id
), made as (
  insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, inside, seq, token, holder,
    status, asked_at, held_at)
  select judged.tenant_id, judged.run_id, judged.reservation_id, $5, $6, $7, $8, $9, $10, $18, judged.seq, judged.token, judged.run_id,
    case judged.answer when 'taken' then 'HELD' else 'WAITING' end, judged.asked_at,
    case judged.answer when 'taken' then ghouls.clock() end
  from judged
  where judged.stood is null and judged.answer in ('taken', 'waits')
  returning run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select judged.tenant_id, judged.run_id, judged.journal_length + 1, $5, $6, 'reserve', $7, $8, 'ok',
    case judged.answer when 'taken' then $14 else $16 end, case judged.answer when 'taken' then $15 else $17 end,
    1, judged.seq, judged.token, date_trunc('milliseconds', judged.asked_at), date_trunc('milliseconds', ghouls.clock())
  from judged
  where judged.answer = 'over' or (judged.answer = 'taken' and not $13::boolean)
  returning run_id, ordinal, completed_at, octet_length(result_text) as bytes
), moved as (
  update ghouls.runs run
  set reservations = run.reservations + (select count(*) from made)::integer,
    journal_length = coalesce(entry.ordinal, run.journal_length),
    journal_bytes = run.journal_bytes + coalesce(entry.bytes, 0),
    losses = case when entry.ordinal is null then run.losses else 0 end,
    idle_yields = case when entry.ordinal is null then run.idle_yields else 0 end,
    status = case when judged.answer = 'waits' or exists (
        select from ghouls.reservations x
        where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING'
          and x.reservation_id <> judged.reservation_id) then 'AWAITING_HARDWARE' else 'RUNNING' end
  from judged
  left join entry on entry.run_id = judged.run_id
  where run.tenant_id = judged.tenant_id and run.run_id = judged.run_id and judged.answer in ('taken', 'over', 'waits')
    and (judged.answer <> 'waits' or judged.stood is null)
  returning run.run_id
)
select judged.answer, judged.asked_at, extract(epoch from ghouls.clock() - judged.asked_at)::double precision as waited,
  judged.all_units, entry.ordinal, entry.completed_at
from judged
left join entry on entry.run_id = judged.run_id
where (select count(*) from ended) >= 0 and (select count(*) from back) >= 0 and (select count(*) from changed) >= 0 and (select count(*) from moved) >= 0`,
);

const SAID = readStatement(
  "reservations.said",
  `
select j.ordinal, j.completed_at, j.result_digest = $8 as reserved
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'reserve' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`,
);

/**
 * Asks for units under the fence: granted with its journal entry in one commit, or waiting as AWAITING_HARDWARE. Ask again:
 * the same call keeps its place. What was answered before is answered again.
 */
export async function takeIfClaimed(database: Database, claim: Claim, ask: Ask): Promise<TakeAnswer> {
  const { call, capacity, units, inside, waitSeconds, reservationId, retake, reserved, unavailable } = ask;
  return database.transaction("reservations.take", async (transaction): Promise<TakeAnswer> => {
    await lockRuns(transaction, [claim]);
    if (!(await lockCapacity(transaction, capacity))) return { kind: "unknown_capacity" };
    const [row] = await transaction.run(TAKE, [
      claim.tenantId,
      claim.runId,
      claim.seq,
      claim.token,
      call.epoch,
      call.scope,
      call.name,
      call.nth,
      capacity,
      units,
      waitSeconds,
      reservationId,
      retake,
      reserved.text,
      reserved.digest,
      unavailable.text,
      unavailable.digest,
      inside,
    ]);
    if (row === undefined) return null;
    switch (rows(row).text("answer")) {
      case "said":
        return answeredBefore(transaction, claim, ask);
      case "waits":
        return waiting(row);
      case "over":
        return { kind: "unavailable", entry: journaled(row) };
      default:
        return { kind: "held", entry: row["ordinal"] === null ? null : journaled(row) };
    }
  });
}

function waiting(row: Row): TakeAnswer {
  const r = rows(row);
  return {
    kind: "waits",
    askedAt: r.date("asked_at"),
    waitedSeconds: r.number("waited"),
    allUnits: r.number("all_units"),
  };
}

/** Its answer was lost. An entry that an earlier claim has written would have been replayed. */
async function answeredBefore(
  executor: Executor,
  claim: Claim,
  { call, reserved }: Ask,
): Promise<TakeAnswer> {
  const { tenantId, runId, token } = claim;
  const [row] = await executor.run(SAID, [
    tenantId,
    runId,
    call.epoch,
    call.scope,
    call.name,
    call.nth,
    token,
    reserved.digest,
  ]);
  if (row === undefined) return null;
  return { kind: row["reserved"] === true ? "held" : "unavailable", entry: journaled(row) };
}

export function journaled(row: Row): Journaled {
  const r = rows(row);
  return { ordinal: r.number("ordinal"), completedAt: r.date("completed_at") };
}
