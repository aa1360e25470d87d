import type { Bench } from "./phases.ts";
import { spreadOf, type Spread } from "./spread.ts";

/** What a hop costs by the journal that it replays: from its claim to its end, in ms by the ledger's clock. */
export interface HopCost {
  /** Journal entries of the long runs. */
  readonly entries: number;
  readonly long: Spread;
  /** The same of runs with one entry. */
  readonly short: Spread;
}

const RUNS = 5;

/** The last hop of a run that has slept: it replays everything, and settles. */
const LAST_HOPS = `
select extract(epoch from d.settled_at - d.claimed_at)::double precision * 1000 as took
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
where run.workflow_name = $1 and run.status = 'DONE' and run.journal_length = $2
order by run.created_at desc
limit $3`;

export async function measureHops({ parts, endings, options }: Bench): Promise<HopCost> {
  const { entries } = options;
  const runs = (workflow: string) =>
    ({ type: "admit", workflow, queue: "runs", inFlight: 1, count: RUNS, seconds: 600 }) as const;
  for (const workflow of ["long", "nap"]) {
    const goal = endings.count() + RUNS;
    await Promise.all([parts.order(runs(workflow)), endings.until(goal)]);
  }
  const took = async (workflow: string, length: number): Promise<Spread> => {
    const { rows } = await parts.admin.query<{ took: number }>(LAST_HOPS, [workflow, length, RUNS]);
    return spreadOf(rows.map((row) => row.took));
  };
  return { entries, long: await took("long", entries + 1), short: await took("nap", 1) };
}
