import { ENDING_RUN, PUBLICATION_DELAYS, sqlStates, type DeliveryRef, type Publication } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { MAX_STATE, type RepairNote } from "../reconciler/repairs.ts";
import { dueByName, inPage, runDue, type DueLook } from "../sql/due.ts";
import { pageOf, type PassPage } from "../sql/keyset.ts";
import { isPaused, notPaused } from "../sql/paused.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A delivery whose publication is due, with how often it has been published. */
export interface DuePublication extends Publication {
  readonly publications: number;
  readonly priority: number;
}

const PUBLISHABLE = `((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${notPaused("run")})
      or (d.cause = 'contain' and run.status in (${sqlStates(ENDING_RUN)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))`;

/** A position counts the higher priorities as time that has gone by before: three thousand years each, in microseconds. */
const PER_PRIORITY = "100000000000000000";

/**
 * One bounded index scan for each priority, highest first: neither waiting nor finished deliveries are read. A delivery
 * whose publication was tried moves to a later time, so that no page stands in the way of the next.
 */
const DUE = {
  page: readStatement(
    "deliveries.due-publications",
    `
select due.*, (9 - due.priority) * ${PER_PRIORITY} + (extract(epoch from due.next_publication_at) * 1000000)::bigint as micros
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and ${inPage("d.next_publication_at")}
    and (d.next_publication_at, d.run_id) > (
      case sign(9 - p.priority - $2::bigint / ${PER_PRIORITY})
        when 1 then timestamptz 'epoch'
        when 0 then timestamptz 'epoch' + ($2::bigint % ${PER_PRIORITY}) * interval '1 microsecond'
        else timestamptz 'infinity' end, $3::uuid)
    and ${PUBLISHABLE}
  order by d.next_publication_at, d.run_id
  limit $1
) as due
order by due.priority desc, due.next_publication_at, due.run_id
limit $1`,
  ),
  named: readStatement(
    "deliveries.due-publications-named",
    `
select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, 0::bigint as micros
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
where run.run_id = any($2::uuid[]) and d.status = 'PENDING' and ${dueByName("d.next_publication_at")}
  and ${PUBLISHABLE}
order by d.run_id
limit $1`,
  ),
};

/** Of what is paused a worker may have skipped the message already: it stays due, and the relay leaves it alone until then. */
const NEXT_PUBLICATION = `greatest(ghouls.clock(), d.due_at) + case
    when d.status = 'PENDING' and d.cause <> 'contain' and exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${isPaused("run")})
    then interval '0 seconds'
    else ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second' end`;

const PUBLISHED = `publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = ${NEXT_PUBLICATION}`;

const MARK_PUBLISHED = writeStatement(
  "deliveries.mark-published",
  `
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set ${PUBLISHED}
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`,
);

/**
 * What the relay has published, with its row of repairs: of two that have published the same, and of a mark that is sent
 * again, the first alone counts, by the number of publications that was read. That number can only be left.
 */
const MARK_RELAYED = writeStatement(
  "deliveries.mark-relayed",
  `
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.pass, q.rule, q.before_state
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::integer[], $6::text[], $7::text[], $8::text[])
    as q(tenant_id, run_id, seq, publications, pass, rule, before_state)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  where d.publications = q.publications
  order by d.tenant_id, d.run_id, d.seq
  for update of d
), published as (
  update ghouls.deliveries d
  set ${PUBLISHED}
  from marked
  where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
  returning d.tenant_id, d.run_id, d.seq, d.publications, d.status, marked.pass, marked.rule, marked.before_state
)
insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
select p.tenant_id, p.run_id, gen_random_uuid(), p.pass, p.rule, p.before_state,
  concat('delivery ', p.seq, ' ', p.status, ' published ', p.publications, ' times'), ghouls.clock()
from published p
returning run_id`,
);

const MARK_FAILED = writeStatement(
  "deliveries.mark-publication-failed",
  `
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`,
);

/**
 * What a worker skips because it is paused has no message any more: it is due from now on, and the relay leaves it alone until
 * the pause has ended. A message carries no tenant, so this is a system statement.
 */
const MARK_SKIPPED = writeStatement(
  "deliveries.mark-skipped-as-paused",
  `
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
  join ghouls.runs run on run.run_id = q.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set next_publication_at = least(d.next_publication_at, greatest(d.due_at, ghouls.clock()))
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id`,
);

/** Deliveries to publish now, highest priority first. Their owners are their runs. A system statement: it spans tenants. */
export async function readDuePublications(
  executor: Executor,
  look: DueLook,
): Promise<PassPage<DuePublication>> {
  const found = await runDue(executor, DUE, look);
  return pageOf(found, look.limit, (row) => {
    const r = rows(row);
    return {
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      enqueueSeq: r.number("seq"),
      queue: r.text("queue"),
      publications: r.number("publications"),
      priority: r.number("priority"),
    };
  });
}

/** Marks what SQS confirmed, also where a worker has claimed or settled it meanwhile: it was published. */
export async function markPublished(
  executor: Executor,
  publications: readonly (DeliveryRef & { readonly tenantId: string })[],
  delaysSeconds: readonly number[] = PUBLICATION_DELAYS.afterSuccess,
): Promise<number> {
  if (publications.length === 0) return 0;
  return (await executor.run(MARK_PUBLISHED, [...arrays(publications), delaysSeconds])).length;
}

/** The same by the relay, each with its row of repairs. Answers the runs whose mark counted. */
export async function markRelayed(
  executor: Executor,
  publications: readonly (DuePublication & { readonly repair: RepairNote })[],
  delaysSeconds: readonly number[] = PUBLICATION_DELAYS.afterSuccess,
): Promise<ReadonlySet<string>> {
  if (publications.length === 0) return new Set();
  const found = await executor.run(MARK_RELAYED, [
    ...arrays(publications),
    delaysSeconds,
    publications.map((one) => one.publications),
    publications.map(({ repair }) => repair.pass),
    publications.map(({ repair }) => repair.rule),
    publications.map(({ repair }) => repair.before.slice(0, MAX_STATE)),
  ]);
  return new Set(found.map((row) => rows(row).text("run_id")));
}

/** Marks what could not be published, with the reason. Failing to publish never ends a run. */
export async function markPublicationFailed(
  executor: Executor,
  failures: readonly {
    readonly publication: DeliveryRef & { readonly tenantId: string };
    readonly reason: string;
  }[],
  delaysSeconds: readonly number[] = PUBLICATION_DELAYS.afterFailure,
): Promise<number> {
  if (failures.length === 0) return 0;
  const publications = failures.map((failure) => failure.publication);
  const reasons = failures.map((failure) => failure.reason.slice(0, 500).replaceAll("\0", ""));
  return (await executor.run(MARK_FAILED, [...arrays(publications), delaysSeconds, reasons])).length;
}

/** To be called before the messages of deliveries go that were skipped as paused: whoever ends the pause knows of none. */
export async function markSkippedAsPaused(executor: Executor, refs: readonly DeliveryRef[]): Promise<number> {
  if (refs.length === 0) return 0;
  const values = [refs.map(({ runId }) => runId), refs.map(({ enqueueSeq }) => enqueueSeq)];
  return (await executor.run(MARK_SKIPPED, values)).length;
}

function arrays(
  publications: readonly (DeliveryRef & { readonly tenantId: string })[],
): [string[], string[], number[]] {
  return [
    publications.map((publication) => publication.tenantId),
    publications.map((publication) => publication.runId),
    publications.map((publication) => publication.enqueueSeq),
  ];
}
