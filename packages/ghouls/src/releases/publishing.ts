import { GhoulsError, canonicalText, type ReleaseStore } from "@ghouls/core";
import type { Ledger, NewRelease } from "@ghouls/ledger";
import { problemOfBytes, releaseOf } from "./loader.ts";
import type { OpenReleaseStore } from "./store.ts";

/** The ledger and the store, which a deploy brings in line. */
export interface ReleasePlaces {
  readonly ledger: {
    readonly releases: Pick<Ledger["releases"], "record" | "removeUnpinned" | "toDelete" | "markDeleted">;
  };
  readonly store: OpenReleaseStore;
}

/** A bundle as a build has left it. */
export interface BundleFile {
  readonly bundle: string;
  readonly bytes: Uint8Array;
}

/**
 * Puts the bundles of a build where they are not yet, proves that they are there, and records them. Twice is the same.
 * @returns how many the ledger did not know
 * @throws GhoulsError configuration_invalid for a file that is not what its name says
 */
export async function publishReleases(
  files: readonly BundleFile[],
  build: string,
  { ledger, store }: ReleasePlaces,
): Promise<number> {
  const releases = files.map(({ bundle, bytes }) => newReleaseOf(bundle, bytes, "the build"));
  for (const { bundle, bytes } of files) if (!(await holds(store, bundle))) await store.put(bundle, bytes);
  const added = await ledger.releases.record(releases, build);
  // Whoever removed it before it was recorded may have deleted it since.
  for (const { bundle, bytes } of files) if (!(await holds(store, bundle))) await store.put(bundle, bytes);
  return added;
}

/**
 * Records the bundles of a build that a deploy has put into the store, once each has proven to be what its name says.
 * @returns how many the ledger did not know
 * @throws GhoulsError configuration_invalid for one that is not there, or was altered
 */
export async function recordReleases(
  bundles: readonly string[],
  build: string,
  { ledger, store }: ReleasePlaces,
): Promise<number> {
  const releases = await Promise.all(
    bundles.map(async (bundle) => {
      const bytes = await store.get(bundle);
      if (bytes === undefined) throw refused(`the release ${bundle} is not in ${store.place}`);
      return newReleaseOf(bundle, bytes, store.place);
    }),
  );
  if (releases.length === 0) return 0;
  const added = await ledger.releases.record(releases, build);
  // A clean-up that had begun before may have taken one out since.
  for (const bundle of bundles)
    if (!(await holds(store, bundle)))
      throw refused(`the release ${bundle} is not in ${store.place} any more`);
  return added;
}

/** What a clean-up has come to. */
export interface CleanUp {
  /** Releases that were given up. */
  readonly removed: number;
  /** Bundles that were taken out of the store, also of what was given up before. */
  readonly deleted: number;
  /** Bundles that a deploy has again, in this very moment: they must be published once more. */
  readonly missing: readonly string[];
}

/**
 * Gives up releases that nobody needs, and takes their bundles out of the store. What is cut off is done by the next one.
 * @param unusedMs how long ago a later deploy must have replaced them
 */
export async function removeReleases(unusedMs: number, { ledger, store }: ReleasePlaces): Promise<CleanUp> {
  const removed = await ledger.releases.removeUnpinned(unusedMs / 1_000);
  const bundles = await ledger.releases.toDelete();
  const missing: string[] = [];
  for (const bundle of bundles) {
    await store.delete(bundle);
    if (!(await ledger.releases.markDeleted(bundle))) missing.push(bundle);
  }
  return { removed, deleted: bundles.length - missing.length, missing };
}

async function holds(store: ReleaseStore, bundle: string): Promise<boolean> {
  const bytes = await store.get(bundle);
  return bytes !== undefined && problemOfBytes(bytes, bundle) === undefined;
}

function newReleaseOf(bundle: string, bytes: Uint8Array, where: string): NewRelease {
  const problem = problemOfBytes(bytes, bundle);
  if (problem !== undefined) throw refused(`${where}: ${problem}`);
  const release = releaseOf(bytes);
  if (typeof release === "string") throw refused(`${where}: ${release}`);
  const { workflow, basis, defines } = release;
  const { name, version, digest, onWorkerLoss, deadlineMs } = workflow;
  return {
    workflow: { name, version, digest },
    bundle,
    bytes: bytes.byteLength,
    onWorkerLoss,
    deadlineMs,
    basisText: canonicalText(basis),
    starts: [...new Set(Object.values(defines))].filter((one) => one !== digest),
  };
}

function refused(what: string): GhoulsError {
  return new GhoulsError("configuration_invalid", what, {
    fix: "Put the files of the build's folder releases there as they are: `npx ghouls workflows publish --from <build>`, or the deploy's own upload.",
  });
}
