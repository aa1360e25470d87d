import { OPEN_RUN, sqlStates, type RunStatus } from "@ghouls/core";
import type { Executor } from "./connection/database.ts";
import { cursorOf, parseCursor, START } from "./reads.ts";
import { hasLabels, labelValues } from "./sql/labels.ts";
import { rows } from "./sql/rows.ts";
import { timesOf } from "./sql/times.ts";
import { readStatement } from "./sql/statement.ts";

/** Which of a tenant's runs are meant that have not ended. Times are of their admission. */
export interface MatchingFilter {
  readonly status?: readonly RunStatus[] | undefined;
  readonly workflow?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
  readonly parentRunId?: string | undefined;
  readonly attention?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface MatchingRun {
  readonly runId: string;
  readonly status: RunStatus;
  readonly workflow: string;
}

const SHOWN = `run.run_id, run.status, run.workflow_name, run.created_at, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`;
const MEANT = `run.tenant_id = $1
    and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
    and run.created_at < $6::timestamptz and run.created_at >= $7::timestamptz
    and ($8::text is null or run.workflow_name = $8)
    and (not $9::boolean or run.attention_at is not null or run.quarantined_at is not null)`;
const NEWEST = `order by run.created_at desc, run.run_id desc
limit $4`;

/** One bounded index scan for each status, as for a page of runs. */
const MATCHING = readStatement(
  "runs.matching",
  `
select ${SHOWN}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run
  where ${MEANT}
    and run.status = wanted.status and run.status in (${sqlStates(OPEN_RUN)})
  ${NEWEST}
) as run
${NEWEST}`,
);

const MATCHING_CHILDREN = readStatement(
  "runs.matching-children",
  `
select ${SHOWN}
from ghouls.runs run
where ${MEANT}
    and run.status = any($5::text[]) and run.status in (${sqlStates(OPEN_RUN)}) and run.parent_run_id = $10::uuid
${NEWEST}`,
);

/** By the first of the labels, whose index has the order of the answer. */
const MATCHING_LABELED = readStatement(
  "runs.matching-labeled",
  `
select ${SHOWN}
from ghouls.labels first
cross join lateral (
  select run.*
  from ghouls.runs run
  where ${MEANT}
    and run.status = any($5::text[]) and run.status in (${sqlStates(OPEN_RUN)}) and run.run_id = first.run_id
    and ($12::uuid is null or run.parent_run_id = $12) and ${hasLabels("$10", "$11")}
  -- Not to be turned round: the first label drives it.
  offset 0
) as run
where first.tenant_id = $1 and first.key = ($10::text[])[1] and first.value = ($11::text[])[1]
  and (first.created_at, first.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
order by first.created_at desc, first.run_id desc
limit $4`,
);

/**
 * A page of a tenant's runs that a filter means and that have not ended, newest first, and the cursor of the next one. What is
 * admitted after the first page is not met by the others.
 * @throws GhoulsError invalid_request for a cursor of another form
 */
export async function readMatchingRuns(
  executor: Executor,
  tenantId: string,
  filter: MatchingFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ runs: MatchingRun[]; nextCursor: string | null }> {
  const [micros, runId] = page.cursor === undefined ? START : parseCursor(page.cursor);
  const [after, before] = timesOf(filter);
  const values = [
    tenantId,
    micros,
    runId,
    page.limit + 1,
    filter.status ?? OPEN_RUN,
    before,
    after,
    filter.workflow ?? null,
    filter.attention ?? false,
  ];
  const { parentRunId, labels = {} } = filter;
  const found = await (Object.keys(labels).length > 0
    ? executor.run(MATCHING_LABELED, [...values, ...labelValues(labels), parentRunId ?? null])
    : parentRunId === undefined
      ? executor.run(MATCHING, values)
      : executor.run(MATCHING_CHILDREN, [...values, parentRunId]));
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    runs: shown.map((row) => ({
      runId: rows(row).text("run_id"),
      status: rows(row).text("status") as RunStatus,
      workflow: rows(row).text("workflow_name"),
    })),
    nextCursor: found.length > page.limit && last !== undefined ? cursorOf(last) : null,
  };
}
