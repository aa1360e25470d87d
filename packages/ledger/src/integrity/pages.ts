import type { IntegrityFault } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { microsOf } from "../sql/keyset.ts";
import { olderThan, type NewestPosition } from "../sql/newest.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import { FAULT, contradicts, faultOf, isOpen } from "./fault.ts";

/** Of a tenant, and of the deployment where `$2` says so. */
const page = (name: string, which: string) =>
  readStatement(
    name,
    `
select ${FAULT}, ${microsOf("f.found_at")}
from ghouls.integrity_faults f
where coalesce(f.tenant_id, '') = any(case when $2::boolean then array[$1::text, ''] else array[$1::text] end) and ${which}
  and ${olderThan("f.found_at", "f.fault_id", 4)}
order by f.found_at desc, f.fault_id desc
limit $3`,
  );
const OPEN = page("integrity.page-open", isOpen("f"));
const OTHERS = page("integrity.page-others", "(f.gone_at is not null or f.acknowledged_at is not null)");

const UNACKNOWLEDGED = readStatement(
  "integrity.unacknowledged",
  `
select count(*)::integer as faults
from ghouls.integrity_faults f
where ${contradicts("f")}`,
);

export interface FaultFilter {
  readonly tenantId: string;
  /** With those of the deployment. */
  readonly deployment: boolean;
  /** Those alone that stand and that nobody has acknowledged. */
  readonly openOnly: boolean;
}

/** Where a list of faults goes on. */
export interface FaultPosition extends NewestPosition {
  /** Whether the open ones are behind it. */
  readonly open: boolean;
}

/** The open ones first, each part newest first. One that is closed between two pages may be seen twice. */
export async function readFaultPage(
  executor: Executor,
  filter: FaultFilter,
  { limit, after }: { readonly limit: number; readonly after?: FaultPosition | undefined },
): Promise<{ readonly faults: readonly IntegrityFault[]; readonly next: FaultPosition | undefined }> {
  const read = async (open: boolean, most: number, from: NewestPosition | undefined): Promise<Part> => {
    const { tenantId, deployment } = filter;
    const values = [tenantId, deployment, most + 1, from?.micros ?? null, from?.id ?? null];
    const found = await executor.run(open ? OPEN : OTHERS, values);
    const last = found.slice(0, most).at(-1);
    return {
      shown: found.slice(0, most).map(faultOf),
      more: found.length > most,
      last: last && { micros: rows(last).text("micros"), id: rows(last).text("fault_id"), open },
    };
  };
  const openBehind = after === undefined || after.open;
  const open = openBehind ? await read(true, limit, after) : { shown: [], more: false, last: undefined };
  if (open.more) return { faults: open.shown, next: open.last };
  if (filter.openOnly) return { faults: open.shown, next: undefined };
  const others = await read(false, limit - open.shown.length, openBehind ? undefined : after);
  // Where the open ones have filled the page, the next one finds no more of them, and begins with the others.
  const next = others.more ? (others.last ?? open.last) : undefined;
  return { faults: [...open.shown, ...others.shown], next };
}

interface Part {
  readonly shown: readonly IntegrityFault[];
  readonly more: boolean;
  readonly last: FaultPosition | undefined;
}

/** How many faults of the ledger stand that nobody has acknowledged, what a deployment lacks aside. By an index. */
export async function countUnacknowledged(executor: Executor): Promise<number> {
  const [row] = await executor.run(UNACKNOWLEDGED, []);
  return rows(row ?? {}).number("faults");
}
