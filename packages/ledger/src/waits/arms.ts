import type { ArmOwner, AttemptStatus, CallId } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { callOf } from "../sql/call.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";

/** One standing call of a run, with its owner. */
export interface OpenArm {
  readonly armId: string;
  readonly owner: ArmOwner;
  /** Of the wait that holds it, or that held it last. */
  readonly generation: number;
  /** The delivery whose hop has opened it. */
  readonly seq: number;
  readonly call: CallId;
  /** When its time is over: of a delegated job the deadline. */
  readonly dueAt: Date | null;
  /** Until it closes by that alone; null where it does not. */
  readonly dueInSeconds: number | null;
  readonly tries: number | null;
  readonly consentId: string | null;
  readonly attemptId: string | null;
  readonly attemptStatus: AttemptStatus | null;
  readonly childRunId: string | null;
  /** Of the request of its consent, its attempt or its child. */
  readonly requestDigest: string | null;
}

const OF_RUN = readStatement(
  "arms.of-run",
  `
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.seq, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, t.attempt_id,
  t.status as attempt_status, t.deadline_at, child.run_id as child_run_id,
  coalesce(c.request_digest, t.request_digest, child.request_digest) as request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`,
);

/** Steps that waited for a try: how many each has had, and when its next one is due, where that is still to come. */
const RETRIES = readStatement(
  "arms.retries",
  `
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`,
);

/** The arms of a run that stand open, the oldest first. */
export async function readOpenArms(executor: Executor, key: RunKey): Promise<OpenArm[]> {
  const found = await executor.run(OF_RUN, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      armId: r.text("arm_id"),
      call: callOf(row),
      owner: r.text("owner") as ArmOwner,
      generation: r.number("generation"),
      seq: r.number("seq"),
      dueAt: r.dateOrNull("due_at") ?? r.dateOrNull("deadline_at"),
      dueInSeconds: r.numberOrNull("due_in"),
      tries: r.numberOrNull("tries"),
      consentId: r.textOrNull("consent_id"),
      attemptId: r.textOrNull("attempt_id"),
      attemptStatus: r.textOrNull("attempt_status") as AttemptStatus | null,
      childRunId: r.textOrNull("child_run_id"),
      requestDigest: r.textOrNull("request_digest"),
    };
  });
}

/** A step that has been tried in earlier hops. */
export interface StoredRetry {
  readonly call: CallId;
  readonly tries: number;
  /** When its next try is due; null where that moment has come. */
  readonly dueAt: Date | null;
}

export async function readRetries(executor: Executor, key: RunKey, epoch: number): Promise<StoredRetry[]> {
  const found = await executor.run(RETRIES, [key.tenantId, key.runId, epoch]);
  return found.map((row) => {
    const r = rows(row);
    return { call: callOf(row), tries: r.number("tries"), dueAt: r.dateOrNull("due_at") };
  });
}
