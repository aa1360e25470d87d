import type { WorkflowPin } from "@ghouls/core";
import type { RecordedRelease } from "@ghouls/ledger";
import type { CleanUp } from "./publishing.ts";

/** A release that open runs ride on. */
export interface RiddenRelease {
  readonly workflow: WorkflowPin;
  readonly bundle: string;
  /** The last build that had it. */
  readonly build: string;
  /** Open runs of all tenants. */
  readonly runs: number;
}

/** What a deploy has done with releases. */
export interface ReleaseReport extends CleanUp {
  /** Releases of this build that the ledger did not know. */
  readonly recorded: number;
  /** Which open runs ride on which release, because the build has not their code. */
  readonly ridden: readonly RiddenRelease[];
}

/** The releases that carry open runs. Of several bundles of one digest only the newest is loaded. */
export function riddenReleases(
  all: readonly (RecordedRelease & { readonly runs: number })[],
  carried: readonly Pick<WorkflowPin, "name" | "digest">[],
): readonly RiddenRelease[] {
  const own = new Set(carried.map(({ name, digest }) => `${name}@${digest}`));
  const newest = new Map(
    all
      .filter(({ workflow, runs }) => runs > 0 && !own.has(`${workflow.name}@${workflow.digest}`))
      .map(({ workflow, bundle, build, runs }) => [
        `${workflow.name}@${workflow.digest}`,
        { workflow, bundle, build, runs },
      ]),
  );
  return [...newest.values()];
}

/** For people. */
export function releaseLines(report: ReleaseReport | null): readonly string[] {
  if (report === null) return ["releases: GHOULS_RELEASES does not say where they lie, so none was recorded"];
  const { recorded, removed, ridden, missing } = report;
  return [
    `releases: ${recorded} new, ${removed} removed`,
    ...ridden.map(
      ({ workflow: { name, version, digest }, build, runs }) =>
        `  ${name}@${version} ${digest}: ${runs} ${runs === 1 ? "run rides" : "runs ride"} on its release of build ${build}`,
    ),
    ...missing.map((bundle) => `  ${bundle} was removed while a deploy has put it there: publish it again`),
  ];
}
