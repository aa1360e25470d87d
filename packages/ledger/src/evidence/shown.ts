import type { Executor, Row } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { fencedWhy } from "../sql/fenced-why.ts";
import { microsOf } from "../sql/keyset.ts";
import type { NewestPosition } from "../sql/newest.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";

/** A stored text that is longer is told by its length alone. */
const MOST_SHOWN_BYTES = 16_384;
/** A record of a run with a long journal may be longer. */
const MOST_RECORD_BYTES = 2_097_152;
/** Rejected results of one run that are shown, the newest. */
const MOST_REJECTED = 100;
/** Seals that are looked at for the one that has a record: it is the next one, or one soon after where it was in doubt. */
const MOST_SEALS = 500;

/** The record is compared with what the rows say now, as a judgement does; its seal is found behind the moment it was written. */
const TERMINAL = readStatement(
  "evidence.terminal",
  `
select record.record_digest, record.written_at, octet_length(record.record_text) as bytes,
  case when octet_length(record.record_text) <= $3 then record.record_text end as record_text,
  ghouls.text_digest(record.record_text) = record.record_digest
    and coalesce(record.record_text = ghouls.terminal_text(record.tenant_id, record.run_id), false) as agrees,
  sealed.number, sealed.sealed_at, sealed.digest
from ghouls.terminal_records record
left join lateral (
  select s.number, s.sealed_at, s.digest
  from (
    select s.number, s.sealed_at, s.digest, s.members_text
    from ghouls.seals s
    where s.tenant_id = $1 and s.sealed_at >= record.written_at
    order by s.sealed_at
    limit $4
  ) as s
  where strpos(s.members_text, ' ' || record.run_id::text || ' ') > 0
  order by s.number
  limit 1
) as sealed on true
where record.tenant_id = $1 and record.run_id = $2`,
);

const BODY = `e.body_digest, octet_length(e.body_text) as body_bytes,
  case when octet_length(e.body_text) <= ${MOST_SHOWN_BYTES} then e.body_text end as body_text`;

const REJECTED = readStatement(
  "evidence.rejected",
  `
select e.seq, e.call, e.outcome, e.recorded_at, d.claimed_by, ${BODY},
  coalesce(${fencedWhy("d", "run")}, d.outcome, 'its claim was given up') as reason
from ghouls.evidence e
join ghouls.runs run on run.tenant_id = e.tenant_id and run.run_id = e.run_id
join ghouls.deliveries d on d.tenant_id = e.tenant_id and d.run_id = e.run_id and d.seq = e.seq
where e.tenant_id = $1 and e.run_id = $2 and e.class = 'rejected'
order by e.recorded_at desc, e.evidence_id
limit $3`,
);

const COPIES = readStatement(
  "evidence.copies",
  `
select e.evidence_id, e.seq, e.call, e.outcome, e.ordinal, e.tries, e.started_at, e.completed_at, ${BODY},
  ${microsOf("e.completed_at")}
from ghouls.evidence e
where e.tenant_id = $1 and e.run_id = $2 and e.class = 'durable_best_effort'
  and (e.completed_at, e.evidence_id) > (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid)
order by e.completed_at, e.evidence_id
limit $5`,
);

export interface ShownRecord {
  readonly digest: string;
  readonly writtenAt: Date;
  readonly bytes: number;
  /** Null where it is too long to be shown. */
  readonly text: string | null;
  /** With its own digest, and with what the rows of its run say. */
  readonly agrees: boolean;
  readonly seal: { readonly number: number; readonly sealedAt: Date; readonly digest: string } | null;
}

/** A stored text, as far as it is shown. */
export interface ShownBody {
  /** Null where there was nothing to store. */
  readonly digest: string | null;
  /** Null where nothing is stored, or no longer. */
  readonly bytes: number | null;
  /** Null also where it is too long. */
  readonly text: string | null;
}

export interface ShownRejected {
  readonly seq: number;
  /** Of the call, as `callKey` writes it. */
  readonly call: string;
  readonly outcome: "ok" | "error";
  readonly at: Date;
  readonly worker: string | null;
  readonly reason: string;
  readonly body: ShownBody;
}

export interface ShownCopy {
  readonly seq: number;
  readonly call: string;
  readonly outcome: "ok" | "error";
  /** Null for what is no entry of the journal, such as an emitted event. */
  readonly ordinal: number | null;
  readonly tries: number;
  readonly startedAt: Date;
  readonly completedAt: Date;
  readonly body: ShownBody;
}

/** The terminal record of a run, or null. Of a run with a long journal it takes a while. */
export async function readTerminalRecord(
  executor: Executor,
  { tenantId, runId }: RunKey,
): Promise<ShownRecord | null> {
  const [row] = await executor.run(TERMINAL, [tenantId, runId, MOST_RECORD_BYTES, MOST_SEALS]);
  if (row === undefined) return null;
  const r = rows(row);
  const sealedAt = r.dateOrNull("sealed_at");
  return {
    digest: r.text("record_digest"),
    writtenAt: r.date("written_at"),
    bytes: r.number("bytes"),
    text: r.textOrNull("record_text"),
    agrees: r.boolean("agrees"),
    seal: sealedAt === null ? null : { number: r.number("number"), sealedAt, digest: r.text("digest") },
  };
}

/** What workers brought after their claim was taken away, the newest first: {@link MOST_REJECTED} at most. */
export async function readRejected(
  executor: Executor,
  { tenantId, runId }: RunKey,
): Promise<ShownRejected[]> {
  const found = await executor.run(REJECTED, [tenantId, runId, MOST_REJECTED]);
  return found.map((row) => {
    const r = rows(row);
    return {
      seq: r.number("seq"),
      call: r.text("call"),
      outcome: r.text("outcome") as "ok" | "error",
      at: r.date("recorded_at"),
      worker: r.textOrNull("claimed_by"),
      reason: r.text("reason"),
      body: bodyOf(row),
    };
  });
}

const FIRST: NewestPosition = { micros: "0", id: "00000000-0000-0000-0000-000000000000" };

/** A page of a run's copies, in the order of time. */
export async function readCopies(
  executor: Executor,
  { tenantId, runId }: RunKey,
  { limit, after = FIRST }: { readonly limit: number; readonly after?: NewestPosition },
): Promise<{ readonly copies: readonly ShownCopy[]; readonly next: NewestPosition | undefined }> {
  const found = await executor.run(COPIES, [tenantId, runId, after.micros, after.id, limit + 1]);
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return {
    copies: shown.map((row) => {
      const r = rows(row);
      return {
        seq: r.number("seq"),
        call: r.text("call"),
        outcome: r.text("outcome") as "ok" | "error",
        ordinal: r.numberOrNull("ordinal"),
        tries: r.number("tries"),
        startedAt: r.date("started_at"),
        completedAt: r.date("completed_at"),
        body: bodyOf(row),
      };
    }),
    next: last && { micros: rows(last).text("micros"), id: rows(last).text("evidence_id") },
  };
}

function bodyOf(row: Row): ShownBody {
  const r = rows(row);
  return {
    digest: r.textOrNull("body_digest"),
    bytes: r.numberOrNull("body_bytes"),
    text: r.textOrNull("body_text"),
  };
}
