import type { Executor, Row } from "./database.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { readStatement, type Statement } from "./statement.ts";

/** One thing that must hold. `rows` are those that break it, at most a hundred. */
export interface DoctorCheck {
  readonly check: string;
  readonly ok: boolean;
  readonly rows: readonly Row[];
}

/** What each view of the schema says when it is empty. System statements: they span tenants. */
const CHECKS = [
  view("open deliveries agree with their run", "doctor_open_deliveries"),
  view("working runs have an open delivery", "doctor_working_runs"),
  view("terminal runs have nothing open", "doctor_terminal_runs"),
  view("pending deliveries have a next publication", "doctor_pending_deliveries"),
  view("journals are as long as their runs say", "doctor_journals"),
  view("runs know how many items are open", "doctor_open_items"),
  view("ending runs have something left to contain", "doctor_endings"),
  view("no lost claim waits for its judgement", "doctor_lost_claims"),
  view("no run is quarantined", "doctor_quarantined_runs"),
  view("no open run asks for a person", "doctor_runs_with_attention"),
] as const;

function view(check: string, name: string): { check: string; statement: Statement } {
  return {
    check,
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

/** Evaluates every check, each in a statement of its own. */
export async function examine(executor: Executor): Promise<DoctorCheck[]> {
  const version = await readSchemaVersion(executor);
  const results: DoctorCheck[] = [
    {
      check: "the schema is up to date",
      ok: version.applied === version.known,
      rows: version.applied === version.known ? [] : [version],
    },
  ];
  for (const { check: name, statement } of CHECKS) {
    const found = await executor.run(statement, []);
    results.push({ check: name, ok: found.length === 0, rows: found });
  }
  return results;
}
