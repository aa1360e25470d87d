import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import { judgeRecords, type Judged } from "./doubts.ts";

/** Runs that one statement compares with their records. */
const RUNS_OF_SLICE = 100;
/** Journal entries and deliveries of these, unless one run alone has more: a long one has tens of thousands. */
const ROWS_OF_SLICE = 10_000;

const SIZES = readStatement(
  "evidence.sizes",
  `
select coalesce(run.journal_length + run.enqueue_seq, 0) as size
from unnest($1::text[], $2::uuid[]) with ordinality as x(tenant_id, run_id, place)
left join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
order by x.place`,
);

/** Parts of these runs, in their order, each no more than one statement can compare with their records in good time. */
export async function sliceRecords(executor: Executor, keys: readonly RunKey[]): Promise<RunKey[][]> {
  if (keys.length === 0) return [];
  const sizes = await executor.run(SIZES, [keys.map((key) => key.tenantId), keys.map((key) => key.runId)]);
  const slices: RunKey[][] = [];
  let left = 0;
  for (const [index, key] of keys.entries()) {
    const size = rows(sizes[index] ?? {}).number("size");
    const slice = slices.at(-1);
    if (slice === undefined || slice.length >= RUNS_OF_SLICE || size > left) {
      slices.push([key]);
      left = ROWS_OF_SLICE - size;
    } else {
      slice.push(key);
      left -= size;
    }
  }
  return slices;
}

/** What of the terminal records of these runs is wrong, however many and however long they are. */
export async function judgeAllRecords(executor: Executor, keys: readonly RunKey[]): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const slice of await sliceRecords(executor, keys))
    judged.push(...(await judgeRecords(executor, slice)));
  return judged;
}
