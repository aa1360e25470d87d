import type { Run } from "@ghouls/core";
import type { Executor } from "./connection/database.ts";
import { LISTED_RUN, START, cursorOf, parseCursor, runOf } from "./reads.ts";
import { hasLabels, labelValues } from "./sql/labels.ts";
import { rows } from "./sql/rows.ts";
import { timesOf } from "./sql/times.ts";
import { readStatement } from "./sql/statement.ts";

/** Which of a tenant's runs a page has: those that all of it means. Times are of their admission. */
export interface RunPageFilter {
  readonly status?: readonly string[];
  readonly workflow?: string;
  readonly parentRunId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly after?: Date;
  readonly before?: Date;
  /** Only those that ask for a person. */
  readonly attention?: boolean;
}

const SHOWN = `${LISTED_RUN}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`;
const BEHIND = "(timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)";
const NEWEST = `
order by run.created_at desc, run.run_id desc
limit $4`;

/** All that a filter may say; what drives the scan is said once more, as a condition of its own, where an index is to have it. */
const MEANT = `
where run.tenant_id = $1 and (run.created_at, run.run_id) < ${BEHIND}
  and run.created_at >= $5::timestamptz and run.created_at < $6::timestamptz
  and ($7::text[] is null or run.status = any($7))
  and ($8::text is null or run.workflow_name = $8)
  and ($9::uuid is null or run.parent_run_id = $9)
  and (not $10::boolean or run.attention_at is not null or run.quarantined_at is not null)
  and ${hasLabels("$11", "$12")}`;

const page = (name: string, driven = "") =>
  readStatement(
    `runs.page-${name}`,
    `
select ${SHOWN}
from ghouls.runs run${MEANT}${driven}${NEWEST}`,
  );

// One bounded index scan for each status: `status = any(…)` has no index whose order is the answer's, and a generic plan
// then reads all of a tenant's runs to find those of a rare one.
const pageOfStatuses = (name: string, driven = "") =>
  readStatement(
    `runs.page-${name}`,
    `
select ${SHOWN}
from (select distinct q.status from unnest($7::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${MEANT}
  and run.status = wanted.status${driven}${NEWEST}
) as run${NEWEST}`,
  );

/** By what narrows it most; each has an index whose order is the answer's, but for children, who are few. */
const PAGES = {
  parent: page("parent", "\n  and run.parent_run_id = $9"),
  label: readStatement(
    "runs.page-label",
    `
select ${SHOWN}
from ghouls.labels first
cross join lateral (
  select run.*
  from ghouls.runs run${MEANT} and run.run_id = first.run_id
  -- Not to be turned round: the first label drives it.
  offset 0
) as run
where first.tenant_id = $1 and first.key = ($11::text[])[1] and first.value = ($12::text[])[1]
  and (first.created_at, first.run_id) < ${BEHIND}
  and first.created_at >= $5::timestamptz and first.created_at < $6::timestamptz
order by first.created_at desc, first.run_id desc
limit $4`,
  ),
  attention: page("attention", "\n  and (run.attention_at is not null or run.quarantined_at is not null)"),
  both: pageOfStatuses("status-workflow", "\n  and run.workflow_name = $8"),
  status: pageOfStatuses("status"),
  workflow: page("workflow", "\n  and run.workflow_name = $8"),
  all: page("all"),
} as const;

/**
 * A page of a tenant's runs, newest first, and the cursor of the next one.
 * @throws GhoulsError invalid_request for a cursor of another form
 */
export async function readRunPage(
  executor: Executor,
  tenantId: string,
  filter: RunPageFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ runs: Run[]; nextCursor: string | null }> {
  const [micros, runId] = page.cursor === undefined ? START : parseCursor(page.cursor);
  const found = await executor.run(driverOf(filter), [
    tenantId,
    micros,
    runId,
    page.limit + 1,
    ...timesOf(filter),
    filter.status ?? null,
    filter.workflow ?? null,
    filter.parentRunId ?? null,
    filter.attention ?? false,
    ...labelValues(filter.labels),
  ]);
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    runs: shown.map((row) => runOf(rows(row))),
    nextCursor: found.length > page.limit && last !== undefined ? cursorOf(last) : null,
  };
}

function driverOf({ status, workflow, parentRunId, labels = {}, attention }: RunPageFilter) {
  if (parentRunId !== undefined) return PAGES.parent;
  if (Object.keys(labels).length > 0) return PAGES.label;
  if (attention === true) return PAGES.attention;
  if (status !== undefined) return workflow === undefined ? PAGES.status : PAGES.both;
  return workflow === undefined ? PAGES.all : PAGES.workflow;
}
