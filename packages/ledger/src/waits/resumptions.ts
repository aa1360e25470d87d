import {
  afterExpiry,
  closingsOf,
  MAX_JOURNAL_BYTES,
  ON_EXPIRY,
  sha256,
  sqlStates,
  type ArmClosing,
  type ArmFact,
  type ArmOwner,
  type AttemptStatus,
  type ConsentStatus,
  type Decision,
  type RunStatus,
} from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { lockRuns, type RunKey } from "../containment/endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** The states of a run that stands in a durable wait. */
export const PARKED_STATES: readonly RunStatus[] = [
  "AWAITING_CONSENT",
  "AWAITING_DELEGATE",
  "AWAITING_CHILD",
  "AWAITING_SIGNAL",
  "AWAITING_TIMER",
];

const EXPIRED_AS = ON_EXPIRY.map((word) => `when '${word}' then '${afterExpiry(word)}'`).join(" ");

/** Consents whose time is over, whether or not a pass has seen it. The run is locked. */
const EXPIRE = writeStatement(
  "consents.expire",
  `
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${EXPIRED_AS} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`,
);

/** What has happened to the owners of a run's open arms, in the order in which it happened. */
const FACTS = readStatement(
  "arms.facts",
  `
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals,
  t.attempt_id, t.status as attempt_status, t.report_text, t.report_digest,
  coalesce(t.cancel_reason = 'deadline', false) as attempt_overdue, child.run_id as child_run_id, child.status as child_status,
  case child.status when 'DONE' then child.output_text when 'FAILED' then child.error_text end as child_text,
  case child.status when 'DONE' then child.output_digest when 'FAILED' then child.error_digest end as child_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, t.closed_at, child.finished_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`,
);

/** One arm closes: its result is journaled, and its signal consumed. The run is locked, and nobody else writes its journal. */
const CLOSE = writeStatement(
  "arms.close",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id, run.journal_bytes
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed,
  coalesce((select counted.journal_bytes from counted), 0) as journal_bytes
from closed`,
);

/** The run goes on: its wait closes, and the next delivery is made. Zero rows where it does not stand in a wait. */
const RESUME = writeStatement(
  "runs.resume",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${sqlStates(PARKED_STATES)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`,
);

const RUN_OF_ARM = readStatement(
  "arms.run-of-arm",
  `
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`,
);

/** Arms whose time is over, of runs that stand in a wait. */
const DUE = dueStatements(
  "arms.due",
  { time: "a.due_at", id: "a.run_id", owner: "a.run_id", column: "run_id" },
  (due) => `
select a.tenant_id, a.run_id, a.arm_id, run.status, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${microsOf("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at is not null and run.status in (${sqlStates(PARKED_STATES)})
  and run.quarantined_at is null and ${due}`,
);

/** The delivery that brings a run back. */
export interface Resumption extends RunKey {
  readonly enqueueSeq: number;
  readonly queue: string;
}

/** A run with an arm whose time is over. */
export interface DueArm extends RunKey {
  readonly armId: string;
  readonly runStatus: RunStatus;
  /** Seconds since its time was over. */
  readonly lateSeconds: number;
}

/** Which open arms of a locked run close by what has happened; expires its consents whose time is over. */
export async function readClosings(executor: Executor, key: RunKey): Promise<ArmClosing[]> {
  await executor.run(EXPIRE, [key.tenantId, key.runId]);
  const found = await executor.run(FACTS, [key.tenantId, key.runId]);
  return closingsOf(found.map(factOf));
}

/**
 * Closes arms of a locked run; `seq` is the delivery under which it waits, or is about to. What brings its journal above
 * the cap is the last: the next hop ends the run by that, and until then the others stay open with their facts.
 */
export async function closeArms(
  executor: Executor,
  key: RunKey,
  seq: number,
  closings: readonly ArmClosing[],
): Promise<void> {
  for (const { armId, resultText, signalId } of closings) {
    const [closed] = await executor.run(CLOSE, [
      key.tenantId,
      key.runId,
      seq,
      armId,
      signalId ?? null,
      resultText,
      resultText === null ? null : sha256(resultText),
      resultText === null ? 0 : Buffer.byteLength(resultText),
    ]);
    if (closed !== undefined && rows(closed).number("journal_bytes") > MAX_JOURNAL_BYTES) return;
  }
}

