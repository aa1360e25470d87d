import { MAX_MISSES, attentionText, sqlStates } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { raiseAttention } from "../hops/settlements.ts";
import { writeStatement } from "../sql/statement.ts";
import { FINAL_ATTEMPT } from "./attempt.ts";

/** $4 and $5: how it is told; $6: misses that ask for a person. What of the run's jobs asks for a person now: one of which nobody knows, else one whose service contradicts itself. */
const CALM = writeStatement(
  "attempts.calm",
  `
with asks as materialized (
  (select format($4::text, a.name, t.service, coalesce(t.uncertain_reason, t.trouble)) as reason, 1 as rank
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2
    and (t.status = 'UNCERTAIN' or t.status not in (${sqlStates(FINAL_ATTEMPT)}) and t.misses >= $6)
  order by t.created_at, t.attempt_id
  limit 1)
  union all
  (select format($5::text, a.name, t.service, t.contradiction), 2
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2 and t.contradiction is not null
  order by t.created_at, t.attempt_id
  limit 1)
), reason as (
  select (select left(asks.reason, 1000) from asks order by asks.rank limit 1) as reason
)
update ghouls.runs run
set attention_reason = reason.reason,
  attention_at = case when reason.reason is not null then coalesce(run.attention_at, ghouls.clock()) end
from reason
where run.tenant_id = $1 and run.run_id = $2 and starts_with(run.attention_reason, $3)
returning run.run_id`,
);

/** Asks for a person because of a job of which nobody knows. Its run is locked. */
export async function askAboutJob(executor: Executor, run: RunKey, reason: string): Promise<void> {
  await raiseAttention(executor, run, attentionText("attempt_uncertain", reason));
}

/** Takes that back, or names what else asks, where that job is known again. Its run is locked. */
export async function calmIfKnown(executor: Executor, { tenantId, runId }: RunKey): Promise<void> {
  await executor.run(CALM, [
    tenantId,
    runId,
    attentionText("attempt_uncertain", "").trimEnd(),
    attentionText("attempt_uncertain", 'nobody knows of the job "%s" at %s: %s'),
    attentionText("attempt_contradicted", 'of the job "%s" at %s: %s'),
    MAX_MISSES,
  ]);
}

/** The attention of a job's contradiction. */
export function contradicted(job: string): string {
  return attentionText("attempt_contradicted", job);
}
