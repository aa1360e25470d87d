import {
  GhoulsError,
  statesOf,
  STRANDED_CHECK,
  type FaultList,
  type Judgement,
  type JudgedStatus,
  type RunStatus,
} from "@ghouls/core";
import type { Database } from "../connection/database.ts";
import { readSchemaVersion } from "../schema/doctor.ts";
import { writeDueRecords } from "../evidence/end-acts.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import { evaluateIntegrity } from "./evaluation.ts";
import { FAULT, faultOf } from "./fault.ts";
import { quarantineFaulty } from "./quarantines.ts";
import { judgeStranded, type Carried } from "./stranded.ts";

/** Terminal records that a judgement writes at most; the reconciler writes the others. */
const MOST_RECORDS = 1_000;
/** Faults that a judgement names; the others are counted. */
const NAMED = 20;

/** What is in quarantine is found by the index of what asks for a person. */
const STATES = readStatement(
  "integrity.states",
  `
with every as materialized (
  select run.status, count(*) as runs from ghouls.runs run group by run.status
), held as materialized (
  select run.status, count(*) as runs
  from ghouls.runs run
  where (run.attention_at is not null or run.quarantined_at is not null) and run.quarantined_at is not null
  group by run.status
), faulty as materialized (
  select run.status, count(*) as runs
  from ghouls.runs run
  where (run.tenant_id, run.run_id) in (
    select f.tenant_id, f.run_id from ghouls.integrity_faults f where f.gone_at is null and f.run_id is not null)
  group by run.status
)
select every.status, every.runs, every.runs - coalesce(held.runs, 0) as checked, coalesce(faulty.runs, 0) as faulty
from every
left join held on held.status = every.status
left join faulty on faulty.status = every.status`,
);

const standing = (name: string, which: string) =>
  readStatement(
    name,
    `
select ${FAULT}, count(*) over ()::integer as faults
from ghouls.integrity_faults f
where f.gone_at is null and ${which} and ($2::boolean or f.check_name <> '${STRANDED_CHECK}')
order by f.found_at, f.fault_id
limit $1`,
  );
const REFUSED = standing("integrity.refused", "f.acknowledged_at is null");
const ACKNOWLEDGED = standing("integrity.acknowledged", "f.acknowledged_at is not null");

export interface JudgeOptions {
  /** Who judges: "preflight", "doctor", "host". */
  readonly by: string;
  /** The code that there is, with what it accepts; undefined where nobody has said so: then runs without theirs are not judged. */
  readonly carried?: readonly Carried[] | undefined;
}

/**
 * Judges committed truth (design.md §3, Judgement at start): writes terminal records that are missing, keeps what it finds,
 * quarantines the run of each new fault, and answers what stands. Whether that stops anything is the caller's: it does where `refused` is not empty.
 * @throws GhoulsError schema_outdated where the schema is older than this code
 */
export async function judgeLedger(database: Database, options: JudgeOptions): Promise<Judgement> {
  await refuseOlderSchema(database);
  const repaired = await writeDueRecords(database, MOST_RECORDS);
  const evaluated = await evaluateIntegrity(database, options.by);
  const { carried } = options;
  const stranded =
    carried === undefined
      ? { newFaults: 0, goneFaults: 0 }
      : await judgeStranded(database, carried, options.by);
  const quarantined = await quarantineFaulty(database);
  const strandedJudged = carried !== undefined;
  return {
    checks: evaluated.checks,
    strandedJudged,
    states: await readStates(database),
    repaired,
    newFaults: evaluated.newFaults + stranded.newFaults,
    goneFaults: evaluated.goneFaults + stranded.goneFaults,
    quarantined,
    acknowledged: await readStanding(database, ACKNOWLEDGED, strandedJudged),
    refused: await readStanding(database, REFUSED, strandedJudged),
  };
}

async function refuseOlderSchema(database: Database): Promise<void> {
  const { applied, known } = await readSchemaVersion(database);
  if (applied >= known) return;
  throw new GhoulsError(
    "schema_outdated",
    `the ledger cannot be judged: migration ${applied} is applied, and this code needs ${known}`,
    { fix: "Run `ghouls migrate` with the connection of the role that owns the schema." },
  );
}

/** In the order of the table of moves; statuses that no run has are missing. */
async function readStates(database: Database): Promise<JudgedStatus[]> {
  const found = new Map(
    (await database.run(STATES, [])).map((row): [string, JudgedStatus] => {
      const r = rows(row);
      const status = r.text("status") as RunStatus;
      return [
        status,
        { status, runs: r.number("runs"), checked: r.number("checked"), faulty: r.number("faulty") },
      ];
    }),
  );
  return statesOf("run").flatMap((status) => found.get(status) ?? []);
}

async function readStanding(
  database: Database,
  statement: typeof REFUSED,
  stranded: boolean,
): Promise<FaultList> {
  const found = await database.run(statement, [NAMED, stranded]);
  const [first] = found;
  return { count: first === undefined ? 0 : rows(first).number("faults"), first: found.map(faultOf) };
}