/**
 * Brings a parked run back where something that it waits for has happened (design.md §3, Resume): closes these arms and
 * the wait, and makes the next delivery. The run is locked by the transaction. Null where there is nothing to do: then the
 * fact is kept, and the next park or the end of a quarantine finds it.
 */
export async function resumeIfClosed(
  executor: Executor,
  key: RunKey,
  publisherGraceSeconds: number,
): Promise<Resumption | null> {
  const closings = await readClosings(executor, key);
  const [first] = closings;
  if (first === undefined) return null;
  const [row] = await executor.run(RESUME, [key.tenantId, key.runId, first.armId, publisherGraceSeconds]);
  if (row === undefined) return null;
  const r = rows(row);
  await closeArms(executor, key, r.number("parked_seq"), closings);
  const { tenantId, runId } = key;
  return { tenantId, runId, enqueueSeq: r.number("enqueue_seq"), queue: r.text("queue") };
}

/** The same in a transaction of its own: what a timer, a pass or a message of one does. */
export async function resumeRun(
  database: Database,
  key: RunKey,
  publisherGraceSeconds: number,
  repair?: RepairNote,
): Promise<Resumption | null> {
  return database.transaction("runs.resume", async (transaction) => {
    if ((await lockRuns(transaction, [key])).size === 0) return null;
    const resumption = await resumeIfClosed(transaction, key, publisherGraceSeconds);
    if (resumption !== null && repair !== undefined)
      await recordRepair(transaction, key, { ...repair, after: resumedAs(resumption) });
    return resumption;
  });
}

/** What a row of repairs says of a run that was brought back. */
export function resumedAs({ enqueueSeq }: Resumption): string {
  return `QUEUED, delivery ${enqueueSeq}`;
}

/** The run that an arm belongs to, and when its time is over; null where there is no such arm. A system statement. */
export async function readRunOfArm(
  executor: Executor,
  armId: string,
): Promise<(RunKey & { readonly open: boolean; readonly dueInSeconds: number | null }) | null> {
  const [row] = await executor.run(RUN_OF_ARM, [armId]);
  if (row === undefined) return null;
  const r = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    open: r.boolean("open"),
    dueInSeconds: r.numberOrNull("due_in"),
  };
}

/** Arms whose time is over, the longest first. Their owners are their runs. Spans tenants. */
export async function readDueArms(executor: Executor, look: DueLook): Promise<PassPage<DueArm>> {
  const found = await runDue(executor, DUE, look);
  return pageOf(found, look.limit, (row) => {
    const r = rows(row);
    return {
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      armId: r.text("arm_id"),
      runStatus: r.text("status") as RunStatus,
      lateSeconds: r.number("late"),
    };
  });
}

/** With its time, which comes in milliseconds, as ISO 8601. */
function dated<T extends { readonly at: string }>(text: string): T[] {
  const found = JSON.parse(text) as (Omit<T, "at"> & { readonly at: number })[];
  return found.map((one) => ({ ...one, at: new Date(one.at).toISOString() }) as unknown as T);
}

function factOf(row: Record<string, unknown>): ArmFact {
  const r = rows(row);
  const consentId = r.textOrNull("consent_id");
  const attemptId = r.textOrNull("attempt_id");
  const signals = r.textOrNull("signals");
  const childRunId = r.textOrNull("child_run_id");
  return {
    armId: r.text("arm_id"),
    owner: r.text("owner") as ArmOwner,
    due: r.boolean("due"),
    retry: r.text("kind") === "step",
    ...(consentId === null
      ? {}
      : {
          consent: {
            consentId,
            status: r.text("status") as ConsentStatus,
            closedBy: r.textOrNull("closed_by"),
            decisions: dated<Decision>(r.textOrNull("decisions") ?? "[]"),
          },
        }),
    ...(attemptId === null
      ? {}
      : {
          attempt: {
            attemptId,
            status: r.text("attempt_status") as AttemptStatus,
            overdue: r.boolean("attempt_overdue"),
            report: r.textOrNull("report_text"),
            digest: r.textOrNull("report_digest"),
          },
        }),
    ...(childRunId === null
      ? {}
      : {
          child: {
            runId: childRunId,
            status: r.text("child_status") as RunStatus,
            text: r.textOrNull("child_text"),
            digest: r.textOrNull("child_digest"),
          },
        }),
    ...(signals === null ? {} : { signals: dated<NonNullable<ArmFact["signals"]>[number]>(signals) }),
  };
}
