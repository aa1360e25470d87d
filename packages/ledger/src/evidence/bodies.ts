import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** The check that what is stored of an ended run is what its digests, and so its record, were made of. */
export const BODY_CHECK = "bodies of ended runs agree with their digests";

/** A stored body of an ended run that was altered, or removed though retention has not been there. */
export interface BadBody extends RunKey {
  /** For people. */
  readonly detail: string;
}

const bad = (text: string, digest: string) =>
  `(ghouls.text_digest(run.${text}) <> run.${digest} or (run.${text} is null and run.${digest} is not null and run.bodies_emptied_at is null))`;

const RUNS = readStatement(
  "evidence.verify-bodies",
  `
select run.tenant_id, run.run_id, ${bad("input_text", "input_digest")} as input, ${bad("output_text", "output_digest")} as output,
  ${bad("error_text", "error_digest")} as error
from unnest($1::text[], $2::uuid[]) as x(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
where run.finished_at is not null
order by run.tenant_id, run.run_id`,
);

const JOURNAL = readStatement(
  "evidence.verify-journal",
  `
select j.tenant_id, j.run_id, j.ordinal, ghouls.text_digest(j.result_text) <> j.result_digest and exists (
    select from ghouls.runs run
    where run.tenant_id = j.tenant_id and run.run_id = j.run_id and run.finished_at is not null) as bad
from (
  select j.tenant_id, j.run_id, j.ordinal, j.result_text, j.result_digest
  from ghouls.journal j
  where (j.tenant_id, j.run_id, j.ordinal) > ($1, $2::uuid, $3::integer)
  order by j.tenant_id, j.run_id, j.ordinal
  limit $4) as j
order by j.tenant_id, j.run_id, j.ordinal`,
);

/** What was looked at since then and is not among what stands. */
const GONE = writeStatement(
  "evidence.bodies-gone",
  `
update ghouls.integrity_faults fault
set gone_at = ghouls.clock()
where fault.check_name = $1 and fault.gone_at is null and fault.seen_at < $2::timestamptz
returning fault.fault_id`,
);

const NOW = readStatement("evidence.now", `select ghouls.clock()::text as at`);

/** Entries of one statement: each may be a mebibyte. */
const PAGE = 500;

/** What is wrong with the stored input, output and error of these runs. */
export async function verifyBodies(executor: Executor, keys: readonly RunKey[]): Promise<BadBody[]> {
  if (keys.length === 0) return [];
  const found = await executor.run(RUNS, [keys.map((key) => key.tenantId), keys.map((key) => key.runId)]);
  return found.flatMap((row) => {
    const names = ["input", "output", "error"].filter((name) => row[name] === true);
    if (names.length === 0) return [];
    const r = rows(row);
    const detail = `its stored ${names.join(" and ")} disagrees with its digest`;
    return [{ tenantId: r.text("tenant_id"), runId: r.text("run_id"), detail }];
  });
}

/** What is wrong with the stored results of all ended runs, in pages: a run of which several are is named for each. */
export async function* verifyResults(executor: Executor): AsyncGenerator<BadBody> {
  let after: [string, string, number] = ["", "00000000-0000-0000-0000-000000000000", 0];
  for (;;) {
    const page = await executor.run(JOURNAL, [...after, PAGE]);
    for (const row of page) {
      const r = rows(row);
      after = [r.text("tenant_id"), r.text("run_id"), r.number("ordinal")];
      const [tenantId, runId, ordinal] = after;
      if (row["bad"] === true)
        yield {
          tenantId,
          runId,
          detail: `the result of its journal entry ${ordinal} disagrees with its digest`,
        };
    }
    if (page.length < PAGE) return;
  }
}

/** Before a look at all bodies: whose fault was not seen since is gone after it. */
export async function bodiesLook(executor: Executor): Promise<{ readonly end: () => Promise<void> }> {
  const [row] = await executor.run(NOW, []);
  const began = rows(row ?? {}).text("at");
  return { end: async () => void (await executor.run(GONE, [BODY_CHECK, began])) };
}
