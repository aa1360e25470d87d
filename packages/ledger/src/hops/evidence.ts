import type { Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { writeStatement } from "../sql/statement.ts";

const REJECT = writeStatement(
  "evidence.reject",
  `
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6,
  case when run.steps_emptied_at is null then $7::text end, $8, ghouls.clock()
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`,
);

/** A result that came after its claim was taken away: kept for people, part of nothing. */
export interface RejectedResult {
  /** The call, as people read it. */
  readonly call: string;
  readonly outcome: "ok" | "error";
  readonly bodyText: string | null;
  readonly bodyDigest: string | null;
}

export async function recordRejectedResult(
  executor: Executor,
  claim: Claim,
  result: RejectedResult,
): Promise<void> {
  const { call, outcome, bodyText, bodyDigest } = result;
  await executor.run(REJECT, [
    claim.tenantId,
    claim.runId,
    claim.seq,
    claim.token,
    call,
    outcome,
    bodyText,
    bodyDigest,
  ]);
}
