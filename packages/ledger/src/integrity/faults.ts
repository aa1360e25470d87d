import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

/** A contradiction that a judgement has found. */
export interface FoundFault {
  /** Which check has found it, such as "terminal evidence agrees with its run". */
  readonly check: string;
  /** Null where it belongs to the deployment. */
  readonly tenantId: string | null;
  readonly runId: string | null;
  /** What tells it from others of its check: a run id, a workflow pin. */
  readonly subject: string;
  /** For people; ids, codes and digests only. */
  readonly detail: string;
  /** Who has looked: "evidence", "preflight", "doctor". */
  readonly foundBy: string;
}

/** Sorted by their key, so that two that note the same do not wait for each other in a ring. */
const NOTE = writeStatement(
  "integrity.note",
  `
with wanted as materialized (
  select distinct on (q.check_name, coalesce(q.tenant_id, ''), q.subject) q.*
  from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[])
    as q(tenant_id, check_name, run_id, subject, detail, found_by)
  order by q.check_name, coalesce(q.tenant_id, ''), q.subject
)
insert into ghouls.integrity_faults as fault (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at)
select gen_random_uuid(), w.check_name, w.tenant_id, w.run_id, w.subject, w.detail, ghouls.clock(), w.found_by, ghouls.clock()
from wanted w
order by w.check_name, coalesce(w.tenant_id, ''), w.subject
on conflict (check_name, coalesce(tenant_id, ''), subject) where gone_at is null
  do update set seen_at = ghouls.clock(), detail = excluded.detail
returning fault.fault_id, fault.found_at = fault.seen_at as is_new`,
);

/**
 * Keeps what was found. One that stands already is seen again: it stays acknowledged where somebody has acknowledged it.
 * Answers how many are new.
 */
export async function noteFaults(executor: Executor, faults: readonly FoundFault[]): Promise<number> {
  if (faults.length === 0) return 0;
  const found = await executor.run(NOTE, [
    faults.map((fault) => fault.tenantId),
    faults.map((fault) => fault.check),
    faults.map((fault) => fault.runId),
    faults.map((fault) => fault.subject),
    faults.map((fault) => fault.detail.slice(0, 1_000)),
    faults.map((fault) => fault.foundBy),
  ]);
  return found.filter((row) => rows(row).boolean("is_new")).length;
}
