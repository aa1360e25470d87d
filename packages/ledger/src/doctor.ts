import { OPEN_DELIVERY, sqlStates, terminalStatesOf } from "@ghouls/core";
import type { Executor, Row } from "./database.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { readStatement, type Statement } from "./statement.ts";

/** One thing that must hold. `rows` are those that break it, at most a hundred. */
export interface DoctorCheck {
  readonly check: string;
  readonly ok: boolean;
  readonly rows: readonly Row[];
}

const TERMINAL = sqlStates(terminalStatesOf("run"));
const OPEN = sqlStates(OPEN_DELIVERY);

const check = (name: string, text: string): { check: string; statement: Statement } => ({
  check: name,
  statement: readStatement(`doctor.${name.replaceAll(" ", "-")}`, `${text}\nlimit 100`),
});

/** The invariants of design.md §4 as far as their tables exist. System statements: they span tenants. */
const CHECKS = [
  check(
    "open deliveries agree with their run",
    `
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in (${OPEN}) and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))))`,
  ),
  check(
    "working runs have an open delivery",
    `
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in (${OPEN}))`,
  ),
  check(
    "terminal runs have nothing open",
    `
select run.tenant_id, run.run_id, run.status, d.seq
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in (${OPEN}) and run.status in (${TERMINAL})`,
  ),
  check(
    "pending deliveries have a next publication",
    `
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null`,
  ),
  check(
    "journals are as long as their runs say",
    `
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in (${TERMINAL})
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length`,
  ),
  check(
    "no claim outlives its worker",
    `
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.worker_ended_at, d.worker_end, d.acts_until,
  case when d.worker_ended_at is not null then 'its worker has ended' else 'its invocation must be over' end as why
from ghouls.deliveries d
where d.status = 'CLAIMED' and (d.worker_ended_at is not null or d.acts_until < ghouls.clock())`,
  ),
  check(
    "no run is quarantined",
    `
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null`,
  ),
  check(
    "no open run asks for a person",
    `
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in (${TERMINAL})`,
  ),
] as const;

const VERSION = readStatement(
  "doctor.schema-version",
  "select coalesce(max(number), 0) as version from ghouls.migrations",
);

/** The number of the newest applied migration, and of the newest that this code knows. */
export async function readSchemaVersion(executor: Executor): Promise<{ applied: number; known: number }> {
  const [row] = await executor.run(VERSION, []);
  return { applied: Number(row?.["version"] ?? 0), known: MIGRATIONS.at(-1)?.number ?? 0 };
}

/** Evaluates every check, each in a statement of its own. */
export async function examine(executor: Executor): Promise<DoctorCheck[]> {
  const version = await readSchemaVersion(executor);
  const results: DoctorCheck[] = [
    {
      check: "the schema is up to date",
      ok: version.applied === version.known,
      rows: version.applied === version.known ? [] : [version],
    },
  ];
  for (const { check: name, statement } of CHECKS) {
    const found = await executor.run(statement, []);
    results.push({ check: name, ok: found.length === 0, rows: found });
  }
  return results;
}
