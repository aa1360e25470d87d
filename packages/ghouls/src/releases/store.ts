import { isAbsolute } from "node:path";
import { openS3Releases } from "@ghouls/aws";
import { GhoulsError, type FaultInjector, type ReleaseStore } from "@ghouls/core";
import type { Runtime } from "../runtime.ts";
import { openFolderReleases } from "./folder-store.ts";

/** A store that a process has opened. */
export interface OpenReleaseStore extends ReleaseStore {
  /** As it was named. */
  readonly place: string;
  close(): void;
}

/** Opens where releases lie by the environment; undefined where it does not say so. @throws GhoulsError as {@link openReleaseStore} */
export function openStoreOf({
  environment: { releases, region, endpoint },
  faults,
}: Pick<Runtime, "environment" | "faults">): OpenReleaseStore | undefined {
  if (releases === undefined) return undefined;
  return openReleaseStore(releases, { region, ...(endpoint === undefined ? {} : { endpoint }) }, faults);
}

/**
 * Opens where releases lie.
 * @param place `s3://<bucket>`, `s3://<bucket>/<prefix>` or the absolute path of a folder
 * @throws GhoulsError configuration_invalid for what is neither
 */
export function openReleaseStore(
  place: string,
  connection: { readonly region: string; readonly endpoint?: string },
  faults: FaultInjector,
): OpenReleaseStore {
  const s3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(place);
  if (s3 !== null) {
    const [, bucket = "", path = ""] = s3;
    return { place, ...openS3Releases({ ...connection, bucket, prefix: path.replace(/\/+$/, ""), faults }) };
  }
  if (isAbsolute(place)) return { place, ...openFolderReleases(place, faults), close: () => undefined };
  throw new GhoulsError(
    "configuration_invalid",
    "the place of the releases is neither a bucket nor a folder",
    {
      fix: "Set GHOULS_RELEASES to s3://<bucket>/<prefix>, or to the absolute path of a folder.",
    },
  );
}
