import { OPEN_RUN, sqlStates, statesOf, type RunStatus, type WorkflowPin } from "@ghouls/core";
import type { Executor } from "./connection/database.ts";
import { withoutRelease } from "./releases/released.ts";
import { hasLabels, labelValues } from "./sql/labels.ts";
import { rows } from "./sql/rows.ts";
import { readStatement } from "./sql/statement.ts";

/** Runs that one count looks at, the newest: it stays a bounded index scan, however many there are. */
const MOST_COUNTED = 50_000;

/** What is looked at is found first, by the index whose order it has; then it is counted. */
const counts = (name: string, looked: string) =>
  readStatement(
    `runs.count-${name}`,
    `
with asked as (
  select ghouls.clock() - $2::integer * interval '1 second' as since
), looked as materialized (${looked}
), bins as (
  select date_bin($4::integer * interval '1 second', l.created_at, a.since) as at, l.status, count(*)::integer as runs
  from looked l cross join asked a
  where l.created_at is not null
  group by 1, 2
)
select a.since, (select count(*) from looked)::integer as looked, b.at, b.status, b.runs
from asked a left join bins b on true
order by b.at, b.status`,
  );

const NEWEST = `
  order by run.created_at desc, run.run_id desc
  limit $3`;

const COUNTS = {
  all: counts(
    "all",
    `
  select run.created_at, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.created_at >= (select since from asked) and $5::text is null
    and cardinality($6::text[]) + cardinality($7::text[]) = 0${NEWEST}`,
  ),
  // One bounded scan for each status, as the index has them.
  workflow: counts(
    "workflow",
    `
  select run.created_at, run.status
  from unnest(array[${statesOf("run")
    .map((status) => `'${status}'`)
    .join(", ")}]) as wanted(status)
  cross join lateral (
    select run.created_at, run.run_id, run.status
    from ghouls.runs run
    where run.tenant_id = $1 and run.workflow_name = $5 and run.status = wanted.status
      and run.created_at >= (select since from asked) and cardinality($6::text[]) + cardinality($7::text[]) = 0${NEWEST}
  ) as run${NEWEST}`,
  ),
  label: counts(
    "label",
    `
  select found.created_at, found.status
  from (
    select first.run_id
    from ghouls.labels first
    where first.tenant_id = $1 and first.key = ($6::text[])[1] and first.value = ($7::text[])[1]
      and first.created_at >= (select since from asked)
    order by first.created_at desc, first.run_id desc
    limit $3
  ) as first
  left join lateral (
    select run.created_at, run.status
    from ghouls.runs run
    where run.tenant_id = $1 and run.run_id = first.run_id and ($5::text is null or run.workflow_name = $5)
      and ${hasLabels("$6", "$7")}
    offset 0
  ) as found on true`,
  ),
} as const;

/** Which runs are counted. */
export interface CountFilter {
  readonly workflow?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface RunCounts {
  /** The ledger's time at which the first bucket begins. */
  readonly since: Date;
  /** Whether all of that time was looked at; else only the newest {@link MOST_COUNTED}. */
  readonly complete: boolean;
  /** Of buckets that have some. */
  readonly counts: readonly { readonly at: Date; readonly status: RunStatus; readonly runs: number }[];
}

/**
 * Runs of a tenant by the time of their admission and their status now.
 * @param page how far back, and how long a bucket is, both in seconds
 */
export async function countRuns(
  executor: Executor,
  tenantId: string,
  filter: CountFilter,
  page: { readonly seconds: number; readonly bucketSeconds: number },
): Promise<RunCounts> {
  const { workflow, labels = {} } = filter;
  const driver = Object.keys(labels).length > 0 ? "label" : workflow === undefined ? "all" : "workflow";
  const found = await executor.run(COUNTS[driver], [
    tenantId,
    page.seconds,
    MOST_COUNTED,
    page.bucketSeconds,
    workflow ?? null,
    ...labelValues(labels),
  ]);
  const [first] = found;
  if (first === undefined) throw new Error("a count without a row");
  return {
    since: rows(first).date("since"),
    complete: rows(first).number("looked") < MOST_COUNTED,
    counts: found.flatMap((row) => {
      const r = rows(row);
      const at = r.dateOrNull("at");
      return at === null ? [] : [{ at, status: r.text("status") as RunStatus, runs: r.number("runs") }];
    }),
  };
}

/** One bounded index scan for each status. */
const PINNED = readStatement(
  "runs.pinned",
  `
with open as materialized (
  select run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from unnest(array[${OPEN_RUN.map((status) => `'${status}'`).join(", ")}]) as wanted(status)
  cross join lateral (
    select run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
    from ghouls.runs run
    where run.tenant_id = $1 and run.status = wanted.status and run.status in (${sqlStates(OPEN_RUN)})
    order by run.created_at desc, run.run_id desc
    limit $2
  ) as run
), pins as (
  select o.workflow_name, o.workflow_version, o.workflow_digest, count(*)::integer as runs, min(o.created_at) as oldest_at
  from open o
  group by o.workflow_name, o.workflow_version, o.workflow_digest
)
select p.workflow_name, p.workflow_version, p.workflow_digest, p.runs, p.oldest_at,
  not (${withoutRelease("p")}) as released, (select count(*) from open)::integer as looked
from pins p
order by p.workflow_name, p.workflow_version, p.workflow_digest`,
);

/** Runs that have not ended, by the code that they are pinned to. */
export interface PinnedRuns extends WorkflowPin {
  readonly runs: number;
  /** Of those that were counted. */
  readonly oldestAt: Date;
  /** Whether a release has that code. */
  readonly released: boolean;
}

/** A tenant's open runs by what they are pinned to, at most {@link MOST_COUNTED} of each status. */
export async function countPinnedRuns(
  executor: Executor,
  tenantId: string,
): Promise<{ readonly pins: readonly PinnedRuns[]; readonly complete: boolean }> {
  const found = await executor.run(PINNED, [tenantId, MOST_COUNTED]);
  const [first] = found;
  return {
    complete: first === undefined || rows(first).number("looked") < MOST_COUNTED,
    pins: found.map((row) => {
      const r = rows(row);
      return {
        name: r.text("workflow_name"),
        version: r.number("workflow_version"),
        digest: r.text("workflow_digest"),
        runs: r.number("runs"),
        oldestAt: r.date("oldest_at"),
        released: r.boolean("released"),
      };
    }),
  };
}
