import type { Database, Executor, Row } from "../connection/database.ts";
import { noteFaults, type FoundFault } from "../integrity/faults.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import { BODY_CHECK, bodiesLook, verifyBodies, verifyResults, type BadBody } from "./bodies.ts";
import { RECORD_CHECK, faultsGone, noteBadRecord } from "./doubts.ts";
import { readSealAfter, SEAL_CHECK, verifySeal, type SealKey, type VerifiedSeal } from "./seal-checks.ts";
import { judgeAllRecords } from "./slices.ts";

/** What a look at all evidence found. */
export interface EvidenceReport {
  /** Ended runs that were looked at. */
  readonly runs: number;
  /** Their records. */
  readonly records: number;
  readonly seals: number;
  /** Ended runs whose records or seals are still to be written. */
  readonly pending: number;
  readonly faults: readonly FoundFault[];
}

/** Whether a run is sealed is read before its record is: one that is sealed has one. */
const RUNS = readStatement(
  "evidence.verify-runs",
  `
select run.tenant_id, run.run_id, run.finished_at is not null as is_ended, exists (
    select from ghouls.end_acts e
    where e.tenant_id = run.tenant_id and e.run_id = run.run_id and e.act in ('seal', 'doubt')) as unsealed
from ghouls.runs run
where (run.tenant_id, run.run_id) > ($1, $2::uuid)
order by run.tenant_id, run.run_id
limit $3`,
);

const TENANT_AFTER = readStatement(
  "evidence.tenant-after",
  `select run.tenant_id from ghouls.runs run where run.tenant_id > $1 order by run.tenant_id limit 1`,
);

/** One snapshot: who is sealed in it is in a seal of it. */
const SEALED = readStatement(
  "seals.count",
  `
select (
    select count(*) from ghouls.runs run
    where run.tenant_id = $1 and run.status in ('DONE', 'FAILED', 'CANCELLED')) - (
    select count(*) from ghouls.end_acts e
    where e.tenant_id = $1 and e.act in ('seal', 'doubt')) as sealed, (
    select coalesce(sum(s.records), 0) from ghouls.seals s where s.tenant_id = $1) as members`,
);

const PAGE = 200;

/**
 * Looks at all evidence of all tenants (design.md §3, Evidence), page by page, so that no statement is long: every record
 * against its digest and its run, every stored body of an ended run against its digest, every seal against its digest, its
 * chain and its records, and whether every sealed run is in a seal. What is wrong is noted, its run quarantined where that is
 * news, and nothing is overwritten.
 */
export async function verifyEvidence(database: Database, foundBy: string): Promise<EvidenceReport> {
  const faults = new Map<string, FoundFault>();
  const keep = async (fault: FoundFault) => {
    const key = JSON.stringify([fault.check, fault.tenantId, fault.subject]);
    if (faults.has(key)) return;
    faults.set(key, fault);
    const { check, tenantId, runId, detail } = fault;
    if (runId !== null && tenantId !== null)
      await noteBadRecord(database, { tenantId, runId }, detail, foundBy, check);
    else await noteFaults(database, [fault]);
  };
  const bodies = await bodiesLook(database);
  const walked = await walkRuns(database, foundBy, keep);
  for await (const one of verifyResults(database)) await keep(bodyFaultOf(one, foundBy));
  await bodies.end();
  let seals = 0;
  for (let at = await readSealAfter(database, null); at !== null; at = await readSealAfter(database, at)) {
    const verified = await verifySeal(database, at);
    if (verified === null) continue;
    seals += 1;
    for (const fault of faultsOf(verified, foundBy)) await keep(fault);
    await goodAgain(database, verified);
  }
  for await (const tenantId of tenants(database)) {
    const fault = await missingSeals(database, tenantId, foundBy);
    if (fault !== undefined) await keep(fault);
    else await faultsGone(database, SEAL_CHECK, [{ tenantId, subject: ALL_SEALS }]);
  }
  return { ...walked, seals, faults: [...faults.values()] };
}

