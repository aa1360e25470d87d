import type { Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";

const GIVEN_BACK = readStatement(
  "deliveries.given-back-before",
  `
select count(*)::integer as times
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq < $3::integer and d.seq >= $3::integer - $4::integer
  and d.outcome = 'given_back'`,
);

/** Whether each of the last deliveries before this claim's, as many as are asked for, was given back. */
export async function wereGivenBack(
  executor: Executor,
  { tenantId, runId, seq }: Claim,
  times: number,
): Promise<boolean> {
  const [row] = await executor.run(GIVEN_BACK, [tenantId, runId, seq, times]);
  return row !== undefined && rows(row).number("times") >= times;
}
