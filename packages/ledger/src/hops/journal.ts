import type { CallId, Claim } from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import { callOf, callValues } from "../sql/call.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A finished call to keep. The result is already through the codec; null for `undefined`. */
export interface NewEntry extends CallId {
  readonly outcome: "ok" | "error";
  readonly resultText: string | null;
  readonly resultDigest: string | null;
  readonly resultBytes: number;
  readonly tries: number;
  /** Milliseconds from the start of the call to its end, measured by the worker. */
  readonly tookMs: number;
  /** Whether it is the outcome of an effect that happens once: its intent is closed with it. */
  readonly closesIntent?: boolean;
}

export interface StoredEntry extends CallId {
  readonly ordinal: number;
  readonly outcome: "ok" | "error";
  readonly resultText: string | null;
  readonly resultDigest: string | null;
  readonly tries: number;
  readonly seq: number;
  readonly token: string;
  /** The run for which its result was stored: another where that one's work is redriven. */
  readonly storedFor: string;
  readonly startedAt: Date;
  readonly completedAt: Date;
}

const APPEND = writeStatement(
  "journal.append",
  `
with ${heldBy(CLAIM_STATES)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`,
);

const ENTRY_OF_CALL = readStatement(
  "journal.entry-of-call",
  `
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_text, j.result_digest, j.tries
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`,
);

const READ = readStatement(
  "journal.read",
  `
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at, coalesce(j.stored_for, j.run_id) as stored_for
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`,
);

const OUTLINE = readStatement(
  "journal.outline",
  `
select j.ordinal, j.scope, j.kind, j.name, j.nth, j.outcome, j.tries, j.seq, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`,
);

/** A journal entry without its result, which may be long. */
export type OutlinedEntry = Pick<
  StoredEntry,
  "ordinal" | "scope" | "kind" | "name" | "nth" | "outcome" | "tries" | "seq" | "startedAt" | "completedAt"
>;

/** What a run has journaled behind an ordinal, without results. */
export async function readOutline(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
  after = 0,
): Promise<OutlinedEntry[]> {
  const found = await executor.run(OUTLINE, [key.tenantId, key.runId, after]);
  return found.map((row) => {
    const r = rows(row);
    return {
      ordinal: r.number("ordinal"),
      scope: r.text("scope"),
      kind: r.text("kind") as OutlinedEntry["kind"],
      name: r.text("name"),
      nth: r.number("nth"),
      outcome: r.text("outcome") as OutlinedEntry["outcome"],
      tries: r.number("tries"),
      seq: r.number("seq"),
      startedAt: r.date("started_at"),
      completedAt: r.date("completed_at"),
    };
  });
}

/**
 * Keeps a finished call under the fence, at most once for its identity. Null where the claim is gone: then nothing was
 * written, and nothing may be written by this worker any more.
 */
export async function appendEntryIfClaimed(
  executor: Executor,
  claim: Claim,
  entry: NewEntry,
): Promise<{ ordinal: number; completedAt: Date } | null> {
  const written = await appendOnce(executor, claim, entry);
  if (written !== null) return written;
  // Zero rows: fenced, or an earlier try of this very write was committed and its answer lost.
  const present = await readEntryOfCall(executor, claim, entry);
  const mine =
    present !== null &&
    present.token === claim.token &&
    present.outcome === entry.outcome &&
    present.resultDigest === entry.resultDigest;
  return mine ? { ordinal: present.ordinal, completedAt: present.completedAt } : null;
}

/** The same where nothing of an earlier try can be there: null means that the claim is gone. */
export async function appendOnce(
  executor: Executor,
  claim: Claim,
  entry: NewEntry,
): Promise<{ ordinal: number; completedAt: Date } | null> {
  const [written] = await executor.run(APPEND, [
    claim.tenantId,
    claim.runId,
    claim.seq,
    claim.token,
    ...callValues(entry),
    entry.outcome,
    entry.resultText,
    entry.resultDigest,
    entry.tries,
    entry.tookMs,
    entry.resultBytes,
    entry.closesIntent ?? false,
  ]);
  return written === undefined ? null : appended(written);
}

/** What the journal has of a call. */
export type EntryOfCall = Pick<
  StoredEntry,
  "ordinal" | "completedAt" | "token" | "outcome" | "resultText" | "resultDigest" | "tries"
>;

/** Null where it has nothing of it. */
export async function readEntryOfCall(
  executor: Executor,
  run: Pick<Claim, "tenantId" | "runId">,
  call: CallId,
): Promise<EntryOfCall | null> {
  const [row] = await executor.run(ENTRY_OF_CALL, [run.tenantId, run.runId, ...callValues(call)]);
  if (row === undefined) return null;
  const r = rows(row);
  return {
    ...appended(row),
    token: r.text("token"),
    outcome: r.text("outcome") as "ok" | "error",
    resultText: r.textOrNull("result_text"),
    resultDigest: r.textOrNull("result_digest"),
    tries: r.number("tries"),
  };
}

function appended(row: Row): { ordinal: number; completedAt: Date } {
  const r = rows(row);
  return { ordinal: r.number("ordinal"), completedAt: r.date("completed_at") };
}

/** The journal of a run in order of completion: all of it, or what comes behind an ordinal. */
export async function readJournal(
  executor: Executor,
  key: { tenantId: string; runId: string },
  behind = 0,
): Promise<StoredEntry[]> {
  const found = await executor.run(READ, [key.tenantId, key.runId, behind]);
  return found.map((row) => {
    const r = rows(row);
    return {
      ordinal: r.number("ordinal"),
      ...callOf(row),
      outcome: r.text("outcome") as "ok" | "error",
      resultText: r.textOrNull("result_text"),
      resultDigest: r.textOrNull("result_digest"),
      tries: r.number("tries"),
      seq: r.number("seq"),
      token: r.text("token"),
      storedFor: r.text("stored_for"),
      startedAt: r.date("started_at"),
      completedAt: r.date("completed_at"),
    };
  });
}
