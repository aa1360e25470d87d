import { GhoulsError } from "@ghouls/core";
import type {
  Attention,
  Delivery,
  DeliveryCause,
  DeliveryOutcome,
  DeliveryStatus,
  PauseWord,
  Run,
  RunStatus,
} from "@ghouls/core";
import type { Executor, Row } from "./connection/database.ts";
import { rows, type RowOf } from "./sql/rows.ts";
import { fencedWhy } from "./sql/fenced-why.ts";
import { readStatement } from "./sql/statement.ts";

/** What a list shows of a run. */
export const LISTED_RUN = `run.tenant_id, run.run_id, run.parent_run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.paused_by, run.pause_reason, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at, run.redrive_of, (
    select next.run_id from ghouls.runs next
    where next.tenant_id = run.tenant_id and next.redrive_of = run.run_id) as redriven_as, (
    select coalesce(jsonb_object_agg(label.key, label.value), jsonb_build_object())::text from ghouls.labels label
    where label.tenant_id = run.tenant_id and label.run_id = run.run_id) as labels`;

const GET = readStatement(
  "runs.get",
  `
select ${LISTED_RUN}, run.request_digest, run.input_text, run.input_digest,
  coalesce(run.input_stored_for, run.run_id) as input_stored_for, run.output_text, run.error_text,
  run.bodies_emptied_at
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

const PROGRESS = readStatement(
  "runs.progress",
  `
select run.status, run.enqueue_seq, run.journal_length, run.error_code, run.created_at, run.finished_at,
  ghouls.clock() as now
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`,
);

const DELIVERIES = readStatement(
  "deliveries.of-run",
  `
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at,
  ${fencedWhy("d", "run")} as fenced_why
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`,
);

/** A run with its bodies as stored. */
export interface StoredRun extends Run {
  readonly requestDigest: string;
  readonly inputText: string | null;
  /** Of that text. */
  readonly inputDigest: string;
  /** The run for which its input was stored: another where it redrives that one's work. */
  readonly inputStoredFor: string;
  readonly outputText: string | null;
  readonly errorText: string | null;
  /** When retention has emptied its bodies. */
  readonly bodiesEmptiedAt: Date | null;
}

export interface DeliveryRow extends Delivery {
  readonly fencedAt: Date | null;
  /** Such as "cancelled"; null where it is not fenced. */
  readonly fencedWhy: string | null;
}

/** One run of a tenant, or null. */
export async function readRun(
  executor: Executor,
  key: { tenantId: string; runId: string },
): Promise<StoredRun | null> {
  const [row] = await executor.run(GET, [key.tenantId, key.runId]);
  if (row === undefined) return null;
  const r = rows(row);
  return {
    ...runOf(r),
    requestDigest: r.text("request_digest"),
    inputText: r.textOrNull("input_text"),
    inputDigest: r.text("input_digest"),
    inputStoredFor: r.text("input_stored_for"),
    outputText: r.textOrNull("output_text"),
    errorText: r.textOrNull("error_text"),
    bodiesEmptiedAt: r.dateOrNull("bodies_emptied_at"),
  };
}

/** How far a run has come. */
export interface Progress {
  readonly status: RunStatus;
  readonly enqueueSeq: number;
  readonly journalLength: number;
  readonly errorCode: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** The ledger's time. */
  readonly now: Date;
}

/** How far one run of a tenant has come, or null. */
export async function readProgress(
  executor: Executor,
  key: { tenantId: string; runId: string },
): Promise<Progress | null> {
  const [row] = await executor.run(PROGRESS, [key.tenantId, key.runId]);
  if (row === undefined) return null;
  const r = rows(row);
  return {
    status: r.text("status") as RunStatus,
    enqueueSeq: r.number("enqueue_seq"),
    journalLength: r.number("journal_length"),
    errorCode: r.textOrNull("error_code"),
    createdAt: r.date("created_at"),
    finishedAt: r.dateOrNull("finished_at"),
    now: r.date("now"),
  };
}

// Later than any run; the year 5138 in microseconds.
export const START: [string, string] = ["100000000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];

export function cursorOf(row: Row): string {
  return `${rows(row).text("created_micros")}.${rows(row).text("run_id")}`;
}

export function parseCursor(cursor: string): [string, string] {
  const match = /^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(cursor);
  if (match === null) {
    throw new GhoulsError("invalid_request", "this cursor is not one of ours", {
      fix: "Pass nextCursor of the page before unchanged, or leave it out for the first page.",
    });
  }
  return [match[1] as string, match[2] as string];
}

/** All deliveries of a run in their order. */
export async function readDeliveries(
  executor: Executor,
  key: { tenantId: string; runId: string },
): Promise<DeliveryRow[]> {
  const found = await executor.run(DELIVERIES, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      seq: r.number("seq"),
      cause: r.text("cause") as DeliveryCause,
      status: r.text("status") as DeliveryStatus,
      outcome: r.textOrNull("outcome") as DeliveryOutcome | null,
      dueAt: r.date("due_at"),
      createdAt: r.date("created_at"),
      publishedAt: r.dateOrNull("published_at"),
      publications: r.number("publications"),
      claimedAt: r.dateOrNull("claimed_at"),
      claimedBy: r.textOrNull("claimed_by"),
      leaseUntil: r.dateOrNull("lease_until"),
      workerEndedAt: r.dateOrNull("worker_ended_at"),
      workerEnd: r.textOrNull("worker_end"),
      settledAt: r.dateOrNull("settled_at"),
      fencedAt: r.dateOrNull("fenced_at"),
      fencedWhy: r.textOrNull("fenced_why"),
      holdExpiresAt: r.dateOrNull("hold_expires_at"),
    };
  });
}

export function runOf(r: RowOf): Run {
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    parentRunId: r.textOrNull("parent_run_id"),
    redriveOf: r.textOrNull("redrive_of"),
    redrivenAs: r.textOrNull("redriven_as"),
    idempotencyKey: r.textOrNull("idempotency_key"),
    workflow: {
      name: r.text("workflow_name"),
      version: r.number("workflow_version"),
      digest: r.text("workflow_digest"),
    },
    queue: r.text("queue"),
    priority: r.number("priority"),
    agent: r.textOrNull("agent"),
    labels: JSON.parse(r.text("labels")) as Record<string, string>,
    requestedBy: r.text("requested_by"),
    status: r.text("status") as RunStatus,
    enqueueSeq: r.number("enqueue_seq"),
    journalLength: r.number("journal_length"),
    errorCode: r.textOrNull("error_code"),
    attention: flag(r, "attention_reason", "attention_at"),
    quarantine: flag(r, "quarantine_reason", "quarantined_at"),
    pause: pauseOf(r),
    deadlineAt: r.dateOrNull("deadline_at"),
    createdAt: r.date("created_at"),
    startsAt: r.dateOrNull("starts_at"),
    startedAt: r.dateOrNull("started_at"),
    finishedAt: r.dateOrNull("finished_at"),
  };
}

function flag(r: RowOf, reason: string, at: string): Attention | null {
  const text = r.textOrNull(reason);
  const when = r.dateOrNull(at);
  return text === null || when === null ? null : { reason: text, at: when };
}

/** Whoever has paused it by hand, in SQL, may have left no word. */
function pauseOf(r: RowOf): PauseWord | null {
  const at = r.dateOrNull("paused_at");
  return at === null
    ? null
    : { by: r.textOrNull("paused_by") ?? "unknown", reason: r.textOrNull("pause_reason") ?? "", at };
}
