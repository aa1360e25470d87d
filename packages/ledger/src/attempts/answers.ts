import { sqlStates, type AttemptStatus, type RunStatus } from "@ghouls/core";
import { recordAudit } from "../audit.ts";
import type { Database, Executor } from "../connection/database.ts";
import { endRunIfContained, lockRuns } from "../containment/endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { writeStatement } from "../sql/statement.ts";
import { resumedAs, resumeIfClosed, type Resumption } from "../waits/resumptions.ts";
import { askAboutJob, calmIfKnown, contradicted } from "./attention.ts";
import { FINAL_ATTEMPT, LIVING_ATTEMPT, lockAttempt, type Attempt, type AttemptKey } from "./attempt.ts";

/** What became of a job, as it is kept: it has passed the codec. */
export interface KeptReport {
  readonly reportText: string;
  readonly reportDigest: string;
}

/** What is written of an attempt. Its run is locked. */
export interface AttemptChange {
  /** The state that it has then; its own where only the look was of interest. */
  readonly status: AttemptStatus;
  /** Given with SUCCEEDED and FAILED. */
  readonly report?: KeptReport;
  /** Why nobody knows, or why the question came to nothing. */
  readonly why?: string;
  /** Why a person is asked for, though its state may stay; an attempt that becomes UNCERTAIN asks by itself. */
  readonly attention?: string;
  /** Who says so: "service", "callback", or an operator. */
  readonly by: string;
  /** Whether the service said that it has the job, or had it. */
  readonly acknowledged: boolean;
  readonly missed: boolean;
  /** Where the one that sends has had its answer: seconds for which what it sent can still act; null: as long as it claimed. */
  readonly sentFor?: number | null;
  /** Whether it is certain that nothing of the submission was sent. */
  readonly unsent?: boolean;
  /** Whether it tells only that the job lives: what nobody knows, or is to be cancelled, is looked at as before. */
  readonly onlyAlive?: boolean;
  /** Whether the callback's token is used up by it. */
  readonly usesCallback?: boolean;
  /** Seconds until the next look, where it stays open. */
  readonly nextLookSeconds: number;
}

/** What was sent, or may have been, can arrive until then; a lookup sees it so much later. */
const SENT_UNTIL = `(case when $11::double precision is null then t.sends_until
    else least(t.sends_until, ghouls.clock() + $11 * interval '1 second') end)`;
const SEEN_BY = `${SENT_UNTIL} + (t.delay_seconds + 1) * interval '1 second'`;

/**
 * The one move of an attempt that was sent, from the row that was locked before. The next look is no later than what its
 * times bring about: the end of its heartbeat, its deadline, and the moment when nothing is on its way any more.
 */
const CHANGE = writeStatement(
  "attempts.change",
  `
update ghouls.attempts t
set status = $4,
  report_text = $5, report_digest = $6, uncertain_reason = $7,
  acknowledged_at = case when $8::boolean then coalesce(t.acknowledged_at, ghouls.clock()) else t.acknowledged_at end,
  heartbeat_at = case when $8::boolean then ghouls.clock() else t.heartbeat_at end,
  looks = case when $16::boolean then t.looks when t.status = $4 then t.looks + 1 else 0 end,
  misses = case when $16::boolean then t.misses when $10::boolean then t.misses + 1 else 0 end,
  trouble = case when $10::boolean then coalesce($14, t.trouble) else t.trouble end,
  trouble_at = case when $10::boolean and coalesce($14, t.trouble) is not null then ghouls.clock() else t.trouble_at end,
  unsent = $15::boolean,
  sends_until = ${SENT_UNTIL},
  callback_used_at = case when $12::boolean then ghouls.clock() else t.callback_used_at end,
  closed_at = case when $4 in (${sqlStates(FINAL_ATTEMPT)}) then ghouls.clock() end,
  closed_by = case when $4 in (${sqlStates(FINAL_ATTEMPT)}) then $13 end,
  next_look_at = case when $16::boolean then t.next_look_at when $4 not in (${sqlStates(FINAL_ATTEMPT)}) then least(
    ghouls.clock() + $9::double precision * interval '1 second',
    case when $4 in (${sqlStates(LIVING_ATTEMPT)}) then
      case when $8::boolean then ghouls.clock() else t.heartbeat_at end + t.heartbeat_seconds * interval '1 second' end,
    case when t.deadline_at > ghouls.clock() then t.deadline_at end,
    case when ($4 not in (${sqlStates(LIVING_ATTEMPT)}) or t.cancel_asked_at is not null) and not $15::boolean
      and ${SEEN_BY} > ghouls.clock() then ${SEEN_BY} end) end
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`,
);

