import { MAX_DELAY_SECONDS, type OnWorkerLoss, type RunStatus } from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { rows, type RowOf } from "../sql/rows.ts";

/** A run to admit, with its bodies already through the codec. */
export interface NewRun {
  readonly tenantId: string;
  readonly runId: string;
  readonly idempotencyKey: string | null;
  readonly requestDigest: string;
  readonly workflow: { readonly name: string; readonly version: number; readonly digest: string };
  readonly queue: string;
  readonly priority: number;
  readonly agent: string | null;
  /** None where absent. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly requestedBy: string;
  readonly requestedRoles: readonly string[];
  readonly inputText: string;
  readonly inputDigest: string;
  /** Milliseconds from the admission, null for none. */
  readonly deadlineMs: number | null;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly held: boolean;
  readonly holdMs: number;
  /** When it is to start: milliseconds from its admission, or a moment. At once where neither lies ahead. */
  readonly startAfter: { readonly ms: number } | { readonly at: Date } | null;
}

/** When a run starts that was admitted just now. */
export interface Start {
  /** Null: at once. */
  readonly startsAt: Date | null;
  /** Seconds from now on, by the ledger's clock; 0 where it may start at once. */
  readonly startsInSeconds: number;
}

/** A run as an admission answers it: the new one, or the one that holds the key. */
export interface AdmittedRun {
  readonly tenantId: string;
  readonly runId: string;
  readonly idempotencyKey: string | null;
  readonly requestDigest: string;
  readonly workflow: { readonly name: string; readonly version: number; readonly digest: string };
  readonly queue: string;
  readonly priority: number;
  readonly status: RunStatus;
  readonly enqueueSeq: number;
  readonly held: boolean;
  /** PENDING and never published: whoever meets it may publish it. */
  readonly unpublished: boolean;
  /** Seconds until its delivery is due; 0 where it is. */
  readonly dueInSeconds: number;
  /** When it starts, where that was asked for, or where it was released. */
  readonly startsAt: Date | null;
}

/**
 * The conflict's target is not named: a run without a key that an earlier try has committed conflicts by its id. A run id
 * that is another's is swallowed too; whoever reads back then finds nothing, and must say so.
 */
const admitting = (
  name: string,
  { values, column, write }: { values: string; column: string; write: string },
) =>
  writeStatement(
    name,
    `
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.*, greatest(ghouls.clock(), t.start_at, ghouls.clock() + t.start_ms * interval '1 millisecond') as starts_at
  from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[], $21::double precision[], $22::timestamptz[]${values}
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, start_ms, start_at${column}, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss, starts_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    q.starts_at + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss,
    case when q.starts_at > ghouls.clock() then q.starts_at end
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, q.starts_at,
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then
      q.starts_at + case when q.starts_at - ghouls.clock() <= $23::double precision * interval '1 second'
        then $19::double precision else 0 end * interval '1 second'
    end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
${write})
select delivery.run_id, case when q.starts_at > ghouls.clock() then q.starts_at end as starts_at,
  extract(epoch from q.starts_at - ghouls.clock())::double precision as due_in
from delivery
join request q on q.run_id = delivery.run_id`,
  );

const ADMIT = admitting("runs.admit", { values: "", column: "", write: "" });

/** The same with labels, of some of them at least. */
const ADMIT_LABELED = admitting("runs.admit-labeled", {
  values: ", $24::text[]",
  column: ", labels",
  write: `), labeled as (
  insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
  select run.tenant_id, run.run_id, label.key, label.value, run.created_at
  from run
  join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  cross join lateral jsonb_each_text(q.labels::jsonb) as label(key, value)
  returning run_id
`,
});

const COLUMNS = `run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished, run.starts_at,
  greatest(0, extract(epoch from d.due_at - ghouls.clock()))::double precision as due_in`;

const BY_KEY = readStatement(
  "runs.by-key",
  `
select ${COLUMNS}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`,
);

const BY_ID = readStatement(
  "runs.by-id",
  `
select ${COLUMNS}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`,
);

export interface AdmitSettings {
  /** Milliseconds that a key of an admission that is not committed yet may hold this one up. */
  readonly lockTimeoutMs: number;
  /** Seconds before the relay looks: whoever admits publishes at once. */
  readonly publisherGraceSeconds: number;
}

/**
 * Commits new runs with their first deliveries, in one statement. Answers the ids of those that are new, with their starts;
 * a delivery whose message the caller may send with a delay is the relay's only some time after its start. What is missing
 * had its key taken, or is there already because the answer of an earlier try was lost.
 * @throws LedgerError `busy` where another transaction holds one of the keys for longer than the bound
 */
