import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";

const EMITTED = readStatement(
  "evidence.emitted",
  `
select e.seq, e.number, e.call, e.completed_at, e.body_text
from ghouls.evidence e
where e.tenant_id = $1 and e.run_id = $2 and e.number is not null and e.body_text is not null
  and (e.seq, e.number) > ($3::integer, $4::integer) and (e.seq, e.number) < ($5::integer, $6::integer)
order by e.seq, e.number
limit $7`,
);

/** An event's place among all that a run's hops have said. */
export interface SaidPlace {
  readonly seq: number;
  readonly number: number;
}

/** The copy of an emitted event. */
export interface EmittedCopy extends SaidPlace {
  /** As `Streaming` writes it. */
  readonly call: string;
  readonly at: Date;
  readonly bodyText: string;
}

/** Behind all that any hop can say. */
const LAST = 2_147_483_647;
export const END_OF_SAID: SaidPlace = { seq: LAST, number: LAST };

/**
 * Copies of the events that a run's hops have emitted between two places, in their order, and no more than this many; those that
 * retention has emptied are not among them.
 */
export async function readEmitted(
  executor: Executor,
  { tenantId, runId }: RunKey,
  after: SaidPlace,
  before: SaidPlace,
  limit: number,
): Promise<EmittedCopy[]> {
  const places = [after.seq, after.number, before.seq, before.number];
  const found = await executor.run(EMITTED, [tenantId, runId, ...places, limit]);
  return found.map((row) => {
    const r = rows(row);
    return {
      seq: r.number("seq"),
      number: r.number("number"),
      call: r.text("call"),
      at: r.date("completed_at"),
      bodyText: r.text("body_text"),
    };
  });
}
