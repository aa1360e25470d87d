import type { Database, Executor, Row } from "../connection/database.ts";
import type { DueLook } from "../sql/due.ts";
import { microsOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { behindOwner, lookValues, ownersOf } from "./pass-owners.ts";

/** The most records that one seal has. */
export const RECORDS_OF_SEAL = 500;

/** Something that the sealing pass looks after. */
export interface DueSeal {
  readonly kind: "seal" | "doubt" | "check";
  readonly tenantId: string;
  /** Of a doubt. */
  readonly runId: string | null;
  readonly owner: string;
}

/**
 * Tenants with records to seal, by a walk from one tenant to the next over the index: those of many thousand runs of one
 * tenant are not read. Then runs in doubt, and the rolling check where it is time for it.
 */
const DUE = readStatement(
  "seals.due",
  `
with recursive tenants as (
  (select e.tenant_id from ghouls.end_acts e where e.act = 'seal' order by e.tenant_id limit 1)
  union all
  select (
    select e.tenant_id from ghouls.end_acts e where e.act = 'seal' and e.tenant_id > before.tenant_id order by e.tenant_id limit 1)
  from tenants before
  where before.tenant_id is not null
), due as (
  select tenants.tenant_id, null::uuid as run_id, 'seal' as kind, 'seal ' || tenants.tenant_id as owner, earliest.due_at
  from tenants
  cross join lateral (
    select e.due_at
    from ghouls.end_acts e
    where e.tenant_id = tenants.tenant_id and e.act = 'seal'
    order by e.due_at
    limit 1) as earliest
  union all
  select e.tenant_id, e.run_id, 'doubt', 'doubt ' || e.run_id::text, e.due_at
  from ghouls.end_acts e
  where e.act = 'doubt' and e.due_at <= ghouls.clock()
  union all
  select coalesce(c.tenant_id, ''), null, 'check', 'check', c.next_at
  from ghouls.seal_checks c
  where exists (select from ghouls.seals)
)
select due.tenant_id, due.run_id, due.kind, due.owner, ${microsOf("due.due_at")}
from due
where ${behindOwner("due.due_at", "due.owner")} and ($5::text[] is null or due.owner = any($5))
order by due.due_at, due.owner collate "C"
limit $1`,
);

const DUE_RUNS = readStatement(
  "seals.due-runs",
  `
select e.run_id
from ghouls.end_acts e
where e.tenant_id = $1 and e.act = 'seal' and e.due_at <= ghouls.clock()
order by e.due_at, e.run_id
limit $2`,
);

/** A second sealer waits here for the first, and then finds nothing. */
const TAKE = readStatement(
  "seals.take",
  `
select e.run_id
from ghouls.end_acts e
where e.tenant_id = $1 and e.act = 'seal' and e.run_id = any($2::uuid[])
order by e.run_id
for update`,
);

/** A later statement than the one that took the acts: it sees the seal of whoever was faster. */
const MAKE = writeStatement(
  "seals.make",
  `
with last as materialized (
  select s.number, s.digest
  from ghouls.seals s
  where s.tenant_id = $1
  order by s.number desc
  limit 1
), member as materialized (
  select e.tenant_id, e.run_id, record.record_digest, row_number() over (order by e.ended_at, e.run_id) as place
  from ghouls.end_acts e
  join ghouls.terminal_records record on record.tenant_id = e.tenant_id and record.run_id = e.run_id
  where e.tenant_id = $1 and e.act = 'seal' and e.run_id = any($2::uuid[])
), lines as materialized (
  select count(*)::integer as records, string_agg(concat_ws(' ', m.place, m.run_id, m.record_digest), chr(10) order by m.place) as members
  from member m
), made as (
  insert into ghouls.seals (tenant_id, number, previous_digest, records, members_text, digest, sealed_at)
  select $1, coalesce(last.number, 0) + 1, last.digest, lines.records, lines.members,
    ghouls.seal_digest($1, coalesce(last.number, 0) + 1, last.digest, lines.members), ghouls.clock()
  from lines
  left join last on true
  where lines.records > 0
  on conflict (tenant_id, number) do nothing
  returning tenant_id, number, records, digest
), done as (
  delete from ghouls.end_acts e
  using member m, made
  where e.tenant_id = made.tenant_id and e.tenant_id = m.tenant_id and e.run_id = m.run_id and e.act = 'seal'
  returning e.run_id
)
select made.number, made.records, made.digest
from made
where (select count(*) from done) >= 0`,
);

/** A page of what the sealing pass looks after, the longest due first. Spans tenants. */
export async function readDueSeals(executor: Executor, look: DueLook): Promise<PassPage<DueSeal>> {
  const found = await executor.run(DUE, [...lookValues(look), look.owners ?? null]);
  return ownersOf(found, look.limit, (row: Row) => {
    const r = rows(row);
    return {
      kind: r.text("kind") as DueSeal["kind"],
      tenantId: r.text("tenant_id"),
      runId: r.textOrNull("run_id"),
      owner: r.text("owner"),
    };
  });
}

/** The unsealed runs of a tenant that are due, the earliest first, as many as one seal takes. */
export async function readRunsToSeal(executor: Executor, tenantId: string): Promise<string[]> {
  const found = await executor.run(DUE_RUNS, [tenantId, RECORDS_OF_SEAL]);
  return found.map((row) => rows(row).text("run_id"));
}

export interface Seal {
  readonly tenantId: string;
  readonly number: number;
  readonly records: number;
  readonly digest: string;
}

/** The next seal of a tenant over these runs, whose records agree. Null where somebody was faster. */
export async function sealRecords(
  database: Database,
  tenantId: string,
  runIds: readonly string[],
): Promise<Seal | null> {
  return database.transaction("seals.make", async (transaction): Promise<Seal | null> => {
    const taken = await transaction.run(TAKE, [tenantId, runIds]);
    if (taken.length === 0) return null;
    const [made] = await transaction.run(MAKE, [tenantId, taken.map((row) => rows(row).text("run_id"))]);
    if (made === undefined) return null;
    const r = rows(made);
    return { tenantId, number: r.number("number"), records: r.number("records"), digest: r.text("digest") };
  });
}
