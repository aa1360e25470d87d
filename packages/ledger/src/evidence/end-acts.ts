import type { Database, Executor, Row } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { recordRepair } from "../reconciler/repairs.ts";
import type { DueLook } from "../sql/due.ts";
import { microsOf, type PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { behindOwner, lookValues, ownersOf } from "./pass-owners.ts";

/** What is done after the end of a run by its worker, or else by a pass. */
export type EndAct = "record" | "checkpoints";

/** An act that is still to be done. */
export interface DueEndAct extends RunKey {
  readonly act: EndAct;
  /** The run and the act: each has turns of its own. */
  readonly owner: string;
  readonly endedAt: Date;
}

const COLUMNS = "e.tenant_id, e.run_id, e.act, e.ended_at, e.due_at";

const dueOf = (act: EndAct) => `(select ${COLUMNS}, e.run_id::text || ' ${act}' as owner
  from ghouls.end_acts e
  where e.act = '${act}' and ${behindOwner("e.due_at", `e.run_id::text || ' ${act}'`)}
  order by e.due_at, e.run_id
  limit $1)`;

const DUE = readStatement(
  "evidence.due-acts",
  `
select e.tenant_id, e.run_id, e.act, e.ended_at, e.owner, ${microsOf("e.due_at")}
from (
  ${dueOf("record")}
  union all
  ${dueOf("checkpoints")}
) as e
order by e.due_at, e.owner collate "C"
limit $1`,
);

const DUE_OF_OWNERS = readStatement(
  "evidence.due-acts-of",
  `
select e.tenant_id, e.run_id, e.act, e.ended_at, e.run_id::text || ' ' || e.act as owner, ${microsOf("e.due_at")}
from unnest($1::uuid[], $2::text[]) as q(run_id, act)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.end_acts e on e.tenant_id = run.tenant_id and e.run_id = run.run_id and e.act = q.act
order by e.due_at, e.act
limit $3`,
);

/** The text is made of what is committed, so whoever writes it writes the same; one that is there stays. */
const WRITE_RECORD = writeStatement(
  "evidence.write-record",
  `
with made as materialized (
  select run.tenant_id, run.run_id, ghouls.terminal_text(run.tenant_id, run.run_id) as record_text
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.finished_at is not null
    and not exists (
      select from ghouls.terminal_records record where record.tenant_id = run.tenant_id and record.run_id = run.run_id)
), written as (
  insert into ghouls.terminal_records (tenant_id, run_id, record_text, record_digest, written_at)
  select made.tenant_id, made.run_id, made.record_text, ghouls.text_digest(made.record_text), ghouls.clock()
  from made
  on conflict (tenant_id, run_id) do nothing
  returning run_id
), done as (
  delete from ghouls.end_acts e
  using ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.finished_at is not null
    and e.tenant_id = run.tenant_id and e.run_id = run.run_id and e.act = 'record' and (select count(*) from written) >= 0
  returning e.run_id
)
select (select count(*) from written)::integer as written, (select count(*) from done)::integer as done`,
);

const DELETE_CHECKPOINTS = writeStatement(
  "evidence.delete-checkpoints",
  `
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.finished_at is not null
), written as (
  delete from ghouls.checkpoints c
  using r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id
  returning c.generation
), done as (
  delete from ghouls.end_acts e
  using r
  where e.tenant_id = r.tenant_id and e.run_id = r.run_id and e.act = 'checkpoints' and (select count(*) from written) >= 0
  returning e.run_id
)
select (select count(*) from written)::integer as written, (select count(*) from done)::integer as done`,
);

const ACTS = { record: WRITE_RECORD, checkpoints: DELETE_CHECKPOINTS } as const;

/** A page of acts that are still to be done, the longest due first. Spans tenants. */
export async function readDueActs(executor: Executor, look: DueLook): Promise<PassPage<DueEndAct>> {
  if (look.owners === undefined)
    return ownersOf(await executor.run(DUE, lookValues(look)), look.limit, actOf);
  const named = look.owners.map((owner) => [owner.slice(0, 36), owner.slice(37)] as const);
  const found = await executor.run(DUE_OF_OWNERS, [
    named.map(([runId]) => runId),
    named.map(([, act]) => act),
    look.limit,
  ]);
  return { found: found.map(actOf), next: undefined };
}

function actOf(row: Row): DueEndAct {
  const r = rows(row);
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    act: r.text("act") as EndAct,
    owner: r.text("owner"),
    endedAt: r.date("ended_at"),
  };
}

/**
 * Carries out what follows the end of a run: its terminal record, or the deletion of its checkpoints. Nothing of it can
 * revise the end; a repeat does nothing. True where it was still to be done.
 */
export async function carryOutEndAct(executor: Executor, key: RunKey, act: EndAct): Promise<boolean> {
  return (await carryOut(executor, key, act)).done;
}

/** The same by the reconciler, with the row of the repair in its commit. */
export async function repairEndAct(database: Database, { act, ...key }: DueEndAct): Promise<boolean> {
  return database.transaction(`evidence.repair-${act}`, async (transaction) => {
    const { done, written } = await carryOut(transaction, key, act);
    if (done) {
      const after = act === "record" ? (written > 0 ? "written" : "it was there") : `${written} deleted`;
      await recordRepair(transaction, key, { pass: "endings", rule: RULES[act], before: "left over", after });
    }
    return done;
  });
}

/** Writes terminal records that are due and missing, so many at most. Answers how many. */
export async function writeDueRecords(database: Database, limit: number): Promise<number> {
  const { found } = await readDueActs(database, { limit });
  let written = 0;
  for (const due of found) if (due.act === "record" && (await repairEndAct(database, due))) written += 1;
  return written;
}

/** What the pass says that it does. */
export const RULES = {
  record: "ended without its terminal record: write it",
  checkpoints: "ended with its checkpoints: delete them",
} as const;

/** Writes the record of a run where it is missing. True where this call wrote it. */
export async function writeMissingRecord(executor: Executor, key: RunKey): Promise<boolean> {
  return (await carryOut(executor, key, "record")).written === 1;
}

async function carryOut(
  executor: Executor,
  key: RunKey,
  act: EndAct,
): Promise<{ readonly done: boolean; readonly written: number }> {
  const [row] = await executor.run(ACTS[act], [key.tenantId, key.runId]);
  const r = rows(row ?? {});
  return { done: r.number("done") > 0, written: r.number("written") };
}
