import type { Database, Executor, Row } from "../connection/database.ts";
import { lockRuns, type RunKey } from "../containment/endings.ts";
import { noteFaults, type FoundFault } from "../integrity/faults.ts";
import { recordRepair } from "../reconciler/repairs.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** The check that a run's terminal record is what its rows say. */
export const RECORD_CHECK = "terminal evidence agrees with its run";

/** What is found of a terminal record. */
export interface Judged extends RunKey {
  /** Null: it agrees. Otherwise what is wrong, for people. */
  readonly fault: string | null;
  /** There is none. */
  readonly missing: boolean;
  /** The digest that is kept with it; null where there is none. */
  readonly digest: string | null;
  /** Whether its run is there, and has ended. */
  readonly ended: boolean;
}

/** The text of a run is made once, and of a run at a time: of a long journal it takes a while. */
const JUDGE = readStatement(
  "evidence.judge-records",
  `
select x.tenant_id, x.run_id, now.said is not null as ended, record.run_id is null as missing, record.record_digest,
  ghouls.text_digest(record.record_text) = record.record_digest as intact, record.record_text = now.said as agrees
from unnest($1::text[], $2::uuid[]) as x(tenant_id, run_id)
cross join lateral (select ghouls.terminal_text(x.tenant_id, x.run_id) as said offset 0) as now
left join ghouls.terminal_records record on record.tenant_id = x.tenant_id and record.run_id = x.run_id
order by x.tenant_id, x.run_id`,
);

/** The fault says that its run is in quarantine for it: whoever acknowledges it is told what ends that. */
const QUARANTINE = writeStatement(
  "evidence.quarantine",
  `
with made as (
  update ghouls.runs run
  set quarantine_reason = $3, quarantined_at = ghouls.clock()
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is null and run.finished_at is not null
  returning run.tenant_id, run.run_id
), said as (
  update ghouls.integrity_faults fault
  set quarantine = 'made'
  from made
  where fault.check_name = $4 and coalesce(fault.tenant_id, '') = made.tenant_id and fault.subject = made.run_id::text and fault.gone_at is null
  returning fault.fault_id
)
select made.run_id from made where (select count(*) from said) >= 0`,
);

/** A run that is in doubt makes room for those that are not: it is looked at again, and by itself. */
const DOUBT = writeStatement(
  "evidence.doubt",
  `
with taken as (
  delete from ghouls.end_acts e
  where e.tenant_id = $1 and e.run_id = $2 and e.act = 'seal'
  returning e.tenant_id, e.run_id, e.ended_at
)
insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select taken.tenant_id, taken.run_id, 'doubt', taken.ended_at, ghouls.clock() + interval '1 hour'
from taken
on conflict (tenant_id, run_id, act) do nothing
returning run_id`,
);

const DOUBT_LATER = writeStatement(
  "evidence.doubt-later",
  `
update ghouls.end_acts e
set due_at = ghouls.clock() + interval '1 hour'
where e.tenant_id = $1 and e.run_id = $2 and e.act = 'doubt'
returning e.run_id`,
);

const BELIEVE = writeStatement(
  "evidence.believe",
  `
with taken as (
  delete from ghouls.end_acts e
  where e.tenant_id = $1 and e.run_id = $2 and e.act = 'doubt'
  returning e.tenant_id, e.run_id, e.ended_at
)
insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select taken.tenant_id, taken.run_id, 'seal', taken.ended_at, ghouls.clock()
from taken
on conflict (tenant_id, run_id, act) do nothing
returning run_id`,
);

const FAULTS_GONE = writeStatement(
  "evidence.faults-gone",
  `
update ghouls.integrity_faults fault
set gone_at = ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[]) as q(tenant_id, check_name, subject)
where fault.check_name = q.check_name and coalesce(fault.tenant_id, '') = q.tenant_id and fault.subject = q.subject
  and fault.gone_at is null
returning fault.fault_id`,
);

/**
 * What of the terminal records of these runs is wrong, in one statement: of many, or of runs that may be long, take
 * {@link sliceRecords}. Reads only.
 */
