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
import { readStatement } from "./sql/statement.ts";

const RUN = `run.tenant_id, run.run_id, run.parent_run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.paused_by, run.pause_reason, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at, run.redrive_of, (
    select next.run_id from ghouls.runs next
    where next.tenant_id = run.tenant_id and next.redrive_of = run.run_id) as redriven_as`;

const GET = readStatement(
  "runs.get",
  `
select ${RUN}, run.request_digest, run.input_text, run.input_digest,
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

const KEYSET = `
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`;
const NEWEST = `
order by run.created_at desc, run.run_id desc
limit $4`;
const SHOWN = `${RUN}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`;

// Absent filters are spelled as their own statements, so that each has an index whose order is the answer's.
const page = (name: string, filter: string) =>
  readStatement(
    `runs.page-${name}`,
    `
select ${SHOWN}
from ghouls.runs run${KEYSET}
  ${filter}${NEWEST}`,
  );

// One bounded index scan for each status: `status = any(…)` has no index whose order is the answer's, and a generic plan
// then reads all of a tenant's runs to find those of a rare one.
const pageOfStatuses = (name: string, filter: string) =>
  readStatement(
    `runs.page-${name}`,
    `
select ${SHOWN}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${KEYSET}
  and run.status = wanted.status ${filter}${NEWEST}
) as run${NEWEST}`,
  );

const PAGES = {
  all: page("all", ""),
  status: pageOfStatuses("status", ""),
  workflow: page("workflow", "and run.workflow_name = $5"),
  both: pageOfStatuses("status-workflow", "and run.workflow_name = $6"),
  attention: page("attention", "and (run.attention_at is not null or run.quarantined_at is not null)"),
} as const;

const DELIVERIES = readStatement(
  "deliveries.of-run",
  `
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
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
}

export interface RunPageFilter {
  readonly status?: readonly string[];
  readonly workflow?: string;
  readonly attention?: boolean;
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

/**
 * A page of a tenant's runs, newest first, and the cursor of the next one.
 * @throws GhoulsError invalid_request for a cursor of another form
 */
export async function readRunPage(
  executor: Executor,
  tenantId: string,
  filter: RunPageFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ runs: Run[]; nextCursor: string | null }> {
  const [micros, runId] = page.cursor === undefined ? START : parseCursor(page.cursor);
  const [statement, values] = choose(filter);
  const found = await executor.run(statement, [tenantId, micros, runId, page.limit + 1, ...values]);
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    runs: shown.map((row) => runOf(rows(row))),
    nextCursor: found.length > page.limit && last !== undefined ? cursorOf(last) : null,
  };
}

function choose(filter: RunPageFilter): [(typeof PAGES)[keyof typeof PAGES], unknown[]] {
  const { status, workflow, attention } = filter;
  if (attention === true) {
    if (status !== undefined || workflow !== undefined) {
      throw new GhoulsError("invalid_request", "the attention filter does not combine with others yet", {
        fix: "Ask with attention alone, and choose among what comes back.",
      });
    }
    return [PAGES.attention, []];
  }
  if (status !== undefined && workflow !== undefined) return [PAGES.both, [status, workflow]];
  if (status !== undefined) return [PAGES.status, [status]];
  if (workflow !== undefined) return [PAGES.workflow, [workflow]];
  return [PAGES.all, []];
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
      holdExpiresAt: r.dateOrNull("hold_expires_at"),
    };
  });
}

function runOf(r: RowOf): Run {
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
