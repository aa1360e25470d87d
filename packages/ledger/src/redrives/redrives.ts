import { sqlStates, type OnWorkerLoss, type WorkflowPin } from "@ghouls/core";
import { recordAudit } from "../audit.ts";
import type { Database } from "../connection/database.ts";
import { lockRuns, type RunKey } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";
import { judgeRedrive, REDRIVABLE, type Cut, type RedrivenBefore, type Refused } from "./judgement.ts";

/**
 * The new run with its first delivery, and the journal up to the cut, as it is stored. Its ordinals begin anew; its tokens
 * stay those of the claims that wrote it. The third statement of its transaction: the run is locked, and was judged.
 */
const REDRIVE = writeStatement(
  "redrives.make",
  `
with old as materialized (
  select run.*
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${sqlStates(REDRIVABLE)}) and run.quarantined_at is null
  for update
), kept as materialized (
  select j.*, j.ordinal - old.journal_start as place
  from old
  join ghouls.journal j on j.tenant_id = old.tenant_id and j.run_id = old.run_id and j.ordinal > old.journal_start and j.ordinal < $4
), made as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, redrive_of, request_digest, workflow_name, workflow_version,
    workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest,
    input_stored_for, deadline_at, created_at, starts_at, on_worker_loss, epoch, journal_length, journal_bytes)
  select old.tenant_id, $3, old.first_run_id, old.run_id, old.request_digest, old.workflow_name, $5, $6, old.queue, old.priority,
    old.agent, $7, array(select jsonb_array_elements_text($8::text::jsonb)), 'QUEUED', 1, old.input_text, old.input_digest,
    coalesce(old.input_stored_for, old.run_id), ghouls.clock() + $9::double precision * interval '1 millisecond', ghouls.clock(),
    coalesce(old.starts_at, old.created_at), $10, old.epoch, (select count(*) from kept),
    (select coalesce(sum(octet_length(kept.result_text)), 0) from kept)
  from old
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
  select made.tenant_id, made.run_id, made.enqueue_seq, 'admitted', 'PENDING', made.queue, made.priority, made.created_at,
    made.created_at + $11::double precision * interval '1 second', made.created_at
  from made
  returning tenant_id, run_id, seq, queue
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at, stored_for)
  select delivery.tenant_id, delivery.run_id, kept.place, kept.epoch, kept.scope, kept.kind, kept.name, kept.nth, kept.outcome,
    kept.result_text, kept.result_digest, kept.tries, delivery.seq, kept.token, kept.started_at, kept.completed_at,
    coalesce(kept.stored_for, kept.run_id)
  from delivery
  join kept on kept.tenant_id = delivery.tenant_id
  returning run_id
), labeled as (
  insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
  select made.tenant_id, made.run_id, label.key, label.value, made.created_at
  from made
  join ghouls.labels label on label.tenant_id = $1 and label.run_id = $2
  returning run_id
)
select delivery.seq, delivery.queue, (select count(*) from entry)::integer as entries
from delivery`,
);

/** What carries the run stays until it pins it: whoever gives releases up waits for this commit, and sees the run then. */
const HOLD = writeStatement(
  "releases.hold",
  `
select r.bundle_digest
from ghouls.releases r
where r.workflow_name = $1 and r.workflow_digest = $2 and r.removed_at is null
order by r.bundle_digest
for key share`,
);

/** Who asks for a redrive, and what carries it. */
export interface NewRedrive {
  /** Of the new run. */
  readonly runId: string;
  /** Code that carries the journal of the old run on. */
  readonly workflow: Pick<WorkflowPin, "version" | "digest">;
  /** The release that has that code, where this build has it not. */
  readonly release?: Pick<WorkflowPin, "name" | "digest">;
  readonly onWorkerLoss: OnWorkerLoss;
  /** Milliseconds from now, null for none. */
  readonly deadlineMs: number | null;
  readonly requestedBy: string;
  readonly requestedRoles: readonly string[];
  /** Why; it is kept in the audit of the old run. */
  readonly reason: string;
}

export interface Redriven {
  readonly kind: "redriven";
  readonly enqueueSeq: number;
  readonly queue: string;
  readonly cut: Cut;
}

/** The release that was to carry it has been given up meanwhile. */
interface ReleaseGone {
  readonly kind: "release_gone";
}

export type RedriveAnswer = Redriven | RedrivenBefore | Refused | ReleaseGone;

/**
 * Makes a new run of one that has failed or was cancelled, in one commit: with its first delivery, and with the journal up to
 * the call that failed. The old run stays as it ended; a run is redriven once, and its redrive may be redriven in its turn.
 * Null where the tenant has no such run.
 */
export async function redriveRun(
  database: Database,
  key: RunKey,
  redrive: NewRedrive,
  settings: { readonly publisherGraceSeconds: number },
): Promise<RedriveAnswer | null> {
  return database.transaction("redrives.make", async (transaction): Promise<RedriveAnswer | null> => {
    const status = (await lockRuns(transaction, [key])).get(key.runId);
    if (status === undefined) return null;
    const word = { actor: redrive.requestedBy, reason: redrive.reason };
    const judged = await judgeRedrive(transaction, key, status, word);
    if (judged.kind !== "cut") return judged;
    if (redrive.release !== undefined) {
      const { name, digest } = redrive.release;
      if ((await transaction.run(HOLD, [name, digest])).length === 0) return { kind: "release_gone" };
    }
    const [made] = await transaction.run(REDRIVE, [
      key.tenantId,
      key.runId,
      redrive.runId,
      judged.ordinal,
      redrive.workflow.version,
      redrive.workflow.digest,
      redrive.requestedBy,
      JSON.stringify(redrive.requestedRoles),
      redrive.deadlineMs,
      redrive.onWorkerLoss,
      settings.publisherGraceSeconds,
    ]);
    await recordAudit(transaction, key, { ...word, act: "redrive", subject: `run ${redrive.runId}` });
    const r = rows(made ?? {});
    return { kind: "redriven", enqueueSeq: r.number("seq"), queue: r.text("queue"), cut: judged };
  });
}
