import { ENDING_RUN, PUBLICATION_DELAYS, sqlStates, type DeliveryRef, type Publication } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { isPaused, notPaused } from "../sql/paused.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A delivery whose publication is due, with how often it has been published. */
export interface DuePublication extends Publication {
  readonly publications: number;
}

/**
 * One bounded index scan for each priority, highest first: neither waiting nor finished deliveries are read. A delivery
 * whose publication was tried moves to a later time, so that no page stands in the way of the next.
 */
const DUE = readStatement(
  "deliveries.due-publications",
  `
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${notPaused("run")})
      or (d.cause = 'contain' and run.status in (${sqlStates(ENDING_RUN)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`,
);

/** Of what is paused a worker may have skipped the message already: it stays due, and the relay leaves it alone until then. */
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
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = greatest(ghouls.clock(), d.due_at) + case
    when d.status = 'PENDING' and d.cause <> 'contain' and exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${isPaused("run")})
    then interval '0 seconds'
    else ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second' end
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`,
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

/** The deliveries to publish now, highest priority first, at most `limit`. A system statement: it spans tenants. */
export async function readDuePublications(executor: Executor, limit: number): Promise<DuePublication[]> {
  const found = await executor.run(DUE, [limit]);
  return found.map((row) => {
    const r = rows(row);
    return {
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      enqueueSeq: r.number("seq"),
      queue: r.text("queue"),
      publications: r.number("publications"),
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
