import type { Executor, Row } from "../connection/database.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { readStatement, type Statement } from "../sql/statement.ts";

/** One thing that must hold. `rows` are those that break it, at most a hundred. */
export interface DoctorCheck {
  readonly check: string;
  readonly kind: CheckKind;
  readonly ok: boolean;
  readonly rows: readonly Row[];
}

/** "integrity": the ledger contradicts itself. "attention": it is consistent, and something waits for a person. */
type CheckKind = "integrity" | "attention";

/** What a view of the schema says when it is empty. */
export interface ViewCheck {
  readonly kind: CheckKind;
  readonly check: string;
  /** Name of the view. */
  readonly view: string;
  /** A system statement: it spans tenants. */
  readonly statement: Statement;
}

/** The one check that is no view's. */
const SCHEMA_CHECK = "the schema is up to date";

export const CHECKS: readonly ViewCheck[] = [
  view("integrity", "open deliveries agree with their run", "doctor_open_deliveries"),
  view("integrity", "working runs have an open delivery", "doctor_working_runs"),
  view("integrity", "terminal runs have nothing open", "doctor_terminal_runs"),
  view("integrity", "pending deliveries have a next publication", "doctor_pending_deliveries"),
  view("integrity", "journals are as long as their runs say", "doctor_journals"),
  view("integrity", "runs know how many items are open", "doctor_open_items"),
  view("integrity", "ending runs have something left to contain", "doctor_endings"),
  view("integrity", "a parked run has one open wait with an open arm, and its checkpoint", "doctor_waits"),
  view("integrity", "waits, arms and consents are closed with what they belong to", "doctor_ended_waits"),
  view("integrity", "attempts end before their run, and what ends brings it back", "doctor_attempts"),
  view("integrity", "children end before their parents, and what ends brings them back", "doctor_children"),
  view("integrity", "a run that fails or is cancelled undoes every step of it that it can", "doctor_undos"),
  view("integrity", "units are held by carried runs only, and no more than there are", "doctor_reservations"),
  view("attention", "no service contradicts what it said of a job", "doctor_contradicted_attempts"),
  view("attention", "no lost claim waits for its judgement", "doctor_lost_claims"),
  view("attention", "no run is quarantined", "doctor_quarantined_runs"),
  view("attention", "no open run asks for a person", "doctor_runs_with_attention"),
];

/** What `ghouls doctor` says of each thing that it looks at. */
export const DOCTOR_CHECKS: readonly string[] = [SCHEMA_CHECK, ...CHECKS.map(({ check }) => check)];

function view(kind: CheckKind, check: string, name: string): ViewCheck {
  return {
    kind,
    check,
    view: name,
    statement: readStatement(
      name.replace("_", ".").replaceAll("_", "-"),
      `select * from ghouls.${name}\nlimit 100`,
    ),
  };
}

const VERSION = readStatement(
  "doctor.schema-version",
  "select coalesce(max(number), 0) as version from ghouls.migrations",
);

/** The number of the newest applied migration, and of the newest that this code knows. */
export async function readSchemaVersion(executor: Executor): Promise<{ applied: number; known: number }> {
  const [row] = await executor.run(VERSION, []);
  return { applied: Number(row?.["version"] ?? 0), known: MIGRATIONS.at(-1)?.number ?? 0 };
}

/** What is consistent, and waits for a person. */
export async function readWhatWaits(executor: Executor): Promise<DoctorCheck[]> {
  return evaluate(
    executor,
    CHECKS.filter(({ kind }) => kind === "attention"),
  );
}

/** Evaluates every check, each in a statement of its own. */
export async function examine(executor: Executor): Promise<DoctorCheck[]> {
  const version = await readSchemaVersion(executor);
  const results: readonly DoctorCheck[] = [
    {
      check: SCHEMA_CHECK,
      kind: "integrity",
      ok: version.applied === version.known,
      rows: version.applied === version.known ? [] : [version],
    },
  ];
  return [...results, ...(await evaluate(executor, CHECKS))];
}

async function evaluate(executor: Executor, checks: readonly ViewCheck[]): Promise<DoctorCheck[]> {
  const results: DoctorCheck[] = [];
  for (const { check, kind, statement } of checks) {
    const found = await executor.run(statement, []);
    results.push({ check, kind, ok: found.length === 0, rows: found });
  }
  return results;
}
