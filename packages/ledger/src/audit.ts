import type { Executor } from "./connection/database.ts";
import type { RunKey } from "./containment/endings.ts";
import { writeStatement } from "./sql/statement.ts";

const AUDIT = writeStatement(
  "audit.record",
  `
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

/** One act of an operator, in the transaction that carries it out. */
export interface AuditWord {
  readonly actor: string;
  readonly act: string;
  readonly subject: string;
  readonly reason: string;
}

export async function recordAudit(executor: Executor, key: RunKey, word: AuditWord): Promise<void> {
  await executor.run(AUDIT, [key.tenantId, key.runId, word.actor, word.act, word.subject, word.reason]);
}
