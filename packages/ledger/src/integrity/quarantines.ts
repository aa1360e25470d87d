import { OPEN_RUN, sqlStates } from "@ghouls/core";
import { lockRuns } from "../containment/endings.ts";
import type { Database } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const PAGE = 100;

const TO_QUARANTINE = readStatement(
  "integrity.to-quarantine",
  `
select f.fault_id, f.tenant_id, f.run_id
from ghouls.integrity_faults f
where f.gone_at is null and f.quarantine is null and f.run_id is not null
order by f.run_id, f.fault_id
limit $1`,
);

/** The second statement of its transaction: the runs are locked. A run in quarantine keeps its first reason. */
const QUARANTINE = writeStatement(
  "integrity.quarantine",
  `
with fault as materialized (
  select f.fault_id, f.tenant_id, f.run_id, f.check_name
  from ghouls.integrity_faults f
  where f.fault_id = any($1::uuid[]) and f.gone_at is null and f.quarantine is null
  order by f.fault_id
  for update
), held as materialized (
  select run.tenant_id, run.run_id, run.status in (${sqlStates(OPEN_RUN)}) as is_open, run.quarantined_at is not null as quarantined,
    (select min(fault.check_name) from fault where fault.tenant_id = run.tenant_id and fault.run_id = run.run_id) as reason
  from ghouls.runs run
  where (run.tenant_id, run.run_id) in (select fault.tenant_id, fault.run_id from fault)
), made as (
  update ghouls.runs run
  set quarantine_reason = $2::text || held.reason, quarantined_at = ghouls.clock()
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.is_open and not held.quarantined
  returning run.tenant_id, run.run_id
), said as (
  update ghouls.integrity_faults f
  set quarantine = case
    when made.run_id is not null then 'made'
    when held.run_id is null then 'absent'
    when held.is_open then 'standing'
    else 'ended' end
  from fault
  left join held on held.tenant_id = fault.tenant_id and held.run_id = fault.run_id
  left join made on made.tenant_id = fault.tenant_id and made.run_id = fault.run_id
  where f.fault_id = fault.fault_id
  returning f.fault_id
)
select (select count(*) from made)::integer as made, (select count(*) from said)::integer as said`,
);

/**
 * Quarantines the runs of faults that nobody has looked at yet. Each fault is looked at once, so that what a person has
 * cleared stays cleared while the fault stands. A run that has ended is left as it is: nothing of it goes on, and its status
 * never moves. Answers how many it has quarantined.
 */
export async function quarantineFaulty(database: Database): Promise<number> {
  for (let made = 0; ;) {
    const found = (await database.run(TO_QUARANTINE, [PAGE])).map((row) => rows(row));
    if (found.length === 0) return made;
    made += await database.transaction("integrity.quarantine", async (transaction) => {
      await lockRuns(
        transaction,
        found.map((row) => ({ tenantId: row.text("tenant_id"), runId: row.text("run_id") })),
      );
      const [row] = await transaction.run(QUARANTINE, [
        found.map((one) => one.text("fault_id")),
        "integrity: ",
      ]);
      return rows(row ?? {}).number("made");
    });
  }
}
