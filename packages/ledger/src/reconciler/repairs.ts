import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { writeStatement } from "../sql/statement.ts";

const RECORD = writeStatement(
  "repairs.record",
  `
insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
select q.tenant_id, q.run_id, gen_random_uuid(), q.pass, q.rule, q.before_state, q.after_state, ghouls.clock()
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
  as q(tenant_id, run_id, pass, rule, before_state, after_state)`,
);

/** One repair of the reconciler. States are for people: statuses, numbers and names, no payloads. */
export interface Repair {
  readonly pass: string;
  /** What was found, and what is done about it, such as "timer due: resume". */
  readonly rule: string;
  readonly before: string;
  readonly after: string;
}

/** What a pass has found; what comes of it, the commit knows. */
export type RepairNote = Omit<Repair, "after">;

/** Longest text that is kept of a state, in UTF-16 units. */
export const MAX_STATE = 300;

/** In the transaction that carries the repair out, so that there is one row for each, whoever dies when. */
export async function recordRepair(executor: Executor, key: RunKey, repair: Repair): Promise<void> {
  await recordRepairs(executor, [key], () => repair);
}

/** The same for many; nothing for those of which `repairOf` says nothing. */
export async function recordRepairs<T extends RunKey>(
  executor: Executor,
  done: readonly T[],
  repairOf: (one: T) => Repair | undefined,
): Promise<void> {
  const found = done.flatMap((one) => {
    const repair = repairOf(one);
    return repair === undefined ? [] : [{ ...repair, tenantId: one.tenantId, runId: one.runId }];
  });
  if (found.length === 0) return;
  await executor.run(RECORD, [
    found.map(({ tenantId }) => tenantId),
    found.map(({ runId }) => runId),
    found.map(({ pass }) => pass),
    found.map(({ rule }) => rule),
    found.map(({ before }) => before.slice(0, MAX_STATE)),
    found.map(({ after }) => after.slice(0, MAX_STATE)),
  ]);
}
