import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { writeStatement } from "../sql/statement.ts";

const RECORD = writeStatement(
  "repairs.record",
  `
insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

/** One repair of the reconciler. States are for people: statuses, numbers and names, no payloads. */
export interface Repair {
  readonly pass: string;
  /** What was found, and what is done about it, such as "timer due: resume". */
  readonly rule: string;
  readonly before: string;
  readonly after: string;
}

/** In the transaction that carries the repair out, so that there is one row for each, whoever dies when. */
export async function recordRepair(executor: Executor, key: RunKey, repair: Repair): Promise<void> {
  const { pass, rule, before, after } = repair;
  await executor.run(RECORD, [
    key.tenantId,
    key.runId,
    pass,
    rule,
    before.slice(0, 300),
    after.slice(0, 300),
  ]);
}
