import { GhoulsError, type Pause, type PauseScope, type PauseTarget } from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import { HOLDS } from "../sql/paused.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const PAUSE = `p.pause_id, p.scope, p.tenant_id, p.workflow, p.actor, p.reason, p.at`;

/** Nothing where such a pause is set already, also by another transaction that has just been committed. */
const SET = writeStatement(
  "pauses.set",
  `
insert into ghouls.pauses as p (pause_id, scope, tenant_id, workflow, actor, reason, at)
select q.pause_id, q.scope, q.tenant_id, q.workflow, coalesce(q.actor, 'database role ' || session_user), q.reason, ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[])
  as q(tenant_id, workflow, scope, pause_id, actor, reason)
on conflict (coalesce(tenant_id, ''), coalesce(workflow, '')) where lifted_at is null do nothing
returning ${PAUSE}`,
);

const OF_TARGET = readStatement(
  "pauses.of-target",
  `
select ${PAUSE}
from ghouls.pauses p
where ${HOLDS.tenant} = coalesce($1::text, '') and ${HOLDS.workflow} = coalesce($2::text, '') and p.lifted_at is null`,
);

/** Those of the deployment hold every tenant's runs, and each tenant may know of them. */
const OF_TENANT = readStatement(
  "pauses.of-tenant",
  `
select ${PAUSE}
from ghouls.pauses p
where p.lifted_at is null and ${HOLDS.tenant} = any(array[$1::text, ''])
order by p.at, p.pause_id`,
);

const ALL = readStatement(
  "pauses.all",
  `
select ${PAUSE}
from ghouls.pauses p
where p.lifted_at is null
order by p.at, p.pause_id
limit $1`,
);

const LIFT = writeStatement(
  "pauses.lift",
  `
update ghouls.pauses p
set lifted_at = ghouls.clock(), lifted_by = coalesce($2::text, 'database role ' || session_user), lift_reason = $3
where p.pause_id = $1 and p.lifted_at is null
returning ${PAUSE}`,
);

const BY_ID = readStatement(
  "pauses.by-id",
  `
select ${PAUSE}
from ghouls.pauses p
where p.pause_id = $1`,
);

export interface NewPause extends PauseTarget {
  readonly pauseId: string;
  /** Who sets it; the database's role where null. */
  readonly actor: string | null;
  readonly reason: string;
}

/**
 * Sets a pause; of two at once one is set. `created` is false where it was set before, and then it stays as it was. From its
 * commit on no claim is made that it holds, but for one whose statement had begun: that run yields as the carried ones do.
 */
export async function setPause(
  executor: Executor,
  pause: NewPause,
): Promise<{ readonly created: boolean; readonly pause: Pause }> {
  const { pauseId, scope, tenantId, workflow, actor, reason } = pause;
  for (let times = 0; times < 5; times += 1) {
    const columns = [tenantId, workflow, scope, pauseId, actor, reason].map((value) => [value]);
    const [made] = await executor.run(SET, columns);
    if (made !== undefined) return { created: true, pause: pauseOf(made) };
    const before = await findPause(executor, pause);
    // An earlier try of this statement may have been committed, and its answer lost.
    if (before !== null) return { created: before.pauseId === pauseId, pause: before };
    // Lifted between the two.
  }
  throw new GhoulsError(
    "ledger_unavailable",
    "the pause is lifted as fast as it is set; nothing was written",
    {
      fix: "Set it again.",
      retryAfterSeconds: 1,
    },
  );
}

/** The pause of exactly this target that is set; null where there is none. */
export async function findPause(
  executor: Executor,
  { tenantId, workflow }: Pick<PauseTarget, "tenantId" | "workflow">,
): Promise<Pause | null> {
  const [row] = await executor.run(OF_TARGET, [tenantId, workflow]);
  return row === undefined ? null : pauseOf(row);
}

/** The pauses that hold runs of a tenant, the longest first. */
export async function readPausesOfTenant(executor: Executor, tenantId: string): Promise<Pause[]> {
  return (await executor.run(OF_TENANT, [tenantId])).map(pauseOf);
}

/** Every pause that is set, the longest first, at most `limit`. */
export async function readPauses(executor: Executor, limit: number): Promise<Pause[]> {
  return (await executor.run(ALL, [limit])).map(pauseOf);
}

/** The pause of an id, whether it is set or was lifted; null where there is none. */
export async function readPause(executor: Executor, pauseId: string): Promise<Pause | null> {
  const [row] = await executor.run(BY_ID, [pauseId]);
  return row === undefined ? null : pauseOf(row);
}

/**
 * Lifts a pause: what it held is due when it was, which is at once for whatever a worker has skipped for it. Null where there
 * is no such pause; `lifted` is false where it had been lifted before.
 */
export async function liftPause(
  executor: Executor,
  pauseId: string,
  by: { readonly actor: string | null; readonly reason: string },
): Promise<{ readonly lifted: boolean; readonly pause: Pause } | null> {
  const [row] = await executor.run(LIFT, [pauseId, by.actor, by.reason]);
  if (row !== undefined) return { lifted: true, pause: pauseOf(row) };
  const pause = await readPause(executor, pauseId);
  return pause === null ? null : { lifted: false, pause };
}

function pauseOf(row: Row): Pause {
  const r = rows(row);
  return {
    pauseId: r.text("pause_id"),
    scope: r.text("scope") as PauseScope,
    tenantId: r.textOrNull("tenant_id"),
    workflow: r.textOrNull("workflow"),
    by: r.text("actor"),
    reason: r.text("reason"),
    at: r.date("at"),
  };
}