/** Whoever asks to cancel a job says so before: nobody submits it any more. */
const CANCEL = writeStatement(
  "attempts.cancel",
  `
update ghouls.attempts t
set cancel_asked_at = coalesce(t.cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(t.cancel_reason, $4)
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`,
);

const CLOSE_ITEM = writeStatement(
  "attempts.close-item",
  `
with acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $4, acknowledgement = $5
  from ghouls.attempts t
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
    and i.tenant_id = t.tenant_id and i.run_id = t.run_id and i.kind = 'attempt' and i.key = t.call_key
    and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged
where run.tenant_id = acknowledged.tenant_id and run.run_id = acknowledged.run_id
returning run.open_items`,
);

/** The first that contradicts stays. Attention is raised though the run may have ended: nothing of it moves by that. */
const CONTRADICT = writeStatement(
  "attempts.contradict",
  `
with kept as (
  update ghouls.attempts t
  set contradiction = $4
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3 and t.contradiction is null
  returning t.tenant_id, t.run_id
)
update ghouls.runs run
set attention_reason = $5, attention_at = ghouls.clock()
from kept
where run.tenant_id = kept.tenant_id and run.run_id = kept.run_id and run.attention_at is null
returning run.run_id`,
);

/** What a change of an attempt brought about. */
export interface Changed {
  readonly status: AttemptStatus;
  /** The delivery that brings its run back. */
  readonly resumption: Resumption | null;
  /** Where it was the last thing that its run had to contain. */
  readonly ended: RunStatus | null;
}

/** How to change an attempt as it was found locked; undefined: it stays as it is. */
export type Decide = (attempt: Attempt) => AttemptChange | undefined;

export interface ChangeSettings {
  readonly publisherGraceSeconds: number;
  /** Where it is a repair of the reconciler; a look that moves nothing is none. */
  readonly repair?: RepairNote;
}

/**
 * Locks an attempt behind its run and changes it as `decide` says of what is found then, in one commit with all that
 * follows: its run's next delivery, or the end of its item and perhaps of its run. Null where there is nothing to change.
 */
export async function changeAttempt(
  database: Database,
  key: AttemptKey,
  decide: Decide,
  settings: ChangeSettings,
  audit?: { readonly actor: string; readonly reason: string },
): Promise<Changed | null> {
  return database.transaction("attempts.change", async (transaction) => {
    await lockRuns(transaction, [key]);
    const attempt = await lockAttempt(transaction, key);
    if (attempt === null) return null;
    const change = decide(attempt);
    if (change === undefined) return null;
    await write(transaction, attempt, change);
    if (audit !== undefined) {
      const subject = `attempt ${key.attemptId}`;
      await recordAudit(transaction, key, { ...audit, act: "resolve", subject });
    }
    const { status } = change;
    const note = async (after: string) => {
      if (settings.repair !== undefined && status !== attempt.status)
        await recordRepair(transaction, key, { ...settings.repair, before: attempt.status, after });
    };
    if (!FINAL_ATTEMPT.includes(status)) {
      await note(status);
      return { status, resumption: null, ended: null };
    }
    const words = `its job is ${status}`;
    await transaction.run(CLOSE_ITEM, [...keyOf(key), change.by, words]);
    const ended = await endRunIfContained(transaction, key);
    const resumption =
      ended === null ? await resumeIfClosed(transaction, key, settings.publisherGraceSeconds) : null;
    const run = ended ?? (resumption === null ? null : resumedAs(resumption));
    await note(run === null ? status : `${status}, run ${run}`);
    return { status, resumption, ended };
  });
}

