import { isTerminalRun, sqlStates, statesOf, type WorkflowPin } from "@ghouls/core";
import type { Executor } from "./database.ts";
import { rows } from "./rows.ts";
import { readStatement } from "./statement.ts";

const OPEN = sqlStates(statesOf("run").filter((status) => !isTerminalRun(status)));

const OPEN_OF_PINS = readStatement(
  "runs.open-of-pins",
  `
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${OPEN})
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
  const found = await executor.run(OPEN_OF_PINS, [
    tenantId,
    pins.map((pin) => pin.name),
    pins.map((pin) => pin.version),
    pins.map((pin) => pin.digest),
  ]);
  return found.map((row) => ({
    name: rows(row).text("workflow_name"),
    version: rows(row).number("workflow_version"),
    digest: rows(row).text("workflow_digest"),
    runs: rows(row).number("runs"),
  }));
}
