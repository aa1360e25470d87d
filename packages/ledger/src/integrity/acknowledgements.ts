import type { IntegrityFault } from "@ghouls/core";
import { recordAudit } from "../audit.ts";
import { lockRuns } from "../containment/endings.ts";
import type { Database, Executor } from "../connection/database.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { FAULT, faultOf } from "./fault.ts";

const BY_ID = readStatement(
  "integrity.by-id",
  `
select ${FAULT}
from ghouls.integrity_faults f
where f.fault_id = $1`,
);

const ACKNOWLEDGE = writeStatement(
  "integrity.acknowledge",
  `
update ghouls.integrity_faults f
set acknowledged_at = ghouls.clock(), acknowledged_by = $2, acknowledgement = $3
where f.fault_id = $1 and f.acknowledged_at is null and f.gone_at is null
returning ${FAULT}`,
);

/** A fault, whether it stands or is gone; null where there is none. */
export async function readFault(executor: Executor, faultId: string): Promise<IntegrityFault | null> {
  const [row] = await executor.run(BY_ID, [faultId]);
  return row === undefined ? null : faultOf(row);
}

export interface FaultAnswer {
  /** False where somebody was first, or it is gone: the fault says which. */
  readonly acknowledged: boolean;
  readonly fault: IntegrityFault;
}

/**
 * Somebody's word that they know of a fault, which then stops no start and no deploy while it stands. It repairs nothing, and
 * ends no quarantine. A run's fault leaves an audit row of its run. Null where there is no such fault.
 */
export async function acknowledgeFault(
  database: Database,
  faultId: string,
  word: { readonly actor: string; readonly reason: string },
): Promise<FaultAnswer | null> {
  const before = await readFault(database, faultId);
  if (before === null) return null;
  const { tenantId, runId } = before;
  const run = tenantId === null || runId === null ? null : { tenantId, runId };
  return database.transaction("integrity.acknowledge", async (transaction): Promise<FaultAnswer> => {
    if (run !== null) await lockRuns(transaction, [run]);
    const [row] = await transaction.run(ACKNOWLEDGE, [faultId, word.actor, word.reason]);
    if (row === undefined)
      return { acknowledged: false, fault: (await readFault(transaction, faultId)) ?? before };
    if (run !== null)
      await recordAudit(transaction, run, { ...word, act: "acknowledge", subject: `fault: ${before.check}` });
    return { acknowledged: true, fault: faultOf(row) };
  });
}
