import { databaseAccess } from "@ghouls/aws";
import {
  carriedBy,
  durationMs,
  errorInLog,
  judgementLines,
  noFaults,
  refusalOf,
  type JudgedStatus,
  type Logger,
} from "@ghouls/core";
import { DEFAULT_APPLICATION_ROLE, migrate, type DoctorCheck, type MigrateResult } from "@ghouls/ledger";
import type { Config } from "../config.ts";
import { readMigrationEnvironment } from "../environment.ts";
import { recordReleases, removeReleases, type CleanUp, type ReleasePlaces } from "../releases/publishing.ts";
import { releaseLines, riddenReleases, type ReleaseReport } from "../releases/report.ts";
import { openStoreOf, type OpenReleaseStore } from "../releases/store.ts";
import { once, openRuntime, processClock, type Runtime, type RuntimeOverrides } from "../runtime.ts";

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

/** What a preflight found. */
export interface PreflightReport {
  /** Integrity checks that were evaluated. */
  readonly judged: number;
  readonly states: readonly JudgedStatus[];
  /** Terminal records that were missing, and have been written. */
  readonly repaired: number;
  /** Faults that stand, and that somebody knows of. */
  readonly acknowledged: number;
  /** Names of checks with how many rows break them, a hundred at most: consistent, and waiting for a person; no reason against a deploy. */
  readonly attention: Readonly<Record<string, number>>;
  /** What became of the code of before; null where this function was not told where releases lie. */
  readonly releases: ReleaseReport | null;
  /** The same for people. */
  readonly table: readonly string[];
}

export interface PreflightOverrides extends RuntimeOverrides {
  /** Bundles of the releases of this build, which the deploy has put into the store. */
  readonly releases?: readonly string[];
}

/**
 * The preflight function, which a deploy invokes between the migration and the switch of code: it judges the ledger, looks for
 * open runs whose code neither the new build nor a release has, records the build's own releases, gives up those that nobody needs, and says how much the new configuration gives of each capacity.
 * @throws GhoulsError integrity_fault for what nobody has acknowledged: the deploy stops, and the old code goes on
 */
export function createPreflight(
  config: Config,
  overrides: PreflightOverrides = {},
): (event: unknown) => Promise<PreflightReport> {
  const runtime = once(async () => {
    const opened = await openRuntime(config, overrides);
    return { ...opened, store: openStoreOf(opened) };
  });
  return async () => {
    const opened = await runtime();
    const { ledger, registry } = opened;
    // Before the judgement: it is harmless where the deploy ends there, and a build of before is not the last to have them.
    const recorded = await recordOwn(opened, overrides.releases ?? []);
    const carried = carriedBy(
      registry.all().map(({ definition: { name, accepts }, digest }) => ({ name, digest, accepts })),
    );
    const judged = await ledger.integrity.judge({ by: "preflight", carried });
    const refusal = refusalOf(judged, {
      stops: "no code is switched",
      acknowledge: "ghouls doctor --acknowledge",
      next: "deploy again",
    });
    if (refusal !== undefined) throw refusal;
    await ledger.capacities.say(config.capacities);
    const releases = recorded === null ? null : await releaseReport(opened, recorded);
    return {
      judged: judged.checks,
      states: judged.states,
      repaired: judged.repaired,
      acknowledged: judged.acknowledged.count,
      attention: counted((await ledger.waiting()).filter(({ ok }) => !ok)),
      releases,
      table: [...judgementLines(judged), ...releaseLines(releases)],
    };
  };
}

type Judging = Runtime & { readonly store: OpenReleaseStore | undefined };

async function recordOwn(
  { store, ledger, environment }: Judging,
  bundles: readonly string[],
): Promise<number | null> {
  return store === undefined ? null : recordReleases(bundles, environment.build, { ledger, store });
}

async function releaseReport(
  { store, ledger, registry, config, log }: Judging,
  recorded: number,
): Promise<ReleaseReport | null> {
  if (store === undefined) return null;
  return {
    recorded,
    ...(await cleanUp(durationMs(config.retention.releases), { ledger, store }, log)),
    ridden: riddenReleases(await ledger.releases.all(), registry.carried()),
  };
}

/** A clean-up that fails is no reason against a deploy: the next one goes on. */
async function cleanUp(unusedMs: number, places: ReleasePlaces, log: Logger): Promise<CleanUp> {
  try {
    return await removeReleases(unusedMs, places);
  } catch (error) {
    log.warn("releases that nobody needs could not all be removed", { error: errorInLog(error) });
    return { removed: 0, deleted: 0, missing: [] };
  }
}

function counted(checks: readonly DoctorCheck[]): Record<string, number> {
  return Object.fromEntries(checks.map(({ check, rows }) => [check, rows.length]));
}
