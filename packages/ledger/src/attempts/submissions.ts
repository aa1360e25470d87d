import { sqlStates, type AttemptStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { lockRuns } from "../containment/endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { writeStatement } from "../sql/statement.ts";
import { PARKED_STATES } from "../waits/resumptions.ts";
import { calmIfKnown } from "./attention.ts";
import { remembered, type Attempt } from "./attempt.ts";

/** The states in which a submission may be claimed; all but the first after a proof that the service does not have it. */
const CLAIMABLE: readonly AttemptStatus[] = ["DEFINED", "SUBMITTING", "UNCERTAIN"];

/**
 * The claim of one submission. The run has been locked by an earlier statement, so that its wait and its arm are as they
 * stand now: it is parked on this very attempt, and nobody has asked to cancel that. What may have been sent before is sent
 * again only while its service still knows the key: the proof that it does not have it was given within that time then.
 */
const CLAIM = writeStatement(
  "attempts.claim-submission",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), held as materialized (
  select t.tenant_id, t.run_id, t.attempt_id, t.arm_id, t.status, t.token, t.deadline_at, t.cancel_asked_at, t.acknowledged_at,
    t.unsent, t.remembers_seconds, t.sends_from, t.created_at, r.status as run_status, r.generation, r.quarantined_at
  from r
  join ghouls.attempts t on t.tenant_id = r.tenant_id and t.run_id = r.run_id and t.attempt_id = $3
  for update of t
)
update ghouls.attempts t
set status = 'SUBMITTING', token = $6, submitter = $7, submissions = t.submissions + case when t.unsent then 0 else 1 end,
  sends_from = ghouls.clock(), sends_until = ghouls.clock() + $8::double precision * interval '1 second',
  callback_digest = $9, callback_used_at = null,
  callback_expires_at = case when $9::text is not null then t.deadline_at + $10::double precision * interval '1 second' end,
  next_look_at = ghouls.clock() + $11::double precision * interval '1 second', looks = case when t.unsent then t.looks else 0 end,
  misses = case when t.unsent then t.misses else 0 end, unsent = false, uncertain_reason = null
from held
join ghouls.arms a on a.tenant_id = held.tenant_id and a.run_id = held.run_id and a.arm_id = held.arm_id
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.attempt_id = held.attempt_id
  and held.status = $4 and held.token is not distinct from $5::uuid
  and held.status in (${sqlStates(CLAIMABLE)})
  and held.acknowledged_at is null and held.cancel_asked_at is null
  and (held.token is null or held.unsent or ${remembered("held")})
  and (held.deadline_at is null or held.deadline_at > ghouls.clock())
  and held.run_status in (${sqlStates(PARKED_STATES)}) and held.quarantined_at is null
  and a.closed_at is null and a.generation = held.generation
returning t.attempt_id`,
);

/** Attempts of a process that has ended send nothing more once what it had sent is over. One that is locked is left as it is. */
const SUBMITTER_ENDED = writeStatement(
  "attempts.submitter-ended",
  `
with left_behind as materialized (
  select t.tenant_id, t.run_id, t.attempt_id
  from ghouls.attempts t
  where t.submitter = $1 and t.status = 'SUBMITTING'
  order by t.tenant_id, t.run_id, t.attempt_id
  for update skip locked
)
update ghouls.attempts t
set sends_until = least(t.sends_until, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(t.next_look_at, ghouls.clock())
from left_behind
where t.tenant_id = left_behind.tenant_id and t.run_id = left_behind.run_id and t.attempt_id = left_behind.attempt_id
returning t.attempt_id`,
);

export interface SubmissionSettings {
  /** A new random UUID: the answer is written under it. */
  readonly token: string;
  /** Identity of the process that is to send. */
  readonly submitter: string;
  /** Seconds for which it, or what it has sent, can still act. */
  readonly sendsForSeconds: number;
  /** Of the token that lets the service call back; null where it cannot. */
  readonly callbackDigest: string | null;
  /** Seconds that a callback is taken beyond the attempt's deadline; for ever where it has none. */
  readonly callbackSeconds: number;
  /** Seconds until somebody looks what came of it. */
  readonly nextLookSeconds: number;
  /** Where it is a repair of the reconciler. */
  readonly repair?: RepairNote;
}

/**
 * Takes the right to send a job, once: only while its run is parked on it, before its deadline, and only from the state and
 * the token that were read. False where something has moved: then nothing may be sent.
 */
export async function claimSubmission(
  database: Database,
  attempt: Pick<Attempt, "tenantId" | "runId" | "attemptId" | "status" | "token">,
  settings: SubmissionSettings,
): Promise<boolean> {
  return database.transaction("attempts.claim-submission", async (transaction) => {
    await lockRuns(transaction, [attempt]);
    const claimed = await transaction.run(CLAIM, [
      attempt.tenantId,
      attempt.runId,
      attempt.attemptId,
      attempt.status,
      attempt.token,
      settings.token,
      settings.submitter,
      settings.sendsForSeconds,
      settings.callbackDigest,
      settings.callbackSeconds,
      settings.nextLookSeconds,
    ]);
    if (claimed.length === 0) return false;
    // It is known again: the service does not have it, and it is sent now.
    await calmIfKnown(transaction, attempt);
    if (settings.repair !== undefined)
      await recordRepair(transaction, attempt, { ...settings.repair, after: "SUBMITTING" });
    return true;
  });
}

/** A supervisor has seen the process end that had claimed submissions. */
export async function recordSubmitterEnd(
  executor: Executor,
  submitter: string,
  actsMarginSeconds: number,
): Promise<void> {
  await executor.run(SUBMITTER_ENDED, [submitter, actsMarginSeconds]);
}
