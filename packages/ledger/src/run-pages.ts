import { statesOf, type Run } from "@ghouls/core";
import type { Executor, Row } from "./connection/database.ts";
import { LISTED_RUN, START, cursorOf, parseCursor, runOf } from "./reads.ts";
import { hasLabels, labelValues } from "./sql/labels.ts";
import { rows } from "./sql/rows.ts";
import { timesOf } from "./sql/times.ts";
import { readStatement } from "./sql/statement.ts";

/** Which of a tenant's runs a page has: those that all of it means. Times are of their admission. */
export interface RunPageFilter {
  readonly status?: readonly string[] | undefined;
  readonly workflow?: string | undefined;
  readonly parentRunId?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
  /** Only those that ask for a person. */
  readonly attention?: boolean | undefined;
}

const SHOWN = `${LISTED_RUN}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`;
const BEHIND = "(timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)";
const NEWEST = `
order by run.created_at desc, run.run_id desc
limit $4`;

/** All that a filter may say but where the page begins; what drives the scan is said once more, where an index is to have it. */
const MEANT = `run.created_at >= $5::timestamptz and run.created_at < $6::timestamptz
  and ($7::text[] is null or run.status = any($7))
  and ($8::text is null or run.workflow_name = $8)
  and ($9::uuid is null or run.parent_run_id = $9)
  and (not $10::boolean or run.attention_at is not null or run.quarantined_at is not null)
  and ${hasLabels("$11", "$12")}`;

const ALL = readStatement(
  "runs.page-all",
  `
select ${SHOWN}
from ghouls.runs run
where run.tenant_id = $1 and (run.created_at, run.run_id) < ${BEHIND}
  and ${MEANT}${NEWEST}`,
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
  from ghouls.runs run
  where run.tenant_id = $1 and (run.created_at, run.run_id) < ${BEHIND}
  and ${MEANT}
  and run.status = wanted.status${driven}${NEWEST}
) as run${NEWEST}`,
  );

// What drives it may have many more than are meant: so many are looked at, the newest, one by one, and the page tells how far.
const pageOfLooked = (name: string, driver: string) =>
  readStatement(
    `runs.page-${name}`,
    `
with looked as materialized (${driver}
  limit $13
), last as (
  select (extract(epoch from l.created_at) * 1000000)::bigint as last_micros, l.run_id as last_id,
    (select count(*) from looked)::integer as looked
  from looked l
  order by l.created_at, l.run_id
  limit 1
), page as (
  select run.*, l.created_at as looked_at, l.run_id as looked_id
  from looked l
  cross join lateral (
    select ${SHOWN}
    from ghouls.runs run
    where run.tenant_id = $1 and run.run_id = l.run_id
      and ${MEANT}
    offset 0
  ) as run
  order by l.created_at desc, l.run_id desc
  limit $4
)
select last.last_micros, last.last_id, last.looked, page.*
from last left join page on true
order by page.looked_at desc, page.looked_id desc`,
  );

const drivenBy = (condition: string) => `
  select run.run_id, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and (run.created_at, run.run_id) < ${BEHIND}
    and run.created_at >= $5::timestamptz and run.created_at < $6::timestamptz and ${condition}
  order by run.created_at desc, run.run_id desc`;

/** By what narrows it most; each has an index whose order is the answer's. */
const PAGES = {
  all: ALL,
  status: pageOfStatuses("status"),
  workflow: pageOfStatuses("workflow", "\n  and run.workflow_name = $8"),
  parent: pageOfLooked("parent", drivenBy("run.parent_run_id = $9")),
  attention: pageOfLooked(
    "attention",
    drivenBy("(run.attention_at is not null or run.quarantined_at is not null)"),
  ),
  label: pageOfLooked(
    "label",
    `
  select first.run_id, first.created_at
  from ghouls.labels first
  where first.tenant_id = $1 and first.key = ($11::text[])[1] and first.value = ($12::text[])[1]
    and (first.created_at, first.run_id) < ${BEHIND}
    and first.created_at >= $5::timestamptz and first.created_at < $6::timestamptz
  order by first.created_at desc, first.run_id desc`,
  ),
} as const;
type Driver = keyof typeof PAGES;

/** Runs that one statement looks at for those that a filter means. */
const LOOKED = 2_000;
/** Statements for one page while it has nothing to show. */
const LOOKS = 5;

/**
 * A page of a tenant's runs, newest first, and the cursor of the next one. Where a filter means few of many it looks at a bounded
 * number of them: the page may be short, or empty, and go on all the same.
 * @throws GhoulsError invalid_request for a cursor of another form
 */
export async function readRunPage(
  executor: Executor,
  tenantId: string,
  filter: RunPageFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ runs: Run[]; nextCursor: string | null }> {
  let looked = await look(executor, tenantId, filter, page);
  for (let looks = 1; looks < LOOKS && looked.runs.length === 0 && looked.nextCursor !== null; looks += 1)
    looked = await look(executor, tenantId, filter, { ...page, cursor: looked.nextCursor });
  return looked;
}

async function look(
  executor: Executor,
  tenantId: string,
  filter: RunPageFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ runs: Run[]; nextCursor: string | null }> {
  const [micros, runId] = page.cursor === undefined ? START : parseCursor(page.cursor);
  const driver = driverOf(filter);
  const most = isExact(filter) ? page.limit + 1 : Math.max(LOOKED, page.limit + 1);
  const rowsFound = await executor.run(PAGES[driver], [
    tenantId,
    micros,
    runId,
    page.limit + 1,
    ...timesOf(filter),
    filter.status ?? (driver === "workflow" ? statesOf("run") : null),
    filter.workflow ?? null,
    filter.parentRunId ?? null,
    filter.attention ?? false,
    ...labelValues(filter.labels),
    ...(isLooking(driver) ? [most] : []),
  ]);
  const found = rowsFound.filter((row) => row["run_id"] !== null);
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    runs: shown.map((row) => runOf(rows(row))),
    nextCursor:
      found.length > page.limit && last !== undefined ? cursorOf(last) : lookedTo(rowsFound[0], driver, most),
  };
}

const isLooking = (driver: Driver): boolean => ["parent", "attention", "label"].includes(driver);

/** How far was looked, where there may be more. */
function lookedTo(row: Row | undefined, driver: Driver, most: number): string | null {
  if (row === undefined || !isLooking(driver) || rows(row).number("looked") < most) return null;
  return `${rows(row).text("last_micros")}.${rows(row).text("last_id")}`;
}

function driverOf({ status, workflow, parentRunId, labels = {}, attention }: RunPageFilter): Driver {
  if (parentRunId !== undefined) return "parent";
  if (Object.keys(labels).length > 0) return "label";
  if (attention === true) return "attention";
  if (workflow !== undefined) return "workflow";
  return status === undefined ? "all" : "status";
}

/** Whether all that drives the look is meant. */
function isExact({ status, workflow, parentRunId, labels = {}, attention }: RunPageFilter): boolean {
  const said = [status, workflow, parentRunId, attention === true ? attention : undefined].filter(
    (one) => one !== undefined,
  );
  return said.length + Object.keys(labels).length === 1;
}
