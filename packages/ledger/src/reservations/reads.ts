import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";

/** Units that a run holds or waits for (AWAY between two hops), or whose claim it has lost while something of that may still act. */
export interface Reservation {
  readonly capacity: string;
  readonly units: number;
  readonly name: string;
  readonly scope: string;
  readonly status: "WAITING" | "AWAY" | "HELD" | "LEFT";
  readonly askedAt: Date;
  readonly heldAt: Date | null;
}

const OF_RUN = readStatement(
  "reservations.of-run",
  `
select x.capacity, x.units, x.name, x.scope, x.status, x.asked_at, x.held_at
from ghouls.reservations x
where x.tenant_id = $1 and x.run_id = $2 and (x.status in ('WAITING', 'AWAY', 'HELD') or (x.status = 'LEFT' and exists (
  select from ghouls.containment_items i
  where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
    and i.acknowledged_at is null)))
order by x.asked_at, x.reservation_id`,
);

export async function readReservations(
  executor: Executor,
  key: { readonly tenantId: string; readonly runId: string },
): Promise<Reservation[]> {
  const found = await executor.run(OF_RUN, [key.tenantId, key.runId]);
  return found.map((row) => {
    const r = rows(row);
    return {
      capacity: r.text("capacity"),
      units: r.number("units"),
      name: r.text("name"),
      scope: r.text("scope"),
      status: r.text("status") as Reservation["status"],
      askedAt: r.date("asked_at"),
      heldAt: r.dateOrNull("held_at"),
    };
  });
}