async function walkRuns(
  database: Database,
  foundBy: string,
  keep: (fault: FoundFault) => Promise<void>,
): Promise<{ runs: number; records: number; pending: number }> {
  let [runs, records, pending] = [0, 0, 0];
  let after: [string, string] = ["", "00000000-0000-0000-0000-000000000000"];
  for (;;) {
    const page: Row[] = await database.run(RUNS, [...after, PAGE]);
    const unsealed = new Map<string, boolean>();
    const ended = page.flatMap((row) => {
      const r = rows(row);
      after = [r.text("tenant_id"), r.text("run_id")];
      const [tenantId, runId] = after;
      unsealed.set(runId, r.boolean("unsealed"));
      return r.boolean("is_ended") ? [{ tenantId, runId }] : [];
    });
    for (const one of await verifyBodies(database, ended)) await keep(bodyFaultOf(one, foundBy));
    const good: { tenantId: string; subject: string }[] = [];
    for (const judged of await judgeAllRecords(database, ended)) {
      const { tenantId, runId } = judged;
      const isUnsealed = unsealed.get(runId) === true;
      runs += 1;
      if (!judged.missing) records += 1;
      if (isUnsealed) pending += 1;
      // Of one that is sealed the seal says more: it knows what the record was.
      if (judged.fault === null && isUnsealed) good.push({ tenantId, subject: runId });
      else if (judged.fault === null) continue;
      else if (!judged.missing || !isUnsealed) await keep(faultOf(judged, judged.fault, foundBy));
    }
    await faultsGone(database, RECORD_CHECK, good);
    if (page.length < PAGE) return { runs, records, pending };
  }
}

async function* tenants(database: Database): AsyncGenerator<string> {
  for (let after = ""; ;) {
    const [row] = await database.run(TENANT_AFTER, [after]);
    if (row === undefined) return;
    after = rows(row).text("tenant_id");
    yield after;
  }
}

const ALL_SEALS = "all seals";

/** Those at the end of a chain leave no gap; what they had sealed is in no seal then. */
async function missingSeals(
  executor: Executor,
  tenantId: string,
  foundBy: string,
): Promise<FoundFault | undefined> {
  const [row] = await executor.run(SEALED, [tenantId]);
  const r = rows(row ?? {});
  const [sealed, members] = [r.number("sealed"), r.number("members")];
  if (sealed === members) return undefined;
  const detail = `${sealed} ended runs are sealed, and the seals that are there have ${members} records`;
  return { check: SEAL_CHECK, tenantId, runId: null, subject: ALL_SEALS, detail, foundBy };
}

/** What is wrong with a seal and with its records, as faults. */
export function faultsOf(verified: VerifiedSeal, foundBy: string): FoundFault[] {
  const { tenantId, fault, members } = verified;
  const own: FoundFault[] =
    fault === null
      ? []
      : [
          {
            check: SEAL_CHECK,
            tenantId,
            runId: null,
            subject: subjectOf(verified).subject,
            detail: fault,
            foundBy,
          },
        ];
  const theirs = members.flatMap((member) =>
    member.fault === null ? [] : [faultOf(member, member.fault, foundBy)],
  );
  return [...own, ...theirs];
}

function faultOf(
  { tenantId, runId }: { readonly tenantId: string; readonly runId: string },
  detail: string,
  foundBy: string,
): FoundFault {
  return { check: RECORD_CHECK, tenantId, runId, subject: runId, detail, foundBy };
}

function bodyFaultOf({ tenantId, runId, detail }: BadBody, foundBy: string): FoundFault {
  return { check: BODY_CHECK, tenantId, runId, subject: runId, detail, foundBy };
}

/** Says that what was wrong with a seal, or with records of it, is gone where it is. */
export async function goodAgain(executor: Executor, verified: VerifiedSeal): Promise<void> {
  const { tenantId, fault, members } = verified;
  const good = members.flatMap((one) => (one.fault === null ? [{ tenantId, subject: one.runId }] : []));
  await faultsGone(executor, RECORD_CHECK, good);
  if (fault === null) await faultsGone(executor, SEAL_CHECK, [subjectOf(verified)]);
}

/** What tells a seal from others among faults. */
function subjectOf({ tenantId, number }: SealKey): { tenantId: string; subject: string } {
  return { tenantId, subject: `seal ${number}` };
}
