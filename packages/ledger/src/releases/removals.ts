import { OPEN_RUN, sqlStates } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/**
 * What a later deploy has replaced that long ago: a deploy records its own before the switch, and what it replaces admits until
 * then. A statement of its own: what pins them is looked for when nobody records them anew any more.
 */
const LOCK = writeStatement(
  "releases.lock",
  `
select r.workflow_name, r.workflow_digest, r.bundle_digest
from ghouls.releases r
where r.removed_at is null and r.deployed_at < (
    select max(d.deployed_at) from ghouls.releases d
    where d.deployed_at < ghouls.clock() - $1::double precision * interval '1 second')
order by r.workflow_name, r.workflow_digest, r.bundle_digest
for update`,
);

const REMOVE = writeStatement(
  "releases.remove",
  `
with pinned as materialized (
  select distinct run.workflow_name as name, run.workflow_digest as digest
  from ghouls.runs run
  where run.status in (${sqlStates(OPEN_RUN)})
), candidate as materialized (
  select q.name, q.digest, q.bundle
  from unnest($2::text[], $3::text[], $4::text[]) as q(name, digest, bundle)
  where not exists (select from pinned where pinned.name = q.name and pinned.digest = q.digest)
    and not exists (
      select from ghouls.workflows w
      where w.name = q.name and w.digest = q.digest
        and w.last_seen_at >= ghouls.clock() - $1::double precision * interval '1 second')
), kept as materialized (
  select r.starts
  from ghouls.releases r
  where r.removed_at is null
    and (r.workflow_name, r.workflow_digest, r.bundle_digest) not in (select c.name, c.digest, c.bundle from candidate c)
)
update ghouls.releases r
set removed_at = ghouls.clock()
from candidate c
where r.workflow_name = c.name and r.workflow_digest = c.digest and r.bundle_digest = c.bundle and r.removed_at is null
  and not exists (select from kept where c.digest = any(kept.starts))
returning r.bundle_digest`,
);

/** Bundles that no release needs any more. */
const TO_DELETE = readStatement(
  "releases.to-delete",
  `
select distinct r.bundle_digest
from ghouls.releases r
where r.removed_at is not null and r.deleted_at is null
  and not exists (select from ghouls.releases o where o.bundle_digest = r.bundle_digest and o.removed_at is null)
order by r.bundle_digest`,
);

const MARK_DELETED = writeStatement(
  "releases.mark-deleted",
  `
update ghouls.releases r
set deleted_at = ghouls.clock()
where r.bundle_digest = $1 and r.removed_at is not null and r.deleted_at is null
returning r.bundle_digest`,
);

/**
 * Gives up what a later deploy has replaced that long ago, no process of that code has been started for that long, no open run is
 * pinned to, and no release that stays may start as a child. Answers how many; their bundles are to be deleted then.
 * @param unusedSeconds at least an hour or so: a run that is admitted in this very moment comes from a process that has the code
 */
export async function removeUnpinnedReleases(database: Database, unusedSeconds: number): Promise<number> {
  return database.transaction("releases.remove", async (transaction) => {
    const found = (await transaction.run(LOCK, [unusedSeconds])).map((row) => rows(row));
    if (found.length === 0) return 0;
    const removed = await transaction.run(REMOVE, [
      unusedSeconds,
      found.map((row) => row.text("workflow_name")),
      found.map((row) => row.text("workflow_digest")),
      found.map((row) => row.text("bundle_digest")),
    ]);
    return removed.length;
  });
}

/** Bundles of what was given up, as far as they are still in the store. */
export async function readBundlesToDelete(executor: Executor): Promise<readonly string[]> {
  return (await executor.run(TO_DELETE, [])).map((row) => rows(row).text("bundle_digest"));
}

/** Says that a bundle is not in the store any more. False where a deploy has it again meanwhile: it must be put there again. */
export async function markBundleDeleted(executor: Executor, bundle: string): Promise<boolean> {
  return (await executor.run(MARK_DELETED, [bundle])).length > 0;
}
