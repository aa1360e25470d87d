import type { Bench } from "./phases.ts";

/** How long after its time a timer brought its run back, in ms by the ledger's clock. */
export interface Lateness {
  readonly timers: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Timers of two seconds, at a rate: they come as messages, whose delay SQS counts in whole seconds. */
export async function measureLateness({ parts, endings, options }: Bench): Promise<Lateness> {
  const { rate, timers: count } = options;
  const goal = endings.count() + count;
  await Promise.all([parts.order({ type: "pace", workflow: "nap", rate, count }), endings.until(goal)]);
  const { rows } = await parts.admin.query<{ late: number }>(
    `select extract(epoch from a.closed_at - a.due_at)::double precision * 1000 as late
     from ghouls.arms a
     join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
     where run.workflow_name = 'nap' and a.closing = 'fact'
     order by late`,
  );
  const at = (share: number) => rows[Math.max(0, Math.ceil(rows.length * share) - 1)]?.late ?? Number.NaN;
  return { timers: rows.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
