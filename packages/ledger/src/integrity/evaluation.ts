import type { Executor } from "../connection/database.ts";
import { CHECKS, type ViewCheck } from "../schema/doctor.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement, type Statement } from "../sql/statement.ts";

/**
 * Those whose view leaves out what is in quarantine: that proves nothing of a fault that was found before, while its run is
 * open. What they leave out does not concern one that has ended.
 */
const LEAVES_OUT_QUARANTINED: readonly string[] = [
  "doctor_pending_deliveries",
  "doctor_endings",
  "doctor_attempts",
  "doctor_children",
];

/** Too many units of a capacity in use are nobody's fault among those that hold them. */
const WHOSE = {
  run: { runId: "v.run_id", subject: "v.run_id::text" },
  reservation: {
    runId: "case when v.status is not null then v.run_id end",
    subject: "case when v.status is not null then v.run_id::text else 'capacity ' || v.capacity end",
  },
} as const;

/**
 * One statement judges one check, all of it: what breaks it is noted, a row for each run, and what stood of the same check and
 * is no longer among it is gone. Nothing is cut, so nothing is gone for having been behind a cut. What somebody else has seen
 * since this statement began stays.
 */
function judging({ view }: ViewCheck): Statement {
  const { runId, subject } = view === "doctor_reservations" ? WHOSE.reservation : WHOSE.run;
  const unmasked = LEAVES_OUT_QUARANTINED.includes(view)
    ? `
      and not exists (
        select from ghouls.runs run where run.tenant_id = f.tenant_id and run.run_id = f.run_id and run.quarantined_at is not null
          and run.finished_at is null)`
    : "";
  return writeStatement(
    `integrity.judge-${view.replace("doctor_", "").replaceAll("_", "-")}`,
    `
with broken as materialized (
  select v.tenant_id, ${runId} as run_id, ${subject} as subject,
    left(array_to_string((array_agg(v.detail order by v.detail))[1:5], $3::text) || case when count(*) > 5 then $4::text else '' end, 1000) as detail
  from (
    select one.*, (jsonb_strip_nulls(to_jsonb(one)) - array['tenant_id', 'run_id'])::text as detail
    from ghouls.${view} one
  ) v
  group by 1, 2, 3
), standing as materialized (
  select f.fault_id
  from ghouls.integrity_faults f
  where f.check_name = $2::text and f.gone_at is null and f.seen_at <= ghouls.clock() and not exists (
      select from broken b where b.tenant_id = f.tenant_id and b.subject = f.subject)${unmasked}
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
  select gen_random_uuid(), $2::text, b.tenant_id, b.run_id, b.subject, b.detail, ghouls.clock(), $1::text, ghouls.clock()
  from broken b
  where (select count(*) from gone) >= 0
  order by b.tenant_id, b.subject
  on conflict (check_name, coalesce(tenant_id, ''), subject) where gone_at is null
    do update set seen_at = ghouls.clock(), detail = excluded.detail
  returning fault.found_at = fault.seen_at as is_new
)
select (select count(*) filter (where is_new) from noted)::integer as found, (select count(*) from gone)::integer as gone`,
  );
}

const JUDGING = CHECKS.filter(({ kind }) => kind === "integrity").map((one) => ({
  check: one.check,
  statement: judging(one),
}));

export interface Evaluated {
  readonly checks: number;
  readonly newFaults: number;
  readonly goneFaults: number;
}

/** Evaluates every integrity check in a statement of its own, each of one moment, and keeps what it finds. */
export async function evaluateIntegrity(executor: Executor, by: string): Promise<Evaluated> {
  let [newFaults, goneFaults] = [0, 0];
  for (const { check, statement } of JUDGING) {
    const [row] = await executor.run(statement, [by, check, "; ", "; …"]);
    const r = rows(row ?? {});
    newFaults += r.number("found");
    goneFaults += r.number("gone");
  }
  return { checks: JUDGING.length, newFaults, goneFaults };
}
