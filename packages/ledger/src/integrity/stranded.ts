import { GOING_ON_RUN, STRANDED_CHECK, sqlStates, type WorkflowPin } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { withoutRelease } from "../releases/released.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

/** How many runs of each pin are named. */
const NAMED = 5;

/** One fault for each pin, of the deployment; those of pins that are carried, or have no such run any more, are gone. */
const JUDGE = writeStatement(
  "integrity.judge-stranded",
  `
with stranded as materialized (
  select run.workflow_name, run.workflow_version, run.workflow_digest, run.run_id,
    row_number() over (partition by run.workflow_name, run.workflow_version, run.workflow_digest order by run.created_at desc, run.run_id desc) as nth
  from ghouls.runs run
  where run.status in (${sqlStates(GOING_ON_RUN)})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($1::text[], $2::text[]) as q(name, digest))
    and ${withoutRelease("run")}
), pin as materialized (
  select format($4::text, s.workflow_name, s.workflow_version, s.workflow_digest) as subject,
    format($5::text, count(*), string_agg(s.run_id::text, $6::text order by s.nth) filter (where s.nth <= ${NAMED})) as detail
  from stranded s
  group by s.workflow_name, s.workflow_version, s.workflow_digest
), standing as materialized (
  select f.fault_id
  from ghouls.integrity_faults f
  where f.check_name = '${STRANDED_CHECK}' and f.gone_at is null and f.seen_at <= ghouls.clock()
    and not exists (select from pin where pin.subject = f.subject)
  order by f.fault_id
  for update
), gone as (
  update ghouls.integrity_faults f
  set gone_at = ghouls.clock()
  from standing
  where f.fault_id = standing.fault_id
  returning f.fault_id
), noted as (
  insert into ghouls.integrity_faults as fault (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at)
  select gen_random_uuid(), '${STRANDED_CHECK}', null, null, pin.subject, pin.detail, ghouls.clock(), $3::text, ghouls.clock()
  from pin
  where (select count(*) from gone) >= 0
  order by pin.subject
  on conflict (check_name, coalesce(tenant_id, ''), subject) where gone_at is null
    do update set seen_at = ghouls.clock(), detail = excluded.detail
  returning fault.found_at = fault.seen_at as is_new
)
select (select count(*) filter (where is_new) from noted)::integer as found, (select count(*) from gone)::integer as gone`,
);

/** Code that a build has, or says that it may carry on. */
export type Carried = Pick<WorkflowPin, "name" | "digest">;

/** Looks in every tenant for runs that would go on, and are pinned to none of these digests, nor to one with a release. */
export async function judgeStranded(
  executor: Executor,
  carried: readonly Carried[],
  by: string,
): Promise<{ readonly newFaults: number; readonly goneFaults: number }> {
  const [row] = await executor.run(JUDGE, [
    carried.map(({ name }) => name),
    carried.map(({ digest }) => digest),
    by,
    "%s@%s %s",
    "open runs: %s, such as %s",
    ", ",
  ]);
  const r = rows(row ?? {});
  return { newFaults: r.number("found"), goneFaults: r.number("gone") };
}
