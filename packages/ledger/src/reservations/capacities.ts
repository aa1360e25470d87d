import type { Database, Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const READ = readStatement(
  "capacities.read",
  `
select c.name, c.units, c.said_at is not null as said
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

const SAY = writeStatement(
  "capacities.say",
  `
insert into ghouls.capacities as c (name, units, updated_at, said_at)
select q.name, q.units, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do update set units = excluded.units, said_at = excluded.said_at,
  updated_at = case when c.units = excluded.units then c.updated_at else excluded.updated_at end
where c.units <> excluded.units or c.said_at is null`,
);

const ADD = writeStatement(
  "capacities.add",
  `
insert into ghouls.capacities (name, units, updated_at)
select q.name, q.units, ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do nothing`,
);

/**
 * Says how many units there are of each capacity: the word of a deploy, which every process goes by, also one of before it. One that
 * is named no more stays: runs may still use it. Nothing is written, or locked, where that is known.
 */
export async function sayCapacities(
  database: Database,
  capacities: Readonly<Record<string, number>>,
): Promise<void> {
  const known = await knownOf(database, capacities);
  const isSaid = ([name, units]: [string, number]) =>
    known.get(name)?.units === units && known.get(name)?.said === true;
  if (Object.entries(capacities).every(isSaid)) return;
  const names = Object.keys(capacities);
  await database.transaction("capacities.say", async (transaction) => {
    await transaction.run(LOCK, [names]);
    await transaction.run(SAY, [names, Object.values(capacities)]);
  });
}

/** Adds those that nobody has said yet, and changes none: a process of before a deploy may start after it. */
export async function addCapacities(
  database: Database,
  capacities: Readonly<Record<string, number>>,
): Promise<void> {
  const known = await knownOf(database, capacities);
  const added = Object.entries(capacities).filter(([name]) => !known.has(name));
  if (added.length === 0) return;
  await database.run(ADD, [added.map(([name]) => name), added.map(([, units]) => units)]);
}

async function knownOf(
  database: Database,
  capacities: Readonly<Record<string, number>>,
): Promise<ReadonlyMap<string, { readonly units: number; readonly said: boolean }>> {
  const names = Object.keys(capacities);
  if (names.length === 0) return new Map();
  const found = await database.run(READ, [names]);
  return new Map(
    found.map((row) => {
      const r = rows(row);
      return [r.text("name"), { units: r.number("units"), said: r.boolean("said") }];
    }),
  );
}

/** Locks a capacity for one taker at a time; releases only free. False where nobody has said it. */
export async function lockCapacity(executor: Executor, name: string): Promise<boolean> {
  return (await executor.run(LOCK, [[name]])).length === 1;
}