async function write(executor: Executor, attempt: Attempt, change: AttemptChange): Promise<void> {
  const { status, report, by, acknowledged, missed, sentFor, usesCallback } = change;
  const why = change.why === undefined ? undefined : kept(change.why);
  // Why: the run is told of its deadline where that was it. Of one that was never sent nobody has asked a service.
  const { overdue, armOpen, cancelAsked } = attempt;
  if (status === "CANCELLED" && !cancelAsked && (overdue || !armOpen)) {
    await executor.run(CANCEL, [...keyOf(attempt), overdue && armOpen ? "deadline" : "ended"]);
  }
  await executor.run(CHANGE, [
    ...keyOf(attempt),
    status,
    report?.reportText ?? null,
    report?.reportDigest ?? null,
    // Why nobody knows; what came of the last question is told beside it.
    status === "UNCERTAIN" ? (attempt.uncertainReason ?? why ?? "unknown") : null,
    acknowledged,
    change.nextLookSeconds,
    missed,
    sentFor ?? null,
    usesCallback ?? false,
    by,
    why ?? null,
    change.unsent ?? (attempt.unsent && status === attempt.status && !acknowledged),
    change.onlyAlive ?? false,
  ]);
  const asks =
    status === "UNCERTAIN" && attempt.status !== "UNCERTAIN" ? (why ?? "unknown") : change.attention;
  if (asks !== undefined) {
    const reason = `nobody knows of the job "${attempt.name}" at ${attempt.service}: ${kept(asks)}`;
    await askAboutJob(executor, attempt, reason);
  }
  const known = status !== "UNCERTAIN" && (acknowledged || status !== attempt.status);
  if (known && attempt.attended) await calmIfKnown(executor, attempt);
}

/**
 * Says that a job is to be cancelled, guarded by the state and token that were read: after it nobody submits it. False
 * where it has moved.
 */
export async function askToCancel(
  database: Database,
  attempt: Pick<Attempt, "tenantId" | "runId" | "attemptId" | "status" | "token">,
  reason: "deadline" | "ended",
  repair?: RepairNote,
): Promise<boolean> {
  return database.transaction("attempts.cancel", async (transaction) => {
    await lockRuns(transaction, [attempt]);
    const now = await lockAttempt(transaction, attempt);
    if (now === null || now.status !== attempt.status || now.token !== attempt.token) return false;
    const asked = (await transaction.run(CANCEL, [...keyOf(attempt), reason])).length === 1;
    // Asked again it is as it was.
    if (asked && repair !== undefined && !now.cancelAsked)
      await recordRepair(transaction, attempt, { ...repair, after: `${now.status}, cancel asked` });
    return asked;
  });
}

/** Keeps a report that contradicts what an attempt has ended with, and asks for a person. */
export async function keepContradiction(
  database: Database,
  attempt: AttemptKey & { readonly name: string; readonly service: string },
  what: string,
): Promise<void> {
  await database.transaction("attempts.contradict", async (transaction) => {
    await lockRuns(transaction, [attempt]);
    const reason = contradicted(`of the job "${attempt.name}" at ${attempt.service}: ${what}`);
    await transaction.run(CONTRADICT, [...keyOf(attempt), what.slice(0, 1_000), reason]);
  });
}

/** Longest explanation that is kept, in UTF-16 units. */
const MAX_WHY = 1_000;

/** The words of a service or an adapter, as the database can keep them. */
function kept(words: string): string {
  return words.slice(0, MAX_WHY).replaceAll("\0", "\ufffd").toWellFormed();
}

function keyOf({ tenantId, runId, attemptId }: AttemptKey): [string, string, string] {
  return [tenantId, runId, attemptId];
}
