import type { Database, Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const READ = readStatement(
  "capacities.read",
  `
select c.name, c.units
from ghouls.capacities c
where c.name = any($1::text[])`,
);

/** A statement of its own before the change: what is granted while it waits for this lock was granted before the change. */
const LOCK = writeStatement(
  "capacities.lock",
  `
select c.name
from ghouls.capacities c
where c.name = any($1::text[])
order by c.name
for update`,
);

const RECORD = writeStatement(
  "capacities.record",
  `
insert into ghouls.capacities as c (name, units, updated_at)
select q.name, q.units, ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do update set units = excluded.units, updated_at = excluded.updated_at
where c.units <> excluded.units`,
);

/**
 * Says how many units a configuration gives of each capacity. One that is named no more stays: runs may still use it. Nothing
 * is written, or locked, where that is known.
 */
export async function recordCapacities(
  database: Database,
  capacities: Readonly<Record<string, number>>,
): Promise<void> {
  const names = Object.keys(capacities);
  if (names.length === 0) return;
  const found = await database.run(READ, [names]);
  const known = new Map(found.map((row) => [rows(row).text("name"), rows(row).number("units")]));
  if (names.every((name) => known.get(name) === capacities[name])) return;
  await database.transaction("capacities.record", async (transaction) => {
    await transaction.run(LOCK, [names]);
    await transaction.run(RECORD, [names, Object.values(capacities)]);
  });
}

/** Locks a capacity for one taker at a time; releases only free. False where no configuration has said it. */
export async function lockCapacity(executor: Executor, name: string): Promise<boolean> {
  return (await executor.run(LOCK, [[name]])).length === 1;
}
