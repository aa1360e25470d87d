import { ENDING_RUN, OPEN_RUN, sqlStates, type RunStatus, type WorkflowPin } from "@ghouls/core";
import type { Executor } from "./connection/database.ts";
import { rows } from "./sql/rows.ts";
import { withoutRelease } from "./releases/released.ts";
import { readStatement } from "./sql/statement.ts";

const OPEN_OF_PINS = readStatement(
  "runs.open-of-pins",
  `
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${sqlStates(OPEN_RUN)})
  and (run.workflow_name, run.workflow_version, run.workflow_digest) in (
    select q.name, q.version, q.digest
    from unnest($2::text[], $3::integer[], $4::text[]) as q(name, version, digest))
group by run.workflow_name, run.workflow_version, run.workflow_digest`,
);

/**
 * How many runs of a tenant that have not ended are pinned to each of these; those without any are missing. For whoever
 * works on a workflow: it looks at every open run of the tenant, and no index is kept for it.
 */
export async function countOpenRunsOfPins(
  executor: Executor,
  tenantId: string,
  pins: readonly WorkflowPin[],
): Promise<readonly (WorkflowPin & { readonly runs: number })[]> {
  if (pins.length === 0) return [];
  const found = await executor.run(OPEN_OF_PINS, [tenantId, ...columnsOf(pins)]);
  return found.map((row) => ({ ...pinOf(row), runs: rows(row).number("runs") }));
}

/** What is open is found first, so that no plan goes through all runs in their order instead. */
const STRANDED = readStatement(
  "runs.stranded",
  `
with stranded as materialized (
  select run.run_id, run.status, run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.status in (${sqlStates(OPEN_RUN.filter((status) => !ENDING_RUN.includes(status)))})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($2::text[], $3::text[]) as q(name, digest))
    and ${withoutRelease("run")}
)
select s.run_id, s.status, s.workflow_name, s.workflow_version, s.workflow_digest, count(*) over ()::integer as runs
from stranded s
order by s.created_at desc, s.run_id desc
limit $4`,
);

/** A run that would go on, if somebody had its code. */
export interface StrandedRun {
  readonly runId: string;
  readonly status: RunStatus;
  readonly workflow: WorkflowPin;
}

/**
 * The newest runs of a tenant that would go on, and are pinned to none of these digests, whatever their version, nor to one with a
 * release; and how many there are in all. It looks at every open run of the tenant, as {@link countOpenRunsOfPins} does.
 */
export async function readStrandedRuns(
  executor: Executor,
  tenantId: string,
  carried: readonly Pick<WorkflowPin, "name" | "digest">[],
  limit: number,
): Promise<{ readonly runs: readonly StrandedRun[]; readonly count: number }> {
  const found = await executor.run(STRANDED, [
    tenantId,
    carried.map(({ name }) => name),
    carried.map(({ digest }) => digest),
    limit,
  ]);
  const [first] = found;
  return {
    runs: found.map((row) => ({
      runId: rows(row).text("run_id"),
      status: rows(row).text("status") as RunStatus,
      workflow: pinOf(row),
    })),
    count: first === undefined ? 0 : rows(first).number("runs"),
  };
}

function columnsOf(pins: readonly WorkflowPin[]) {
  return [pins.map((pin) => pin.name), pins.map((pin) => pin.version), pins.map((pin) => pin.digest)];
}

function pinOf(row: Parameters<typeof rows>[0]): WorkflowPin {
  const r = rows(row);
  return {
    name: r.text("workflow_name"),
    version: r.number("workflow_version"),
    digest: r.text("workflow_digest"),
  };
}
