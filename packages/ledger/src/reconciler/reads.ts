import type { Executor } from "../connection/database.ts";
import { microsOf } from "../sql/keyset.ts";
import { newestOf, type NewestPosition } from "../sql/newest.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import type { Repair } from "./repairs.ts";

/** How far a pass has come, and what its last turn did. */
export interface PassState {
  readonly pass: string;
  readonly round: number;
  readonly roundUntil: Date | null;
  readonly cursor: string | null;
  readonly reconciler: string | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly pages: number;
  readonly found: number;
  readonly repaired: number;
  readonly failed: number;
  readonly error: string | null;
}

export interface DegradedOwner {
  readonly pass: string;
  readonly owner: string;
  readonly tenantId: string;
  readonly runId: string | null;
  readonly pageId: string;
  readonly degradedAt: Date;
  readonly tries: number;
  readonly nextTurnAt: Date;
  readonly reason: string;
}

/** A page with an owner that stands aside. */
export interface DegradedPage {
  readonly pass: string;
  readonly pageId: string;
  readonly degradedAt: Date;
  readonly owners: number;
  readonly tries: number;
  readonly nextTurnAt: Date;
}

/** A repair that was carried out. */
export interface KeptRepair extends Repair {
  readonly repairId: string;
  readonly tenantId: string;
  readonly runId: string;
  readonly at: Date;
}

const PASSES = readStatement(
  "passes.all",
  `
select p.pass, p.round::text, p.round_until, p.cursor_owner, p.reconciler, p.started_at, p.ended_at, p.pages, p.found,
  p.repaired, p.failed, p.error
from ghouls.passes p
order by p.pass`,
);

const OWNERS = readStatement(
  "degraded.page",
  `
select g.pass, g.owner, g.tenant_id, g.run_id, g.page_id, g.degraded_at, g.tries, g.next_turn_at, g.reason
from ghouls.degraded_owners g
where (g.pass, g.owner) > ($2::text, $3::text)
order by g.pass, g.owner
limit $1`,
);

const PAGES = readStatement(
  "degraded.pages",
  `
select g.pass, g.page_id, g.degraded_at, g.owners, g.tries, g.next_turn_at
from ghouls.degraded_pages g
order by g.degraded_at, g.page_id
limit $1`,
);

/** Behind it is everything: three thousand years from the epoch. */
const NEWEST: NewestPosition = { micros: "100000000000000000", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

const REPAIRS = readStatement(
  "repairs.page",
  `
select r.tenant_id, r.run_id, r.repair_id, r.pass, r.rule, r.before_state, r.after_state, r.at, ${microsOf("r.at")}
from ghouls.repairs r
where (r.at, r.repair_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
order by r.at desc, r.repair_id desc
limit $1`,
);

/** Every pass that has had a turn. Belongs to the deployment, as do the others here: they span tenants. */
export async function readPassStates(executor: Executor): Promise<PassState[]> {
  const found = await executor.run(PASSES, []);
  return found.map((row) => {
    const r = rows(row);
    return {
      pass: r.text("pass"),
      round: Number(r.text("round")),
      roundUntil: r.dateOrNull("round_until"),
      cursor: r.textOrNull("cursor_owner"),
      reconciler: r.textOrNull("reconciler"),
      startedAt: r.dateOrNull("started_at"),
      endedAt: r.dateOrNull("ended_at"),
      pages: r.number("pages"),
      found: r.number("found"),
      repaired: r.number("repaired"),
      failed: r.number("failed"),
      error: r.textOrNull("error"),
    };
  });
}

/** Where a list of degraded owners goes on: behind this one. */
export type DegradedPosition = Pick<DegradedOwner, "pass" | "owner">;

/** Degraded owners, by pass and name. */
export async function readDegradedOwners(
  executor: Executor,
  limit: number,
  after?: DegradedPosition,
): Promise<{ readonly owners: readonly DegradedOwner[]; readonly next: DegradedPosition | undefined }> {
  const found = await executor.run(OWNERS, [limit + 1, after?.pass ?? "", after?.owner ?? ""]);
  const owners = found.slice(0, limit).map((row): DegradedOwner => {
    const r = rows(row);
    return {
      pass: r.text("pass"),
      owner: r.text("owner"),
      tenantId: r.text("tenant_id"),
      runId: r.textOrNull("run_id"),
      pageId: r.text("page_id"),
      degradedAt: r.date("degraded_at"),
      tries: r.number("tries"),
      nextTurnAt: r.date("next_turn_at"),
      reason: r.text("reason"),
    };
  });
  return { owners, next: found.length > limit ? owners.at(-1) : undefined };
}

/** The pages that are degraded, the longest first, at most `limit`. */
export async function readDegradedPages(executor: Executor, limit: number): Promise<DegradedPage[]> {
  const found = await executor.run(PAGES, [limit]);
  return found.map((row) => {
    const r = rows(row);
    return {
      pass: r.text("pass"),
      pageId: r.text("page_id"),
      degradedAt: r.date("degraded_at"),
      owners: r.number("owners"),
      tries: r.number("tries"),
      nextTurnAt: r.date("next_turn_at"),
    };
  });
}

/** A page of repairs, newest first. */
export async function readRepairs(
  executor: Executor,
  limit: number,
  after?: NewestPosition,
): Promise<{ readonly repairs: readonly KeptRepair[]; readonly next: NewestPosition | undefined }> {
  const found = await executor.run(REPAIRS, [
    limit + 1,
    after?.micros ?? NEWEST.micros,
    after?.id ?? NEWEST.id,
  ]);
  const { shown, next } = newestOf(found, limit, "repair_id", (row): KeptRepair => {
    const r = rows(row);
    return {
      repairId: r.text("repair_id"),
      tenantId: r.text("tenant_id"),
      runId: r.text("run_id"),
      pass: r.text("pass"),
      rule: r.text("rule"),
      before: r.text("before_state"),
      after: r.text("after_state"),
      at: r.date("at"),
    };
  });
  return { repairs: shown, next };
}
