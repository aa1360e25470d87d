import { sqlStates, type Claim, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "./database.ts";
import { endRunIfContained, lockRuns, type RunKey } from "./endings.ts";
import { ENDING_STATES } from "./fence.ts";
import { rows } from "./rows.ts";
import { readStatement, writeStatement } from "./statement.ts";

/** The key of an effect's item: the identity of its call as JSON, `[epoch, scope, kind, name, nth]`. */
export const EFFECT_KEY = "json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";

export type ItemKind = "worker" | "effect";

/** One thing that a run started and that may still act, or whose outcome nobody knows. */
export interface ContainmentItem {
  readonly kind: ItemKind;
  readonly key: string;
  readonly seq: number;
  readonly worker: string;
  /** When nothing of it can still act; null where only its worker, a supervisor or an operator can tell. */
  readonly overAt: Date | null;
  readonly createdAt: Date;
  readonly tries: number;
  readonly lastError: string | null;
  readonly acknowledgedAt: Date | null;
  readonly acknowledgedBy: string | null;
  readonly acknowledgement: string | null;
}

const OF_RUN = readStatement(
  "items.of-run",
  `
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`,
);

/** Runs with an item whose next look is due, and ending runs with nothing left that nobody has ended yet. */
const DUE = readStatement(
  "items.due",
  `
select i.tenant_id, i.run_id, min(i.next_look_at) as due_at
from (
  (select i.tenant_id, i.run_id, i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.next_look_at
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${sqlStates(ENDING_STATES)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
  order by run.created_at
  limit $1)
) as i
group by i.tenant_id, i.run_id
order by min(i.next_look_at)`,
);

/** Worker items whose time is over are acknowledged; what is not goes to a later look. */
const ACKNOWLEDGE_OVER = writeStatement(
  "items.acknowledge-over",
  `
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'worker' and i.acknowledged_at is null and i.over_at <= ghouls.clock()
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = 'time',
    acknowledgement = 'nothing of its claim can act any more'
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`,
);

const LOOK_LATER = writeStatement(
  "items.look-later",
  `
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word`,
);

/** One item is acknowledged: by its worker under its token, by a probe, or by an operator. */
const ACKNOWLEDGE = writeStatement(
  "items.acknowledge",
  `
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = 'resolved', outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${EFFECT_KEY} = a.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
returning run.open_items`,
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

/** The delivery under which a worker asks the probes of an ending run: after all worker items, never two at once. */
const CONTAIN = writeStatement(
  "deliveries.contain",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(ENDING_STATES)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'effect' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.cause = 'contain') < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and d.cause = 'contain'
) as later
returning seq`,
);

const AUDIT = writeStatement(
  "audit.record",
  `
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

/** All items of a run, acknowledged or not. */
export async function readItems(executor: Executor, key: RunKey): Promise<ContainmentItem[]> {
  const found = await executor.run(OF_RUN, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      kind: r.text("kind") as ItemKind,
      key: r.text("key"),
      seq: r.number("seq"),
      worker: r.text("worker"),
      overAt: r.dateOrNull("over_at"),
      createdAt: r.date("created_at"),
      tries: r.number("tries"),
      lastError: r.textOrNull("last_error"),
      acknowledgedAt: r.dateOrNull("acknowledged_at"),
      acknowledgedBy: r.textOrNull("acknowledged_by"),
      acknowledgement: r.textOrNull("acknowledgement"),
    };
  });
}

/** Runs with items that are due for a look, the longest due first. Spans tenants. */
export async function readDueItems(executor: Executor, limit: number): Promise<RunKey[]> {
  const found = await executor.run(DUE, [limit]);
  return found.map((row) => ({ tenantId: rows(row).text("tenant_id"), runId: rows(row).text("run_id") }));
}

export interface Contained {
  /** The terminal status, where this look ended the run. */
  readonly ended: RunStatus | null;
  /** Whether a contain delivery was made. */
  readonly contain: boolean;
  /** Whether something waits for a word that nobody may ever give. */
  readonly needsWord: boolean;
}

/**
 * Looks at a run's items: acknowledges workers whose time is over, ends the run where nothing is left, else makes the
 * contain delivery where only effects are left. Locks the run first; every test for new rows is a later statement.
 */
export async function containRun(
  database: Database,
  key: RunKey,
  maxContainDeliveries: number,
): Promise<Contained> {
  const id = [key.tenantId, key.runId];
  return database.transaction("items.contain", async (transaction) => {
    await lockRuns(transaction, [key]);
    if ((await transaction.run(ACKNOWLEDGE_OVER, id)).length > 0) await transaction.run(DUE_NOW, id);
    const ended = await endRunIfContained(transaction, key);
    if (ended !== null) return { ended, contain: false, needsWord: false };
    const made = await transaction.run(CONTAIN, [...id, maxContainDeliveries]);
    const later = await transaction.run(LOOK_LATER, [...id, maxContainDeliveries]);
    return {
      ended,
      contain: made.length === 1,
      needsWord: made.length === 0 && later.some((row) => row["needs_word"] === true),
    };
  });
}

export interface Acknowledgement {
  readonly kind: ItemKind;
  readonly key: string;
  readonly by: "worker" | "probe" | "operator";
  readonly words: string;
  /** Given where only the holder of this token may speak. */
  readonly token?: string;
  /** Given where only the holder of this claim may speak, and only while it holds it. */
  readonly under?: Claim;
}

/** Acknowledges one item and ends the run where it was the last. Null where there is no such open item. */
export async function acknowledgeItem(
  database: Database,
  key: RunKey,
  acknowledgement: Acknowledgement,
  audit?: { readonly actor: string; readonly reason: string },
): Promise<{ readonly openItems: number; readonly ended: RunStatus | null } | null> {
  return database.transaction("items.acknowledge", async (transaction) => {
    await lockRuns(transaction, [key]);
    const { kind, key: itemKey, by, words, token, under } = acknowledgement;
    if (under !== undefined) {
      const held = await transaction.run(HOLDS, [under.tenantId, under.runId, under.seq, under.token]);
      if (held.length === 0) return null;
    }
    const [row] = await transaction.run(ACKNOWLEDGE, [
      key.tenantId,
      key.runId,
      kind,
      itemKey,
      by,
      words,
      token ?? null,
    ]);
    if (row === undefined) return null;
    if (kind === "worker") await transaction.run(DUE_NOW, [key.tenantId, key.runId]);
    if (audit !== undefined) {
      const subject = `${kind} ${itemKey}`;
      await transaction.run(AUDIT, [key.tenantId, key.runId, audit.actor, "resolve", subject, audit.reason]);
    }
    return { openItems: rows(row).number("open_items"), ended: await endRunIfContained(transaction, key) };
  });
}

/**
 * A worker says that nothing of its claim acts any more, under that claim's token. Where the claim has not been judged
 * yet, its end is written into the claim, so that the item of a later judgement is over at once.
 */
export async function acknowledgeWorker(
  database: Database,
  claim: Claim,
): ReturnType<typeof acknowledgeItem> {
  const acknowledged = await acknowledgeItem(database, claim, {
    kind: "worker",
    key: String(claim.seq),
    by: "worker",
    words: "its worker ended the hop: no step is in flight",
    token: claim.token,
  });
  if (acknowledged !== null) return acknowledged;
  await database.run(OVER_NOW, [claim.tenantId, claim.runId, claim.seq, claim.token]);
  return null;
}

const HOLDS = readStatement(
  "deliveries.holds",
  `
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`,
);

const OVER_NOW = writeStatement(
  "deliveries.over-now",
  `
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`,
);