export async function judgeRecords(executor: Executor, keys: readonly RunKey[]): Promise<Judged[]> {
  if (keys.length === 0) return [];
  const found = await executor.run(JUDGE, [keys.map((key) => key.tenantId), keys.map((key) => key.runId)]);
  return found.map(judgedOf);
}

function judgedOf(row: Row): Judged {
  const r = rows(row);
  const [ended, missing] = [r.boolean("ended"), r.boolean("missing")];
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    missing,
    digest: r.textOrNull("record_digest"),
    ended,
    fault: faultOf(ended, missing, row["intact"] === true, row["agrees"] === true),
  };
}

function faultOf(ended: boolean, missing: boolean, intact: boolean, agrees: boolean): string | null {
  if (!ended) return "its run is not there, or has not ended";
  if (missing) return "its terminal record is missing";
  if (!intact) return "its terminal record was altered: its text disagrees with its digest";
  return agrees ? null : "its terminal record says other things than its rows";
}

/**
 * Keeps that a run's evidence is wrong, and quarantines the run where that is news: an operator's clear is not overruled by
 * the next look at the same fault. The record is left as it is. True where it is new.
 */
export async function noteBadRecord(
  database: Database,
  key: RunKey,
  detail: string,
  foundBy: string,
  check: string = RECORD_CHECK,
): Promise<boolean> {
  return database.transaction("evidence.note", async (transaction) => {
    await lockRuns(transaction, [key]);
    return note(transaction, key, detail, foundBy, check);
  });
}

async function note(
  executor: Executor,
  key: RunKey,
  detail: string,
  foundBy: string,
  check: string,
): Promise<boolean> {
  const fault: FoundFault = { check, ...key, subject: key.runId, detail, foundBy };
  if ((await noteFaults(executor, [fault])) === 0) return false;
  const quarantined = await executor.run(QUARANTINE, [key.tenantId, key.runId, `evidence: ${detail}`, check]);
  if (quarantined.length === 1) {
    const rule = "evidence disagrees: quarantine";
    await recordRepair(executor, key, { pass: "seals", rule, before: detail, after: "quarantined" });
  }
  return true;
}

/** What became of a run whose evidence was looked at by itself. */
export type Doubt = "agrees" | "in doubt";

/**
 * Looks at an unsealed run again under its lock: one that disagrees leaves the queue of its tenant, so that it holds up no
 * other; one that agrees again comes back into it. A record that is missing is written: nothing was sealed of it.
 */
export async function settleDoubt(
  database: Database,
  key: RunKey,
  foundBy: string,
): Promise<{ readonly kind: Doubt; readonly isNew: boolean; readonly detail: string | null }> {
  return database.transaction("evidence.settle-doubt", async (transaction) => {
    await lockRuns(transaction, [key]);
    const [judged] = await judgeRecords(transaction, [key]);
    const fault = judged?.fault ?? null;
    if (fault === null) {
      await faultsGone(transaction, RECORD_CHECK, [{ tenantId: key.tenantId, subject: key.runId }]);
      await transaction.run(BELIEVE, [key.tenantId, key.runId]);
      return { kind: "agrees", isNew: false, detail: null };
    }
    const isNew = await note(transaction, key, fault, foundBy, RECORD_CHECK);
    await transaction.run(DOUBT, [key.tenantId, key.runId]);
    await transaction.run(DOUBT_LATER, [key.tenantId, key.runId]);
    return { kind: "in doubt", isNew, detail: fault };
  });
}

/** Says that faults of these subjects are gone, where any stands. */
export async function faultsGone(
  executor: Executor,
  check: string,
  subjects: readonly { readonly tenantId: string; readonly subject: string }[],
): Promise<number> {
  if (subjects.length === 0) return 0;
  const found = await executor.run(FAULTS_GONE, [
    subjects.map(({ tenantId }) => tenantId),
    subjects.map(() => check),
    subjects.map(({ subject }) => subject),
  ]);
  return found.length;
}
