import type { Executor, Row } from "../connection/database.ts";
import type { DueLook } from "../sql/due.ts";
import { microsOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { behindOwner, lookValues, ownersOf } from "./pass-owners.ts";

/** How long after the end of a run, or after a repair, what is kept of them; null: for ever. In milliseconds. */
export interface RetentionAges {
  readonly bodiesMs: number | null;
  readonly stepsMs: number | null;
  readonly repairsMs: number | null;
}

export type Emptied = "bodies" | "steps" | "repairs";

/** Something that is older than it is to be kept. */
export interface DueRetention {
  readonly kind: Emptied;
  readonly tenantId: string;
  /** Null for repairs, which go by tenant. */
  readonly runId: string | null;
  readonly owner: string;
}

/** Ended runs with bodies of a kind; those of which somebody may still need them are passed over. */
const endedWith = (kind: "bodies" | "steps", age: number) => `(
  select run.tenant_id, run.run_id, '${kind}' as kind, '${kind} ' || run.run_id::text as owner, run.finished_at as due_at
  from ghouls.runs run
  where run.finished_at is not null and run.${kind}_emptied_at is null
    and run.finished_at <= ghouls.clock() - $${age}::double precision * interval '1 millisecond'
    and ${behindOwner("run.finished_at", `'${kind} ' || run.run_id::text`)}
  order by run.finished_at, run.run_id
  limit $1)`;

const DUE = readStatement(
  "retention.due",
  `
select due.tenant_id, due.run_id, due.kind, due.owner, ${microsOf("due.due_at")},
  due.run_id is null or ghouls.may_be_emptied(due.tenant_id, due.run_id) as may_be
from (
  select due.*
  from (
    ${endedWith("bodies", 5)}
    union all
    ${endedWith("steps", 6)}
    union all
    (select old.tenant_id, null::uuid, 'repairs', 'repairs ' || old.tenant_id, min(old.at)
    from (
      select repair.tenant_id, repair.at
      from ghouls.repairs repair
      where repair.at <= ghouls.clock() - $7::double precision * interval '1 millisecond'
      order by repair.at
      limit 1000) as old
    group by old.tenant_id
    having ${behindOwner("min(old.at)", "'repairs ' || old.tenant_id")})
  ) as due
  order by due.due_at, due.owner collate "C"
  limit $1
) as due
order by due.due_at, due.owner collate "C"`,
);

const DUE_OF_RUNS = readStatement(
  "retention.due-of",
  `
select run.tenant_id, run.run_id, q.kind, q.kind || ' ' || run.run_id::text as owner, ${microsOf("run.finished_at")},
  ghouls.may_be_emptied(run.tenant_id, run.run_id) as may_be
from unnest($1::uuid[], $2::text[]) as q(run_id, kind)
join ghouls.runs run on run.run_id = q.run_id
where case q.kind when 'bodies' then run.bodies_emptied_at is null
    and run.finished_at <= ghouls.clock() - $3::double precision * interval '1 millisecond'
  else run.steps_emptied_at is null
    and run.finished_at <= ghouls.clock() - $4::double precision * interval '1 millisecond' end
order by run.finished_at, q.kind, run.run_id`,
);

const EMPTY_BODIES = writeStatement(
  "retention.empty-bodies",
  `
select ghouls.empty_bodies(run.tenant_id, run.run_id, $3) as emptied
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

const EMPTY_STEPS = writeStatement(
  "retention.empty-steps",
  `
select ghouls.empty_steps(run.tenant_id, run.run_id, $3) as emptied
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

const FORGET_REPAIRS = writeStatement(
  "repairs.forget",
  `
with old as materialized (
  select repair.tenant_id, repair.run_id, repair.repair_id
  from ghouls.repairs repair
  where repair.tenant_id = $1 and repair.at <= ghouls.clock() - $3::double precision * interval '1 millisecond'
  order by repair.at
  limit $2
)
delete from ghouls.repairs repair
using old
where repair.tenant_id = old.tenant_id and repair.run_id = old.run_id and repair.repair_id = old.repair_id
returning repair.repair_id`,
);

/** A page of what is older than it is to be kept, the oldest first. Spans tenants. */
export async function readDueRetention(
  executor: Executor,
  ages: RetentionAges,
  look: DueLook,
): Promise<PassPage<DueRetention>> {
  const { bodiesMs, stepsMs, repairsMs } = ages;
  const named = look.owners?.map((owner) => owner.split(" ", 2) as [string, string]);
  const found =
    named === undefined
      ? await executor.run(DUE, [...lookValues(look), bodiesMs, stepsMs, repairsMs])
      : await executor.run(DUE_OF_RUNS, ofRuns(named, bodiesMs, stepsMs));
  const page = ownersOf(found, look.limit, dueOf);
  const tenants = look.owners?.filter((owner) => owner.startsWith(REPAIRS)) ?? [];
  const repairs = tenants.map((owner): DueRetention => ({
    kind: "repairs",
    tenantId: owner.slice(REPAIRS.length),
    runId: null,
    owner,
  }));
  return named === undefined ? page : { found: [...page.found, ...repairs], next: undefined };
}

const REPAIRS = "repairs ";

function ofRuns(
  named: readonly [string, string][],
  bodiesMs: number | null,
  stepsMs: number | null,
): unknown[] {
  const runs = named.filter(([kind]) => kind !== "repairs");
  return [runs.map(([, runId]) => runId), runs.map(([kind]) => kind), bodiesMs, stepsMs];
}

function dueOf(row: Row): DueRetention | undefined {
  const r = rows(row);
  if (!r.boolean("may_be")) return undefined;
  return {
    kind: r.text("kind") as Emptied,
    tenantId: r.text("tenant_id"),
    runId: r.textOrNull("run_id"),
    owner: r.text("owner"),
  };
}

/**
 * Empties so many bodies of a run, in one commit, or forgets so many repairs of a tenant. Answers how many; null where they
 * may not be emptied any more. Fewer than asked for: it was the last of them.
 */
export async function emptyOne(
  executor: Executor,
  { kind, tenantId, runId }: DueRetention,
  atMost: number,
  ages: RetentionAges,
): Promise<number | null> {
  if (kind === "repairs")
    return (await executor.run(FORGET_REPAIRS, [tenantId, atMost, ages.repairsMs])).length;
  const statement = kind === "bodies" ? EMPTY_BODIES : EMPTY_STEPS;
  const [row] = await executor.run(statement, [tenantId, runId, atMost]);
  return row === undefined ? null : rows(row).numberOrNull("emptied");
}
