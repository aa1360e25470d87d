import { ENDING_RUN, PASSES, sqlStates } from "@ghouls/core";
import { FINAL_ATTEMPT } from "./attempts/attempt.ts";
import type { Executor } from "./connection/database.ts";
import { contradicts } from "./integrity/fault.ts";
import { DEADLINE_STATES, NOT_HELD } from "./waits/deadlines.ts";
import { PARKED_STATES } from "./waits/resumptions.ts";
import { notPaused } from "./sql/paused.ts";
import { rows } from "./sql/rows.ts";
import { readStatement } from "./sql/statement.ts";

/**
 * The earliest of all that the reconciler looks after, each kind by the first entry of its index. What is paused or
 * quarantined is left out as the passes leave it out: who ends the pause opens work.
 * @param claim when a claim is due
 * @param aside when an owner is due that stands aside
 */
const dueOf = (claim: string, aside: string): string => `
  (select ${claim} as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${notPaused("run")})
        or (d.cause = 'contain' and run.status in (${sqlStates(ENDING_RUN)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${sqlStates(PARKED_STATES)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select t.next_look_at
  from ghouls.attempts t
  where t.status not in (${sqlStates(FINAL_ATTEMPT)})
  order by t.next_look_at
  limit 1)
  union all
  (select e.ended_at
  from ghouls.child_ends e
  order by e.ended_at
  limit 1)
  union all
  select act.due_at
  from unnest(array['record', 'checkpoints', 'seal', 'doubt']) as kinds(act)
  cross join lateral (
    select e.due_at
    from ghouls.end_acts e
    where e.act = kinds.act
    order by e.due_at
    limit 1
  ) as act
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${sqlStates(DEADLINE_STATES)}) and run.quarantined_at is null
    and ${NOT_HELD}
  order by run.deadline_at
  limit 1)
  union all
  ${aside}
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${sqlStates(ENDING_RUN)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)`;

/** Of each pass, by its index. */
const NEXT_TURN = `select aside.next_turn_at
  from unnest($1::text[]) as p(pass)
  cross join lateral (
    select g.next_turn_at from ghouls.degraded_owners g where g.pass = p.pass order by g.next_turn_at limit 1
  ) as aside`;

/** A claim is open work whatever its lease says, because its worker may fall silent at any moment. */
const NEXT_LOOK = readStatement(
  "ledger.next-look",
  `
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (${dueOf("ghouls.clock()", NEXT_TURN)}
) as due`,
);

/** Counts end at a thousand: who is told of that many knows enough. */
const HEALTH = readStatement(
  "ledger.health",
  `
select extract(epoch from ghouls.clock() - least(
    (select min(due.due_at) from (${dueOf("d.lease_until", "select min(g.degraded_at) from ghouls.degraded_owners g")}
    ) as due),
    (select min(fault.found_at) from ghouls.integrity_faults fault where ${contradicts("fault")})
  ))::double precision as oldest,
  (select count(*)::integer from (select from ghouls.degraded_owners g limit 1000) as few) as degraded,
  (select count(*)::integer from (
    select from ghouls.runs run where run.attention_at is not null or run.quarantined_at is not null limit 1000) as few) as attention,
  (select count(*)::integer from (
    select from ghouls.runs run where (run.attention_at is not null or run.quarantined_at is not null)
      and run.quarantined_at is not null limit 1000) as few) as quarantined,
  (select count(*)::integer from (
    select from ghouls.integrity_faults fault where ${contradicts("fault")} limit 1000) as few) as faults,
  (select count(*)::integer from (select from ghouls.dead_letters letter limit 1000) as few) as letters`,
);

/** What waits in the ledger, for whoever watches over a deployment. Counts are 1,000 at most. */
export interface Health {
  /** Since when the oldest of all that the reconciler looks after has been due, in seconds; 0 where nothing is. */
  readonly oldestUnrepairedSeconds: number;
  readonly degradedOwners: number;
  /** Runs that ask for a person, the quarantined ones among them. */
  readonly runsWithAttention: number;
  readonly quarantinedRuns: number;
  /** That nobody has acknowledged. */
  readonly integrityFaults: number;
  readonly foreignDeadLetters: number;
}

/**
 * In how many seconds somebody must look at the ledger again; 0 or less: work is open now. Null where nothing is open. A
 * system statement: it spans tenants.
 */
export async function readNextLook(executor: Executor): Promise<number | null> {
  const [row] = await executor.run(NEXT_LOOK, [PASSES]);
  return row === undefined ? null : rows(row).numberOrNull("due_in");
}

/** A system statement: it spans tenants. */
export async function readHealth(executor: Executor): Promise<Health> {
  const [row] = await executor.run(HEALTH, []);
  const r = rows(row ?? {});
  return {
    oldestUnrepairedSeconds: Math.max(0, r.numberOrNull("oldest") ?? 0),
    degradedOwners: r.number("degraded"),
    runsWithAttention: r.number("attention"),
    quarantinedRuns: r.number("quarantined"),
    integrityFaults: r.number("faults"),
    foreignDeadLetters: r.number("letters"),
  };
}
