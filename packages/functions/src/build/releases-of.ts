import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseRelease, noFaults, type DigestBasis } from "@ghouls/core";
import { openReleaseStore, publishReleases, removeReleases, type CleanUp, type ReleasePlaces } from "ghouls";
import { RELEASES, wholeRecordOf, type BuildRecord } from "./record.ts";

/** Where releases are published to. */
export interface ReleasePlace {
  /** `s3://<bucket>/<prefix>`, or the absolute path of a folder. */
  readonly place: string;
  readonly region: string;
  readonly endpoint?: string;
  readonly ledger: ReleasePlaces["ledger"];
}

/** What a publication has come to. */
export interface Published {
  readonly build: string;
  readonly releases: BuildRecord["releases"];
  /** How many of them the ledger did not know. */
  readonly added: number;
}

/**
 * Puts the releases of a build into a store, and records them in the ledger: what a deploy does, for those that have none.
 * @param from folder of the build
 * @throws GhoulsError configuration_invalid where it is no build, or not what its build has left there
 */
export async function publishBuild(from: string, to: ReleasePlace): Promise<Published> {
  const { build, releases } = await wholeRecordOf(from);
  const files = await Promise.all(
    releases.map(async ({ bundle }) => ({ bundle, bytes: await readFile(fileOf(from, bundle)) })),
  );
  return within(to, async (places) => ({
    build,
    releases,
    added: await publishReleases(files, build, places),
  }));
}

/**
 * Gives up the releases that nobody needs.
 * @param unusedMs how long ago a later deploy must have replaced them
 */
export function pruneReleases(unusedMs: number, from: ReleasePlace): Promise<CleanUp> {
  return within(from, (places) => removeReleases(unusedMs, places));
}

/** What the digests of a build's workflows are made of. @throws GhoulsError as {@link publishBuild} */
export async function basesOfBuild(from: string): Promise<readonly DigestBasis[]> {
  const { releases } = await wholeRecordOf(from);
  const texts = await Promise.all(releases.map(({ bundle }) => readFile(fileOf(from, bundle), "utf8")));
  return texts.flatMap((text) => parseRelease(text)?.basis ?? []);
}

function fileOf(from: string, bundle: string): string {
  return join(from, RELEASES, `${bundle}.json`);
}

async function within<T>(
  { place, region, endpoint, ledger }: ReleasePlace,
  task: (places: ReleasePlaces) => Promise<T>,
): Promise<T> {
  const store = openReleaseStore(
    place,
    { region, ...(endpoint === undefined ? {} : { endpoint }) },
    noFaults,
  );
  try {
    return await task({ ledger, store });
  } finally {
    store.close();
  }
}
