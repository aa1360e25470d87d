import { ENDING_RUN, sqlStates, terminalStatesOf, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { makeGivenBackDue } from "../hops/handovers.ts";
import { endRunIfContained, lockRuns, type RunKey } from "./endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { inPage, runDue, type DueLook } from "../sql/due.ts";
import { behind, microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

export type ItemKind = "worker" | "effect" | "attempt" | "child" | "undo";

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

/**
 * Runs with an item whose next look is due, and ending runs with nothing left that nobody has ended yet. One row an item:
 * grouped by run, a half that its limit has cut would be passed over by the position of the other half.
 */
const DUE = {
  page: readStatement(
    "items.due",
    `
select i.tenant_id, i.run_id, run.status, run.open_items, ${microsOf("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and ${inPage("i.next_look_at")}
    and ${behind("i.next_look_at", "i.run_id", 2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where ${endable("run")} and ${inPage("run.created_at")} and ${behind("run.created_at", "run.run_id", 2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
order by i.due_at, i.run_id
limit $1`,
  ),
  named: readStatement(
    "items.due-named",
    `
select run.tenant_id, run.run_id, run.status, run.open_items, ${microsOf("run.created_at")}
from ghouls.runs run
where run.run_id = any($2::uuid[]) and (${endable("run")}
  or exists (
    select from ghouls.containment_items i
    where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
      and i.next_look_at <= ghouls.clock()))
order by run.run_id
limit $1`,
  ),
};

/** An ending run with nothing left, and no claim that may still add to it. */
function endable(run: string): string {
  return `${run}.status in (${sqlStates(ENDING_RUN)}) and ${run}.open_items = 0
    and (${run}.quarantined_at is null or ${run}.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = ${run}.tenant_id and d.run_id = ${run}.run_id and d.status = 'CLAIMED')`;
}

/** Workers whose time is over and children that have ended are acknowledged; what is not goes to a later look. */
const ACKNOWLEDGE_OVER = writeStatement(
  "items.acknowledge-over",
  `
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null
    and ((i.kind = 'worker' and i.over_at <= ghouls.clock())
      or (i.kind = 'child' and exists (
        select from ghouls.runs child
        where child.tenant_id = i.tenant_id and child.run_id = i.token
          and child.status in (${sqlStates(terminalStatesOf("run"))}))))
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = case i.kind when 'worker' then 'time' else 'child' end,
    acknowledgement = case i.kind when 'worker' then 'nothing of its claim can act any more' else 'the run has ended' end
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`,
);

/** Contain deliveries `d` of a run that ended without what they were made for, since anything of it was acknowledged, or an operator spoke. */
const IN_VAIN = `d.cause = 'contain' and d.outcome in ('lost', 'failed', 'refused') and not exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and run.contain_from >= d.settled_at)`;

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
  when i.kind in ('attempt', 'child') then false
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and ${IN_VAIN}) >= $3
  end as needs_word, i.kind`,
);

/**
 * The delivery under which a worker asks the probes of an ending run, and calls its undos: after all worker items, the undos
 * after all others, never two at once.
 */
const CONTAIN = writeStatement(
  "deliveries.contain",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(ENDING_RUN)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
        and (i.kind = 'effect' or i.kind = 'undo' and not exists (
          select from ghouls.containment_items other
          where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind <> 'undo'
            and other.acknowledged_at is null)))
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and ${IN_VAIN}) < $3
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
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and ${IN_VAIN}
) as later
returning seq`,
);

const NOTE_ERROR = writeStatement(
  "items.note-error",
  `
update ghouls.containment_items i
set last_error = $5
where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
returning i.key`,
);

/** Keeps why an item could not be acknowledged. Changes nothing where it was. */
export async function noteError(
  executor: Executor,
  key: RunKey,
  item: Pick<ContainmentItem, "kind" | "key">,
  error: string,
): Promise<void> {
  await executor.run(NOTE_ERROR, [key.tenantId, key.runId, item.kind, item.key, error]);
}

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

/** A run whose containment is due for a look. */
export interface DueContainment extends RunKey {
  readonly runStatus: RunStatus;
  readonly openItems: number;
}

/** Runs with items that are due for a look, the longest due first. They are their own owners. Spans tenants. */
export async function readDueItems(executor: Executor, look: DueLook): Promise<PassPage<DueContainment>> {
  const rowsDue = await runDue(executor, DUE, look);
  const { found, next } = pageOf(rowsDue, look.limit, (row) => ({
    tenantId: rows(row).text("tenant_id"),
    runId: rows(row).text("run_id"),
    runStatus: rows(row).text("status") as RunStatus,
    openItems: rows(row).number("open_items"),
  }));
  return { found: [...new Map(found.map((key) => [key.runId, key])).values()], next };
}

export interface Contained {
  /** The terminal status, where this look ended the run. */
  readonly ended: RunStatus | null;
  /** Whether a contain delivery was made. */
  readonly contain: boolean;
  /** Whether something waits for a word that nobody may ever give. */
  readonly needsWord: boolean;
  /** Whether children of it have not ended. */
  readonly children: boolean;
  /** Whether anything of it has moved, but for the time of its next look. */
  readonly moved: boolean;
}

/** Whether any item of a run, which is locked, could be acknowledged without a word. */
export async function acknowledgeOver(executor: Executor, key: RunKey): Promise<boolean> {
  const over = await executor.run(ACKNOWLEDGE_OVER, [key.tenantId, key.runId]);
  if (over.length > 0) await makeGivenBackDue(executor, key);
  return over.length > 0;
}

/**
 * Looks at a run's items: acknowledges workers whose time is over, ends the run where nothing is left, else makes the
 * contain delivery where only effects are left. Locks the run first; every test for new rows is a later statement.
 */
export async function containRun(
  database: Database,
  key: RunKey,
  maxContainDeliveries: number,
  repair?: RepairNote,
): Promise<Contained> {
  const id = [key.tenantId, key.runId];
  return database.transaction("items.contain", async (transaction) => {
    await lockRuns(transaction, [key]);
    const over = await acknowledgeOver(transaction, key);
    const ended = await endRunIfContained(transaction, key);
    const note = async (after: string) => {
      if (repair !== undefined) await recordRepair(transaction, key, { ...repair, after });
    };
    if (ended !== null) {
      await note(ended);
      return { ended, contain: false, needsWord: false, children: false, moved: true };
    }
    const made = await transaction.run(CONTAIN, [...id, maxContainDeliveries]);
    const [delivery] = made.map((row) => `contain delivery ${rows(row).number("seq")}`);
    if (over || delivery !== undefined) await note(delivery ?? "items acknowledged");
    const later = await transaction.run(LOOK_LATER, [...id, maxContainDeliveries]);
    return {
      ended,
      contain: made.length === 1,
      needsWord: made.length === 0 && later.some((row) => row["needs_word"] === true),
      children: later.some((row) => row["kind"] === "child"),
      moved: over || made.length === 1,
    };
  });
}
