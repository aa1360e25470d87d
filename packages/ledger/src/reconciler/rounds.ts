import type { Executor } from "../connection/database.ts";
import type { Position } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** How far a round has come that an earlier invocation, or another reconciler, has begun. */
export interface Round {
  readonly number: string;
  /** What becomes due later belongs to the next round. */
  readonly until: Date;
  /** Where its next page begins; undefined: at the first. */
  readonly after: Position | undefined;
}

/** What a pass finds of its own work when an invocation begins. */
export interface StandingPass {
  /** The round that is under way; undefined where the last one has come to its end. */
  readonly round: Round | undefined;
  /** Whether any of its owners is degraded, and whether one of these has its turn. */
  readonly degraded: boolean;
  readonly degradedDue: boolean;
}

const READ = readStatement(
  "passes.read",
  `
select q.pass, p.round::text, p.round_until, p.cursor_micros::text, p.cursor_owner,
  aside.next_turn_at is not null as degraded, coalesce(aside.next_turn_at <= ghouls.clock(), false) as degraded_due
from unnest($1::text[]) as q(pass)
left join ghouls.passes p on p.pass = q.pass
left join lateral (
  select g.next_turn_at from ghouls.degraded_owners g where g.pass = q.pass order by g.next_turn_at limit 1
) as aside on true`,
);

/**
 * Begins a round, or joins the one that another reconciler has begun. The bound is a whole millisecond, which a Date keeps, and
 * no earlier than now: what was committed before belongs to it.
 */
const BEGIN = writeStatement(
  "passes.begin-round",
  `
insert into ghouls.passes as p (pass, round, round_until)
select q.pass, 1, date_trunc('milliseconds', ghouls.clock()) + interval '1 millisecond'
from unnest(array[$1::text]) as q(pass)
where q.pass is not null
on conflict (pass) do update set
  round = p.round + case when p.round_until is null then 1 else 0 end,
  round_until = coalesce(p.round_until, excluded.round_until)
returning p.round::text, p.round_until`,
);

/** Forward only, and only in its own round: whoever is slower throws nobody back. */
const ADVANCE = writeStatement(
  "passes.advance",
  `
update ghouls.passes p
set cursor_micros = $3::bigint, cursor_owner = $4
where p.pass = $1 and p.round = $2::bigint and p.round_until is not null
  and (p.cursor_owner is null or (p.cursor_micros, p.cursor_owner collate "C") < ($3::bigint, $4::text collate "C"))
returning p.round`,
);

const END = writeStatement(
  "passes.end-round",
  `
update ghouls.passes p
set round_until = null, cursor_micros = null, cursor_owner = null
where p.pass = $1 and p.round = $2::bigint
returning p.round`,
);

/** A round that fitted into one page was never begun: it counts here. Sorted, so that several do not wait in a ring. */
const NOTE = writeStatement(
  "passes.note",
  `
insert into ghouls.passes as p (pass, round, reconciler, started_at, ended_at, pages, found, repaired, failed, error)
select q.pass, greatest(q.rounds, 1), $2, ghouls.clock() - q.started_before * interval '1 second',
  ghouls.clock() - q.ended_before * interval '1 second', q.pages, q.found, q.repaired, q.failed, q.error
from unnest($1::text[], $3::integer[], $4::double precision[], $5::double precision[], $6::integer[], $7::integer[],
    $8::integer[], $9::integer[], $10::text[])
  as q(pass, rounds, started_before, ended_before, pages, found, repaired, failed, error)
order by q.pass
on conflict (pass) do update set
  round = p.round + case when p.round_until is null then (
      select n.rounds from unnest($1::text[], $3::integer[]) as n(pass, rounds) where n.pass = p.pass) else 0 end,
  reconciler = excluded.reconciler, started_at = excluded.started_at, ended_at = excluded.ended_at, pages = excluded.pages,
  found = excluded.found, repaired = excluded.repaired, failed = excluded.failed, error = excluded.error
returning p.pass, (select count(*) from ghouls.degraded_owners g where g.pass = p.pass)::integer as degraded`,
);

/** What the passes find of their own work, by their names. Belongs to the deployment, so it has no tenant. */
export async function readPasses(
  executor: Executor,
  passes: readonly string[],
): Promise<ReadonlyMap<string, StandingPass>> {
  const found = await executor.run(READ, [passes]);
  return new Map(
    found.map((row) => {
      const r = rows(row);
      const until = r.dateOrNull("round_until");
      const [micros, runId] = [r.textOrNull("cursor_micros"), r.textOrNull("cursor_owner")];
      const after = micros === null || runId === null ? undefined : { micros, runId };
      const round = until === null ? undefined : { number: r.text("round"), until, after };
      return [
        r.text("pass"),
        { round, degraded: r.boolean("degraded"), degradedDue: r.boolean("degraded_due") },
      ];
    }),
  );
}

export async function beginRound(executor: Executor, pass: string): Promise<Omit<Round, "after">> {
  const [row] = await executor.run(BEGIN, [pass]);
  if (row === undefined) throw new TypeError("a round was not begun");
  return { number: rows(row).text("round"), until: rows(row).date("round_until") };
}

/** False where the round has ended, or somebody is further. */
export async function advanceRound(
  executor: Executor,
  pass: string,
  round: string,
  to: Position,
): Promise<boolean> {
  return (await executor.run(ADVANCE, [pass, round, to.micros, to.runId])).length === 1;
}

export async function endRound(executor: Executor, pass: string, round: string): Promise<void> {
  await executor.run(END, [pass, round]);
}

/** What one turn of a pass did. */
export interface PassNote {
  readonly pass: string;
  /** Rounds that it has gone over in one page each. */
  readonly rounds: number;
  /** Seconds since it began and ended. */
  readonly startedBefore: number;
  readonly endedBefore: number;
  readonly pages: number;
  readonly found: number;
  readonly repaired: number;
  readonly failed: number;
  readonly error: string | null;
}

/** Answers how many of its owners each has left degraded. */
export async function notePasses(
  executor: Executor,
  reconciler: string,
  notes: readonly PassNote[],
): Promise<ReadonlyMap<string, number>> {
  const found = await executor.run(NOTE, [
    notes.map(({ pass }) => pass),
    reconciler,
    notes.map(({ rounds }) => rounds),
    notes.map(({ startedBefore }) => startedBefore),
    notes.map(({ endedBefore }) => endedBefore),
    notes.map(({ pages }) => pages),
    notes.map((note) => note.found),
    notes.map(({ repaired }) => repaired),
    notes.map(({ failed }) => failed),
    notes.map(({ error }) => error?.slice(0, 500) ?? null),
  ]);
  return new Map(found.map((row) => [rows(row).text("pass"), rows(row).number("degraded")]));
}
