import { databaseAccess } from "@ghouls/aws";
import { GhoulsError, noFaults } from "@ghouls/core";
import { DEFAULT_APPLICATION_ROLE, migrate, type DoctorCheck, type MigrateResult } from "@ghouls/ledger";
import type { Config } from "../config.ts";
import { readMigrationEnvironment } from "../environment.ts";
import { once, openRuntime, processClock, type RuntimeOverrides } from "../runtime.ts";

/**
 * The migrate function, which a deploy invokes first: the code that runs goes on with the new schema (expand), and the
 * database needs no way in from where the deploy runs.
 * @throws GhoulsError configuration_invalid where the role may not migrate, or the schema is newer than this build
 */
export function createMigrator(
  config: Config,
  overrides: Pick<RuntimeOverrides, "variables"> = {},
): (event: unknown) => Promise<MigrateResult> {
  return async () => {
    const { database, schema, applicationRole } = readMigrationEnvironment(
      overrides.variables ?? process.env,
    );
    return migrate({
      ...databaseAccess(database, { clock: processClock, faults: noFaults }),
      driver: database.driver,
      ...(database.neonProxy === undefined ? {} : { neonProxy: database.neonProxy }),
      schema: schema ?? config.database.schema,
      applicationRole: applicationRole ?? DEFAULT_APPLICATION_ROLE,
      chance: Math.random,
    });
  };
}

/** What a preflight found: names of checks with how many rows break them, a hundred at most. */
export interface PreflightReport {
  readonly judged: number;
  /** Consistent, and waiting for a person; no reason against a deploy. */
  readonly attention: Readonly<Record<string, number>>;
}

/**
 * The preflight function, which a deploy invokes between the migration and the switch of code: it judges the ledger as
 * `ghouls doctor` does, and says there how much the new configuration gives of each capacity.
 * @throws GhoulsError integrity_fault where the ledger contradicts itself: the deploy stops, and the old code goes on
 */
export function createPreflight(
  config: Config,
  overrides: RuntimeOverrides = {},
): (event: unknown) => Promise<PreflightReport> {
  const runtime = once(() => openRuntime(config, overrides));
  return async () => {
    const { ledger } = await runtime();
    const checks = await ledger.doctor();
    const broken = checks.filter(({ ok }) => !ok);
    const faults = broken.filter(({ kind }) => kind === "integrity");
    if (faults.length === 0) {
      await ledger.capacities.say(config.capacities);
      return { judged: checks.length, attention: counted(broken) };
    }
    throw new GhoulsError(
      "integrity_fault",
      `the ledger contradicts itself, so no code is switched: ${faults.map(inWords).join("; ")}`,
      { fix: "Run `ghouls doctor` on this database, settle what it shows, and deploy again." },
    );
  };
}

function counted(checks: readonly DoctorCheck[]): Record<string, number> {
  return Object.fromEntries(checks.map(({ check, rows }) => [check, rows.length]));
}

/** Ids only: a row may hold more than a deploy's log should. */
function inWords({ check, rows }: DoctorCheck): string {
  const ids = rows.flatMap((row) => (typeof row["run_id"] === "string" ? [row["run_id"]] : [])).slice(0, 3);
  const which = ids.length === 0 ? "" : ` (${ids.join(", ")}${rows.length > ids.length ? ", …" : ""})`;
  return `not so: ${check}${which}`;
}
