import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";
import { BODY_CHECK } from "./bodies.ts";
import { RECORD_CHECK, type Judged } from "./doubts.ts";
import { judgeAllRecords } from "./slices.ts";

/** The check that a seal is what it was, and follows the one before it. */
export const SEAL_CHECK = "seals are an unbroken chain";

/** What the reconciler and `ghouls doctor --full` say of evidence; a judgement at a start looks at none of it. */
export const EVIDENCE_CHECKS: readonly string[] = [RECORD_CHECK, BODY_CHECK, SEAL_CHECK];

/** One seal of a tenant. */
export interface SealKey {
  readonly tenantId: string;
  readonly number: number;
}

/** What is wrong with a seal, and with the records in it. */
export interface VerifiedSeal extends SealKey {
  readonly records: number;
  /** Of the seal itself, for people; null where nothing is wrong with it. */
  readonly fault: string | null;
  /** Its records, each with what is wrong with it, if anything is. */
  readonly members: readonly Judged[];
}

/** Between the looks of the rolling check, and after the last seal of all until it begins anew, in seconds. */
const NEXT_SEAL_SECONDS = 10;
const NEXT_ROUND_SECONDS = 86_400;

const AFTER = readStatement(
  "seals.after",
  `
select s.tenant_id, s.number
from ghouls.seals s
where (s.tenant_id, s.number) > ($1, $2::integer)
order by s.tenant_id, s.number
limit 1`,
);

const VERIFY = readStatement(
  "seals.verify",
  `
select s.records, s.digest = ghouls.seal_digest(s.tenant_id, s.number, s.previous_digest, s.members_text) as intact,
  s.number = 1 or s.previous_digest = before.digest as chained, (
    select count(*) from ghouls.seal_members(s.members_text))::integer as members
from ghouls.seals s
left join ghouls.seals before on before.tenant_id = s.tenant_id and before.number = s.number - 1
where s.tenant_id = $1 and s.number = $2::integer`,
);

const MEMBERS = readStatement(
  "seals.members",
  `
select m.run_id, m.record_digest
from ghouls.seals s
cross join lateral ghouls.seal_members(s.members_text) as m
where s.tenant_id = $1 and s.number = $2::integer
order by m.place`,
);

const POSITION = readStatement(
  "seals.check-position",
  `select c.tenant_id, c.number from ghouls.seal_checks c where c.name = 'rolling' and c.next_at <= ghouls.clock()`,
);

/** Whoever read the position moves it; a second one moves nothing. */
const CHECKED = writeStatement(
  "seals.checked",
  `
update ghouls.seal_checks c
set tenant_id = $3, number = $4::integer, next_at = ghouls.clock() + coalesce($5::double precision, 0) * interval '1 second'
where c.name = 'rolling' and c.tenant_id is not distinct from $1 and c.number is not distinct from $2::integer
returning c.name`,
);

/** The seal behind another one, over all tenants; the first of all behind nothing. */
export async function readSealAfter(executor: Executor, after: SealKey | null): Promise<SealKey | null> {
  const [row] = await executor.run(AFTER, [after?.tenantId ?? "", after?.number ?? 0]);
  if (row === undefined) return null;
  return { tenantId: rows(row).text("tenant_id"), number: rows(row).number("number") };
}

/** Compares a seal with its digest, its chain and its records, and these with their runs. Null where it is not there. */
export async function verifySeal(executor: Executor, key: SealKey): Promise<VerifiedSeal | null> {
  const { tenantId, number } = key;
  const [row] = await executor.run(VERIFY, [tenantId, number]);
  if (row === undefined) return null;
  const r = rows(row);
  const records = r.number("records");
  const lines = (await executor.run(MEMBERS, [tenantId, number])).map((line) => rows(line));
  const sealed = new Map(lines.map((line) => [line.text("run_id"), line.text("record_digest")]));
  const judged = await judgeAllRecords(
    executor,
    [...sealed.keys()].map((runId) => ({ tenantId, runId })),
  );
  const members = judged.map((one): Judged => {
    const other = one.fault === null && one.digest !== sealed.get(one.runId);
    const fault = other ? "its terminal record was rewritten after it had been sealed" : one.fault;
    return { ...one, fault: fault === null ? null : `${fault} (seal ${number})` };
  });
  return { ...key, records, members, fault: faultOf(number, records, row, r.number("members")) };
}

function faultOf(
  number: number,
  records: number,
  { intact, chained }: Readonly<Record<string, unknown>>,
  members: number,
): string | null {
  if (intact !== true) return `seal ${number} was altered: it disagrees with its digest`;
  if (chained !== true)
    return `seal ${number} does not follow seal ${number - 1}, which was altered or removed`;
  return members === records ? null : `seal ${number} has ${members} records, not ${records}`;
}

/** Where the rolling check is: behind which seal, null before the first. Undefined where it is not time for it. */
export async function readCheckPosition(executor: Executor): Promise<SealKey | null | undefined> {
  const [row] = await executor.run(POSITION, []);
  if (row === undefined) return undefined;
  const r = rows(row);
  const tenantId = r.textOrNull("tenant_id");
  return tenantId === null ? null : { tenantId, number: r.number("number") };
}

/** Moves the rolling check on; to null where it has come round. False where another reconciler has moved it. */
export async function moveCheck(
  executor: Executor,
  from: SealKey | null,
  to: SealKey | null,
): Promise<boolean> {
  const seconds = to === null ? NEXT_ROUND_SECONDS : NEXT_SEAL_SECONDS;
  const at = (key: SealKey | null) => [key?.tenantId ?? null, key?.number ?? null];
  return (await executor.run(CHECKED, [...at(from), ...at(to), seconds])).length === 1;
}