export async function insertRunsIfKeyIsNew(
  executor: Executor,
  newRuns: readonly NewRun[],
  settings: AdmitSettings,
): Promise<ReadonlyMap<string, Start>> {
  const column = <T>(pick: (run: NewRun) => T): T[] => newRuns.map(pick);
  const isLabeled = newRuns.some(({ labels = {} }) => Object.keys(labels).length > 0);
  const answered = await executor.run(isLabeled ? ADMIT_LABELED : ADMIT, [
    String(settings.lockTimeoutMs),
    column((run) => run.tenantId),
    column((run) => run.runId),
    column((run) => run.idempotencyKey),
    column((run) => run.requestDigest),
    column((run) => run.workflow.name),
    column((run) => run.workflow.version),
    column((run) => run.workflow.digest),
    column((run) => run.queue),
    column((run) => run.priority),
    column((run) => run.agent),
    column((run) => run.requestedBy),
    column((run) => JSON.stringify(run.requestedRoles)),
    column((run) => run.inputText),
    column((run) => run.inputDigest),
    column((run) => run.deadlineMs),
    column((run) => run.held),
    column((run) => run.holdMs),
    settings.publisherGraceSeconds,
    column((run) => run.onWorkerLoss),
    column(({ startAfter }) => (startAfter !== null && "ms" in startAfter ? startAfter.ms : null)),
    column(({ startAfter }) => (startAfter !== null && "at" in startAfter ? startAfter.at : null)),
    MAX_DELAY_SECONDS,
    ...(isLabeled ? [column((run) => JSON.stringify(run.labels ?? {}))] : []),
  ]);
  return new Map(
    answered.map((row) => {
      const r = rows(row);
      return [r.text("run_id"), { startsAt: r.dateOrNull("starts_at"), startsInSeconds: r.number("due_in") }];
    }),
  );
}

/** The runs that hold these keys now. */
export async function readRunsByKey(
  executor: Executor,
  keys: readonly { readonly tenantId: string; readonly idempotencyKey: string }[],
): Promise<AdmittedRun[]> {
  const found = await executor.run(BY_KEY, [
    keys.map((key) => key.tenantId),
    keys.map((key) => key.idempotencyKey),
  ]);
  return found.map(admittedRun);
}

export async function readRunsById(
  executor: Executor,
  ids: readonly { readonly tenantId: string; readonly runId: string }[],
): Promise<AdmittedRun[]> {
  const found = await executor.run(BY_ID, [ids.map((id) => id.tenantId), ids.map((id) => id.runId)]);
  return found.map(admittedRun);
}

function admittedRun(row: Row): AdmittedRun {
  const r: RowOf = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    idempotencyKey: r.textOrNull("idempotency_key"),
    requestDigest: r.text("request_digest"),
    workflow: {
      name: r.text("workflow_name"),
      version: r.number("workflow_version"),
      digest: r.text("workflow_digest"),
    },
    queue: r.text("queue"),
    priority: r.number("priority"),
    status: r.text("status") as RunStatus,
    enqueueSeq: r.number("enqueue_seq"),
    held: r.boolean("held"),
    unpublished: r.boolean("unpublished"),
    dueInSeconds: r.number("due_in"),
    startsAt: r.dateOrNull("starts_at"),
  };
}

const RELEASE = writeStatement(
  "deliveries.release",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), released as (
  update ghouls.deliveries d
  set status = 'PENDING', due_at = greatest(d.due_at, ghouls.clock()),
    next_publication_at = greatest(d.due_at, ghouls.clock())
      + case when d.due_at - ghouls.clock() <= $4::double precision * interval '1 second'
        then $3::double precision else 0 end * interval '1 second'
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
    and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
  returning d.tenant_id, d.run_id, d.due_at
)
update ghouls.runs run
set starts_at = released.due_at,
  deadline_at = run.deadline_at + (released.due_at - coalesce(run.starts_at, run.created_at))
from released
where run.tenant_id = released.tenant_id and run.run_id = released.run_id
returning run.run_id`,
);

/**
 * HELD → PENDING, once, and before the hold's expiry, whether or not the pass has seen it. The run starts no sooner: its own
 * time, and its deadline, count from here or from the start that it was given. False where there was nothing to
 * release; read the run to learn why.
 */
export async function releaseDeliveryIfHeld(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
  publisherGraceSeconds: number,
): Promise<boolean> {
  return (
    (await executor.run(RELEASE, [key.tenantId, key.runId, publisherGraceSeconds, MAX_DELAY_SECONDS]))
      .length === 1
  );
}
