import {
  judgeDecision,
  type ConsentStatus,
  type DecisionJudgement,
  type DecisionWord,
  type OnExpiry,
  type Verdict,
} from "@ghouls/core";
import type { Database, Executor, Row } from "../connection/database.ts";
import { lockRuns, type RunKey } from "../containment/endings.ts";
import { recordRepair, type RepairNote } from "../reconciler/repairs.ts";
import { microsOf } from "../sql/keyset.ts";
import { resumedAs, resumeIfClosed, type Resumption } from "./resumptions.ts";
import {
  newestOf,
  olderThan,
  type NewestPosition,
  newestValues,
  type NewestFilter,
  type NewestPage,
} from "../sql/newest.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A consent without its frozen request. */
export interface ListedConsent extends RunKey {
  readonly consentId: string;
  readonly status: ConsentStatus;
  readonly title: string;
  readonly requestDigest: string;
  readonly deciders: readonly string[];
  readonly quorum: number;
  readonly requesterMayDecide: boolean;
  readonly onExpiry: OnExpiry;
  readonly source: string | null;
  readonly workflow: string;
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
}

/** A consent with its frozen request, as stored. */
export interface StoredConsent extends ListedConsent {
  /** Empty where retention has emptied it. */
  readonly requestText: string;
  readonly storedDigest: string;
}

export interface StoredDecision {
  readonly by: string;
  readonly verdict: Verdict;
  readonly at: Date;
  readonly commentText: string | null;
}

const LISTED = `c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`;
/** The columns of {@link consentOf}. */
export const COLUMNS = `${LISTED}, c.request_text, c.stored_digest`;
export const OF = `from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`;

const READ = readStatement(
  "consents.read",
  `
select ${COLUMNS}
${OF}
where c.tenant_id = $1 and c.consent_id = $2`,
);

const DECISIONS = readStatement(
  "consents.decisions",
  `
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`,
);

/**
 * Newest first; of one run, or only those that wait, where that is asked. A page of requests would be too much to read:
 * the server compares them with their digests.
 */
const PAGE = readStatement(
  "consents.page",
  `
select ${LISTED}, ${microsOf("c.created_at")},
  c.request_text is null or encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
${OF}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ${olderThan("c.created_at", "c.consent_id", 5)}
order by c.created_at desc, c.consent_id desc
limit $2`,
);

/** Consents that one page of an inbox looks at, the newest: it stays a bounded index scan, whoever they are for. */
const LOOKED = 1_000;

/** Those of what was looked at that a person may decide and has not, by the rules of `judgeDecision`. */
const INBOX = readStatement(
  "consents.inbox",
  `
with looked as materialized (
  select c.*
  from ghouls.consents c
  where c.tenant_id = $1 and c.status = 'PENDING' and ${olderThan("c.created_at", "c.consent_id", 5)}
  order by c.created_at desc, c.consent_id desc
  limit $7
), last as (
  select (extract(epoch from l.created_at) * 1000000)::bigint as last_micros, l.consent_id as last_id,
    (select count(*) from looked)::integer as looked
  from looked l
  order by l.created_at, l.consent_id
  limit 1
), mine as (
  select ${LISTED}, ${microsOf("c.created_at")},
    c.request_text is null or encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
  from looked c
  -- One by one: as joins, a plan may begin with all runs and all decisions that there are.
  cross join lateral (
    select run.workflow_name, run.requested_by
    from ghouls.runs run
    where run.tenant_id = $1 and run.run_id = c.run_id
    offset 0
  ) as run
  where c.deciders && $4::text[] and (c.requester_may_decide or run.requested_by <> $3)
    and (c.expires_at is null or c.expires_at > ghouls.clock())
    and (
      select count(*) from ghouls.consent_decisions s
      where s.tenant_id = $1 and s.run_id = c.run_id and s.consent_id = c.consent_id and s.subject = $3) = 0
  order by c.created_at desc, c.consent_id desc
  limit $2
)
select last.last_micros, last.last_id, last.looked, mine.*
from last left join mine on true
order by mine.created_at desc, mine.consent_id desc`,
);

const LOCK = readStatement(
  "consents.lock",
  `
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`,
);

const DECIDE = writeStatement(
  "consents.decide",
  `
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`,
);

/** What a decision did, or why it did nothing. */
export interface DecideAnswer {
  readonly judgement: DecisionJudgement;
  readonly consent: StoredConsent;
  /** The delivery that brings the run back, where this word was the last one that it waited for. */
  readonly resumption: Resumption | null;
}

/**
 * One word about a consent, in one commit with the run's next delivery where it decides. Reads the consent, locks its run
 * and then the consent, and judges what it finds then. Null where the tenant has no such consent.
 */
