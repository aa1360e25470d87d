import type { DeliveryRef, SkipReason } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** In the order of their keys: two workers may skip the same messages at the same time. */
const NOTE = writeStatement(
  "skips.note",
  `
insert into ghouls.skips (tenant_id, run_id, seq, reason, times, first_at, last_at)
select d.tenant_id, d.run_id, d.seq, q.reason, count(*)::integer, ghouls.clock(), ghouls.clock()
from unnest($1::uuid[], $2::integer[], $3::text[]) as q(run_id, seq, reason)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq
group by d.tenant_id, d.run_id, d.seq, q.reason
order by d.tenant_id, d.run_id, d.seq, q.reason
on conflict (tenant_id, run_id, seq, reason) do update
set times = least(skips.times::bigint + excluded.times, 2147483647)::integer, last_at = greatest(skips.last_at, excluded.last_at)
returning run_id`,
);

const OF_RUN = readStatement(
  "skips.of-run",
  `
select s.seq, s.reason, s.times, s.first_at, s.last_at
from ghouls.skips s
where s.tenant_id = $1 and s.run_id = $2
order by s.seq, s.reason`,
);

/** A message of a delivery that was not claimed, and why. */
export interface SkippedDelivery extends DeliveryRef {
  readonly reason: SkipReason;
}

/** How often messages of one delivery were skipped for one reason. */
export interface SkipRow {
  readonly seq: number;
  readonly reason: SkipReason;
  readonly times: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/**
 * Keeps that messages were skipped, for people: one row for each delivery and reason. What names no delivery is not kept.
 * Answers how many rows it wrote. Under no lock of their runs. A system statement: a message carries no tenant.
 */
export async function noteSkips(executor: Executor, skipped: readonly SkippedDelivery[]): Promise<number> {
  if (skipped.length === 0) return 0;
  const noted = await executor.run(NOTE, [
    skipped.map(({ runId }) => runId),
    skipped.map(({ enqueueSeq }) => enqueueSeq),
    skipped.map(({ reason }) => reason),
  ]);
  return noted.length;
}

/** All of a run: at most as many for each delivery as there are reasons. */
export async function readSkips(executor: Executor, { tenantId, runId }: RunKey): Promise<SkipRow[]> {
  const found = await executor.run(OF_RUN, [tenantId, runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      seq: r.number("seq"),
      reason: r.text("reason") as SkipReason,
      times: r.number("times"),
      firstAt: r.date("first_at"),
      lastAt: r.date("last_at"),
    };
  });
}
