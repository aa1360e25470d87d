import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** Seconds until an owner that has failed so many times has its next turn: 30 s, doubling to an hour. */
const BACK_OFF = (tries: string) => `least(3600, 30 * power(2, least(${tries}, 10))) * interval '1 second'`;

/** An owner that a pass could not look after. */
export interface FailedOwner {
  readonly owner: string;
  readonly tenantId: string;
  readonly runId: string | null;
  readonly reason: string;
}

/** A turn of a degraded owner: its next one stands further away already, so that whoever dies with it costs others nothing. */
export interface DegradedTurn {
  readonly owner: string;
  /** With this turn; what comes of it is written under this number. */
  readonly tries: number;
}

const DEGRADE = writeStatement(
  "degraded.add",
  `
insert into ghouls.degraded_owners (pass, owner, tenant_id, run_id, page_id, degraded_at, next_turn_at, reason)
select $1, q.owner, q.tenant_id, q.run_id, $2::uuid, ghouls.clock(), ghouls.clock() + ${BACK_OFF("0")}, q.reason
from unnest($3::text[], $4::text[], $5::uuid[], $6::text[]) as q(owner, tenant_id, run_id, reason)
order by q.owner
on conflict (pass, owner) do nothing`,
);

const AMONG = readStatement(
  "degraded.among",
  `select g.owner from ghouls.degraded_owners g where g.pass = $1 and g.owner = any($2::text[])`,
);

const TAKE = writeStatement(
  "degraded.take-turns",
  `
with turn as materialized (
  select g.pass, g.owner
  from ghouls.degraded_owners g
  where g.pass = $1 and g.next_turn_at <= ghouls.clock()
  order by g.next_turn_at, g.owner
  limit $2
  for update skip locked
)
update ghouls.degraded_owners g
set tries = g.tries + 1, next_turn_at = ghouls.clock() + ${BACK_OFF("g.tries")}
from turn
where g.pass = turn.pass and g.owner = turn.owner
returning g.owner, g.tries`,
);

const CLEAN = writeStatement(
  "degraded.clean",
  `
with clean as materialized (
  select g.pass, g.owner
  from unnest($2::text[], $3::integer[]) as q(owner, tries)
  join ghouls.degraded_owners g on g.pass = $1 and g.owner = q.owner
  where g.tries = q.tries
  order by g.owner
  for update of g
)
delete from ghouls.degraded_owners g
using clean
where g.pass = clean.pass and g.owner = clean.owner
returning g.owner`,
);

const REASON = writeStatement(
  "degraded.note-reason",
  `
update ghouls.degraded_owners g
set reason = $4
where g.pass = $1 and g.owner = $2 and g.tries = $3
returning g.owner`,
);

const MAKE_DUE = writeStatement(
  "degraded.make-due",
  `
with waiting as materialized (
  select g.pass, g.owner
  from ghouls.degraded_owners g
  where g.pass = any($1::text[]) and g.next_turn_at > ghouls.clock()
  order by g.pass, g.owner
  for update
)
update ghouls.degraded_owners g
set next_turn_at = ghouls.clock()
from waiting
where g.pass = waiting.pass and g.owner = waiting.owner
returning g.owner`,
);

/** Takes owners of one page out of the forward pages. Those that stand there already keep their turns. */
export async function degradeOwners(
  executor: Executor,
  pass: string,
  pageId: string,
  failed: readonly FailedOwner[],
): Promise<void> {
  if (failed.length === 0) return;
  await executor.run(DEGRADE, [
    pass,
    pageId,
    failed.map(({ owner }) => owner),
    failed.map(({ tenantId }) => tenantId),
    failed.map(({ runId }) => runId),
    failed.map(({ reason }) => keptReason(reason)),
  ]);
}

/** Which of these owners a pass leaves to their own turns. */
export async function degradedAmong(
  executor: Executor,
  pass: string,
  owners: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await executor.run(AMONG, [pass, owners])).map((row) => rows(row).text("owner")));
}

/** Takes the turns that are due, the longest first; of one that another reconciler takes just now none. */
export async function takeDegradedTurns(
  executor: Executor,
  pass: string,
  limit: number,
): Promise<DegradedTurn[]> {
  const found = await executor.run(TAKE, [pass, limit]);
  return found.map((row) => ({ owner: rows(row).text("owner"), tries: rows(row).number("tries") }));
}

/** Gives owners back to the forward pages, unless another turn has been taken since. */
export async function cleanOwners(
  executor: Executor,
  pass: string,
  turns: readonly DegradedTurn[],
): Promise<void> {
  if (turns.length === 0) return;
  await executor.run(CLEAN, [pass, turns.map(({ owner }) => owner), turns.map(({ tries }) => tries)]);
}

/** Keeps why a turn has failed. */
export async function noteDegradedReason(
  executor: Executor,
  pass: string,
  turn: DegradedTurn,
  reason: string,
): Promise<void> {
  await executor.run(REASON, [pass, turn.owner, turn.tries, keptReason(reason)]);
}

/** Makes the turns of all owners of these passes due. Answers of how many. */
export async function makeDegradedDue(executor: Executor, passes: readonly string[]): Promise<number> {
  return (await executor.run(MAKE_DUE, [passes])).length;
}

function keptReason(reason: string): string {
  return reason.slice(0, 500).replaceAll("\0", "\ufffd").toWellFormed();
}