export async function decideConsent(
  database: Database,
  key: { readonly tenantId: string; readonly consentId: string },
  word: DecisionWord & { readonly commentText: string | null; readonly commentDigest: string | null },
  settings: {
    readonly publisherGraceSeconds: number;
    readonly asSource?: boolean;
    /** Where it is a repair of the reconciler. */
    readonly repair?: RepairNote;
  },
): Promise<DecideAnswer | null> {
  const consent = await readConsent(database, key);
  if (consent === null) return null;
  return database.transaction("consents.decide", async (transaction): Promise<DecideAnswer | null> => {
    await lockRuns(transaction, [consent]);
    const place = [consent.tenantId, consent.runId, consent.consentId] as const;
    const [locked] = await transaction.run(LOCK, place);
    if (locked === undefined) return null;
    const r = rows(locked);
    const judgement = judgeDecision(
      {
        status: r.text("status") as ConsentStatus,
        closedBy: r.textOrNull("closed_by"),
        deciders: consent.deciders,
        quorum: consent.quorum,
        requesterMayDecide: consent.requesterMayDecide,
        requestedBy: consent.requestedBy,
        requestDigest: consent.requestDigest,
        expired: r.boolean("expired"),
        decisions: await readDecisions(transaction, consent),
      },
      word,
      settings.asSource === true,
    );
    // A decision after the expiry is the expiry, even before a pass has seen it.
    const moves = judgement.kind === "counts" || judgement.kind === "expired";
    if (judgement.kind === "counts") {
      const { subject, verdict, commentText, commentDigest } = word;
      await transaction.run(DECIDE, [
        ...place,
        subject,
        verdict,
        commentText,
        commentDigest,
        judgement.becomes,
      ]);
    }
    const resumption = moves
      ? await resumeIfClosed(transaction, consent, settings.publisherGraceSeconds)
      : null;
    const after = moves ? ((await readConsent(transaction, key)) ?? consent) : consent;
    if (moves && settings.repair !== undefined) {
      const [became, back] = [after.status, resumption === null ? "" : `, run ${resumedAs(resumption)}`];
      await recordRepair(transaction, consent, { ...settings.repair, after: `${became}${back}` });
    }
    return {
      judgement,
      consent: { ...after, status: moves ? after.status : (r.text("status") as ConsentStatus) },
      resumption,
    };
  });
}

export async function readConsent(
  executor: Executor,
  key: { readonly tenantId: string; readonly consentId: string },
): Promise<StoredConsent | null> {
  const [row] = await executor.run(READ, [key.tenantId, key.consentId]);
  return row === undefined ? null : consentOf(row);
}

export async function readDecisions(
  executor: Executor,
  consent: RunKey & { readonly consentId: string },
): Promise<StoredDecision[]> {
  const found = await executor.run(DECISIONS, [consent.tenantId, consent.runId, consent.consentId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      by: r.text("subject"),
      verdict: r.text("verdict") as Verdict,
      at: r.date("decided_at"),
      commentText: r.textOrNull("comment_text"),
    };
  });
}

/** A page of a tenant's consents, newest first. One whose request disagrees with its digest is not `intact`. */
export async function readConsentPage(
  executor: Executor,
  tenantId: string,
  filter: NewestFilter<ConsentStatus>,
  page: NewestPage,
): Promise<{
  readonly consents: readonly (ListedConsent & { readonly intact: boolean })[];
  readonly next: NewestPosition | undefined;
}> {
  const found = await executor.run(PAGE, newestValues(tenantId, filter, page));
  return pageOf(found, page.limit);
}

/**
 * A page of the consents that wait for a person's word, newest first. Where few of many are theirs it may be short, or empty, and
 * go on all the same.
 * @param who the person, and what deciders may call them (`decidersNaming`)
 */
export async function readInbox(
  executor: Executor,
  tenantId: string,
  who: { readonly subject: string; readonly named: readonly string[] },
  { limit, after }: NewestPage,
): ReturnType<typeof readConsentPage> {
  const position = [after?.micros ?? null, after?.id ?? null];
  const values = [tenantId, limit + 1, who.subject, who.named, ...position, LOOKED];
  const found = await executor.run(INBOX, values);
  const page = pageOf(
    found.filter((row) => rows(row).textOrNull("consent_id") !== null),
    limit,
  );
  const [first] = found;
  if (page.next !== undefined || first === undefined || rows(first).number("looked") < LOOKED) return page;
  return { ...page, next: { micros: rows(first).text("last_micros"), id: rows(first).text("last_id") } };
}

function pageOf(found: readonly Row[], limit: number) {
  const { shown, next } = newestOf(found, limit, "consent_id", (row) => ({
    ...listedOf(row),
    intact: rows(row).boolean("intact"),
  }));
  return { consents: shown, next };
}

export function consentOf(row: Row): StoredConsent {
  const r = rows(row);
  return {
    ...listedOf(row),
    requestText: r.textOrNull("request_text") ?? "",
    storedDigest: r.text("stored_digest"),
  };
}

function listedOf(row: Row): ListedConsent {
  const r = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    consentId: r.text("consent_id"),
    status: r.text("status") as ConsentStatus,
    title: r.text("title"),
    requestDigest: r.text("request_digest"),
    deciders: r.texts("deciders"),
    quorum: r.number("quorum"),
    requesterMayDecide: r.boolean("requester_may_decide"),
    onExpiry: r.text("on_expiry") as OnExpiry,
    source: r.textOrNull("source"),
    workflow: r.text("workflow_name"),
    requestedBy: r.text("requested_by"),
    createdAt: r.date("created_at"),
    expiresAt: r.dateOrNull("expires_at"),
    closedAt: r.dateOrNull("closed_at"),
    closedBy: r.textOrNull("closed_by"),
  };
}
