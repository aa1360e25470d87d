import type { FaultInjector, ReleaseStore } from "@ghouls/core";
import type { AwsConnection } from "./connection.ts";
import type { S3Objects } from "./s3-objects.ts";

export interface S3ReleasesOptions extends AwsConnection {
  readonly bucket: string;
  /** What keys begin with, without a "/" at its end; "" for nothing. */
  readonly prefix: string;
  readonly faults: FaultInjector;
  /** The longest that one call may take, with its retries and its body, in milliseconds; 20,000 by default. */
  readonly patienceMs?: number;
}

/** A store over a client of its own, made at the first call. `close` ends its connections. */
export interface S3Releases extends ReleaseStore {
  close(): void;
}

/**
 * Bundles of releases in S3, each as `<prefix>/<bundle>.json`. S3 answers 403 for an object that is not there where the role may
 * not list: that is no word that it is not there, so the call rejects.
 */
export function openS3Releases(options: S3ReleasesOptions): S3Releases {
  const { bucket, prefix, faults, patienceMs = 20_000 } = options;
  let opened: Promise<S3Objects> | undefined;
  const objects = (): Promise<S3Objects> =>
    (opened ??= import("./s3-objects.ts").then(({ openObjects }) => openObjects(options, bucket)));
  const keyOf = (name: string): string => `${prefix === "" ? "" : `${prefix}/`}${name}.json`;
  const within = (): AbortSignal => AbortSignal.timeout(patienceMs);
  return {
    put: async (name, bytes) => {
      await faults("releases.before-write", name);
      await (await objects()).put(keyOf(name), bytes, within());
      await faults("releases.after-write", name);
    },
    get: async (name) => {
      await faults("releases.before-read", name);
      const bytes = await (await objects()).get(keyOf(name), within());
      await faults("releases.after-read", name);
      return bytes;
    },
    delete: async (name) => {
      await faults("releases.before-delete", name);
      await (await objects()).delete(keyOf(name), within());
      await faults("releases.after-delete", name);
    },
    close: () => {
      void opened?.then(
        (open) => open.destroy(),
        () => undefined,
      );
      opened = undefined;
    },
  };
}
