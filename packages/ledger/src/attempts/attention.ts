import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { raiseAttention } from "../hops/settlements.ts";
import { writeStatement } from "../sql/statement.ts";

/** With it begins the attention that is asked for jobs of which nobody knows. */
const UNCERTAIN = "attempt_uncertain:";

/** The word of the run that was raised for attempts, once none of it is UNCERTAIN. */
const CALM = writeStatement(
  "attempts.calm",
  `
update ghouls.runs run
set attention_reason = null, attention_at = null
where run.tenant_id = $1 and run.run_id = $2 and starts_with(run.attention_reason, $3)
  and not exists (
    select from ghouls.attempts t
    where t.tenant_id = run.tenant_id and t.run_id = run.run_id and t.status = 'UNCERTAIN')
returning run.run_id`,
);

/** Asks for a person because of a job of which nobody knows. */
export async function askAboutJob(executor: Executor, run: RunKey, reason: string): Promise<void> {
  await raiseAttention(executor, run, `${UNCERTAIN} ${reason}`.slice(0, 1_000));
}

/** Takes that back, where somebody knows of all jobs of the run again. Its run is locked. */
export async function calmIfKnown(executor: Executor, { tenantId, runId }: RunKey): Promise<void> {
  await executor.run(CALM, [tenantId, runId, UNCERTAIN]);
}
